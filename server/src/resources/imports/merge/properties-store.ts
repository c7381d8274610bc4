import type { Transaction } from '../../../platform/database/database.ts'
import { isOneOfMany, identifier, sql } from '../../../platform/model/sql.ts'
import { readId } from '../../../platform/model/ids.ts'
import { lockPropertySet } from '../../../platform/resource/property-sets.ts'
import { companies } from '../../companies/resource.ts'
import { contacts } from '../../contacts/resource.ts'
import { referable } from '../../properties/store.ts'
import {
  fitProperties,
  hasCustomProperties,
  type PropertySets,
  specialValues,
  type SpecialValue,
  withoutProperty,
} from './custom-properties.ts'
import type { LeadRow } from './reconcile.ts'

/** The rows with custom properties that follow their definitions, which stay the same until the transaction ends. */
export async function fitCustomProperties(transaction: Transaction, rows: readonly LeadRow[]): Promise<LeadRow[]> {
  if (!rows.some(({ lead }) => hasCustomProperties(lead))) return [...rows]
  const [contact, company] = await Promise.all([
    lockPropertySet(transaction, contacts),
    lockPropertySet(transaction, companies),
  ])
  const sets: PropertySets = { contact, company }
  const fitted = rows.map((row) => ({ ...row, lead: fitProperties(row.lead, sets) }))
  const existing = await existingRecords(
    transaction,
    fitted.flatMap(({ lead }) => specialValues(lead, sets)),
  )
  return fitted.map((row) => {
    let { lead } = row
    for (const special of specialValues(lead, sets)) {
      const { property, value } = special
      if (property.unique) lead = withoutProperty(lead, special, 'imports do not store values that must be unique')
      else if (!existing.has(String(value))) lead = withoutProperty(lead, special, 'no record with this id exists')
    }
    return { ...row, lead }
  })
}

/** Those of the named records that exist, by their ids in the form of the API. */
async function existingRecords(transaction: Transaction, values: readonly SpecialValue[]): Promise<Set<string>> {
  const found = new Set<string>()
  for (const [name, { resource, table = resource.table, key = 'id' }] of Object.entries(referable)) {
    const named = values.filter(({ property }) => property.references?.resource === name)
    const byId = new Map(named.map(({ value }) => [readId(resource.idPrefix, String(value)) ?? '', String(value)]))
    byId.delete('')
    if (byId.size === 0) continue
    const isLive = resource.softDelete ? sql`and deleted_at is null` : sql``
    const rows = await transaction.query<{ id: string }>(sql`
      select ${identifier(key)} as id from ${identifier(table)}
      where organization_id = ${transaction.organization} and ${isOneOfMany(identifier(key), [...byId.keys()], 'uuid')} ${isLive}`)
    for (const { id } of rows) found.add(byId.get(id) ?? '')
  }
  return found
}
