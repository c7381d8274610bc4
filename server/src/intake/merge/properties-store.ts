import type { Transaction } from '../../platform/database/database.ts'
import { combinable, isOneOfMany, identifier, raw, sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import type { Resource } from '../../platform/records/declare/define.ts'
import { lockPropertySet } from '../../platform/records/properties/sets.ts'
import { uniqueOwner, uniqueTable, uniqueValueSql } from '../../platform/records/write/unique-values.ts'
import { companies } from '../../crm/companies/resource.ts'
import { contacts } from '../../crm/contacts/resource.ts'
import { referable } from '../../crm/properties/store.ts'
import {
  fitProperties,
  hasCustomProperties,
  type PropertySets,
  specialValues,
  type SpecialValue,
  withoutProperty,
} from './custom-properties.ts'
import type { Lead } from '../payload/payload.ts'
import type { LeadRow } from './reconcile.ts'
import { UniqueHolders, type UniqueValue } from './unique-holders.ts'

/**
 * The rows with custom properties that follow their definitions, which stay the same until the transaction ends, and the
 * records that have the unique ones.
 */
export async function fitCustomProperties(
  transaction: Transaction,
  rows: readonly LeadRow[],
): Promise<{ rows: LeadRow[]; holders: UniqueHolders }> {
  if (!rows.some(({ lead }) => hasCustomProperties(lead))) return { rows: [...rows], holders: new UniqueHolders() }
  const [contact, company] = await Promise.all([
    lockPropertySet(transaction, contacts),
    lockPropertySet(transaction, companies),
  ])
  const sets: PropertySets = { contact, company }
  const fitted = rows.map((row) => ({ ...row, lead: fitProperties(row.lead, sets) }))
  const special = fitted.flatMap(({ lead }) => specialValues(lead, sets))
  const [existing, uniqueContacts, uniqueCompanies] = await Promise.all([
    existingRecords(transaction, special),
    uniqueValues(transaction, contacts, special),
    uniqueValues(transaction, companies, special),
  ])
  return {
    rows: fitted.map((row) => ({ ...row, lead: withExisting(row.lead, sets, existing) })),
    holders: new UniqueHolders([...uniqueContacts, ...uniqueCompanies]),
  }
}

/** The lead without references to records that do not exist. */
const withExisting = (lead: Lead, sets: PropertySets, existing: ReadonlySet<string>): Lead =>
  specialValues(lead, sets)
    .filter(({ property, value }) => property.references && !existing.has(String(value)))
    .reduce((rest, special) => withoutProperty(rest, special, 'no record with this id exists'), lead)

/** The values of unique properties of the resource, with the records that have them. */
async function uniqueValues(
  transaction: Transaction,
  resource: Resource,
  values: readonly SpecialValue[],
): Promise<UniqueValue[]> {
  const wanted = values.filter(({ part, property }) => property.unique && part === resource.singular)
  if (wanted.length === 0) return []
  const properties = JSON.stringify(wanted.map(({ property: { id, type }, value }) => ({ id, type, value })))
  const digest = uniqueValueSql(raw('wanted.type'), raw('wanted.value'))
  const rows = await transaction.query<{ place: string; digest: string; holder: string | null }>(
    combinable(sql`
    select wanted.place, encode(${digest}, 'hex') as digest, stored.${uniqueOwner(resource)} as holder
    from rows from (jsonb_to_recordset(${properties}::jsonb) as (id uuid, type text, value jsonb))
      with ordinality as wanted (id, type, value, place)
    left join ${uniqueTable(resource)} stored on stored.organization_id = ${transaction.organization}
      and stored.property_id = wanted.id and stored.value = ${digest}`),
  )
  return rows.flatMap(({ place, digest, holder }) => {
    const one = wanted[Number(place) - 1]
    return one ? { part: one.part, property: one.property.key, value: one.value, digest, holder } : []
  })
}

/** Those of the named records that exist, by their ids in the form of the API. */
async function existingRecords(transaction: Transaction, values: readonly SpecialValue[]): Promise<Set<string>> {
  const found = new Set<string>()
  for (const [name, { resource, table = resource.table, key = 'id' }] of Object.entries(referable)) {
    const named = values.filter(({ property }) => property.references?.resource === name)
    const byId = new Map(named.map(({ value }) => [decodeId(resource.idPrefix, String(value)) ?? '', String(value)]))
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
