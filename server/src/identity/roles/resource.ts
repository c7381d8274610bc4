import { recordLimit } from '../access/record-limit-store.ts'
import { defineResource, type Prepared } from '../../platform/records/declare/define.ts'
import { id, text, timestamp } from '../../platform/records/declare/fields.ts'
import { document } from '../../platform/records/declare/object-fields.ts'
import { scopeList } from '../access/scope-list.ts'
import type { JsonObject } from '../../platform/model/json.ts'
import { reachLevels, type ReachLevel } from '../../platform/model/reach.ts'

/** The resources whose records a role can restrict, by singular noun: those with an owner or an assignee. */
export const reachNouns = ['contact', 'company', 'deal', 'task', 'campaign'] as const

/** What a role sees of each resource. */
export type RoleReach = Record<(typeof reachNouns)[number], ReachLevel>

/** A change names only some of the resources (RFC 7396); the others stay as they are, and are `all` in a new role. */
function prepare(values: JsonObject, current: JsonObject | undefined): Prepared {
  if (values.reach === undefined) return { values }
  return { values: { ...values, reach: { ...reachOf(current), ...(values.reach as JsonObject) } } }
}

/** The reach of a role's record, with every resource. */
export const reachOf = (role: JsonObject | undefined): RoleReach =>
  Object.fromEntries(
    reachNouns.map((noun) => [noun, (role?.reach as Partial<RoleReach> | undefined)?.[noun] ?? 'all']),
  ) as RoleReach

const level = { type: 'string', enum: reachLevels }

/** A role that an organization defines in addition to the built-in ones. */
export const roles = defineResource({
  name: 'roles',
  singular: 'role',
  component: 'Role',
  isInDirectory: true,
  idPrefix: 'rol',
  heading: 'What people can do and which records they see. Every organization also has the four built-in roles.',
  roleGroup: 'visible',
  limit: recordLimit(200),
  isSmall: true,
  audited: {
    create: 'A role was created.',
    update: 'A role was changed.',
    delete: 'A role was deleted.',
    restore: 'A deleted role was restored.',
  },
  uniques: { roles_name_unique: { field: 'name', columns: ['name'], folded: true } },
  prepare,
  fields: {
    id: id('rol'),
    name: text({ label: 'Name', required: true, max: 200 }),
    description: text({ label: 'Description', max: 500 }),
    scopes: scopeList({
      description:
        'What its members can do, as listed by `GET /v5/scopes`. You can grant only scopes that you have; only a logged-in owner can grant scopes to create keys or to manage people and settings',
    }),
    reach: document({
      label: 'Reach',
      description:
        'Which records its members see, by resource: `all`, those of their teams (`team`), or those that they own or are assigned to (`own`). A resource that you do not send is `all` in a new role, and stays as it is otherwise',
      nullable: false,
      initial: reachOf(undefined),
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: Object.fromEntries(reachNouns.map((noun) => [noun, level])),
        examples: [{ contact: 'team', deal: 'own' }],
      },
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
