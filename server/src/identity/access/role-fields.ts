import type { Prepared } from '../../platform/records/declare/define.ts'
import { reference } from '../../platform/records/declare/fields.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** The role of a member or an invitation that the organization has defined. */
export const roleId = reference('rol', {
  label: 'Custom role',
  description: 'For the role `custom`: the role of `GET /v5/roles`; otherwise null',
  table: 'roles',
  equality: 'indexed',
})

/** A custom role is named by its id, and the built-in ones have none. A body can leave out what follows from the rest. */
export function prepareRole(values: JsonObject, current: JsonObject | undefined): Prepared {
  const { role, roleId: id } = values
  if (typeof id === 'string') {
    const isCustom = role === undefined || role === 'custom'
    const errors = isCustom ? [] : [{ field: 'roleId', message: 'cannot be combined with a built-in role' }]
    return { values: { ...values, role: 'custom' }, errors }
  }
  if (role !== undefined && role !== 'custom') return { values: { ...values, roleId: null } }
  const isCustom = (role ?? current?.role) === 'custom'
  const isMissing = isCustom && (id === null || (current?.roleId ?? null) === null)
  const errors = isMissing
    ? [{ field: 'roleId', message: 'expected the id of a role (rol_…) for the role custom' }]
    : []
  return { values, errors }
}
