import type { Transaction } from '../../database/database.ts'
import { newId } from '../../model/ids.ts'
import { sql } from '../../model/sql.ts'
import type { PropertyDefinition, PropertyIndex } from '../declare/field.ts'

/** Creates the index of a property. It has no entries yet; each later write adds its own. The set must be locked. */
export async function createIndex(
  transaction: Transaction,
  table: string,
  { id, key, type, references }: PropertyDefinition,
): Promise<void> {
  await transaction.query(sql`
    insert into property_indexes (organization_id, id, property_id, resource, key, type, id_prefix)
    values (${transaction.organization}, ${newId()}::uuid, ${id}::uuid, ${table}, ${key}, ${type},
      ${references?.idPrefix ?? ''})`)
}

/** Filters no longer use the index of a property, and writes no longer maintain it. The set must be locked. */
export async function dropIndex(transaction: Transaction, propertyId: string): Promise<void> {
  await transaction.query(sql`
    update property_indexes set state = 'dropped'
    where organization_id = ${transaction.organization} and property_id = ${propertyId}::uuid and state <> 'dropped'`)
}

/** The indexes of a table's properties, by property. */
export async function readIndexes(
  transaction: Transaction,
  table: string,
): Promise<ReadonlyMap<string, PropertyIndex>> {
  const rows = await transaction.query<PropertyIndex & { property_id: string }>(sql`
    select property_id, id, state = 'ready' as "isReady" from property_indexes
    where organization_id = ${transaction.organization} and resource = ${table} and state <> 'dropped'`)
  return new Map(rows.map(({ property_id: propertyId, id, isReady }) => [propertyId, { id, isReady }]))
}
