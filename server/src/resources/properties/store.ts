import type { Transaction } from '../../platform/database/database.ts'
import type { JsonObject } from '../../platform/model/fields.ts'
import { readId } from '../../platform/model/ids.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import { lockSetsForChange, storeDefinitions } from '../../platform/resource/property-sets.ts'
import { documentSql } from '../../platform/query/select.ts'
import { root } from '../../platform/query/target.ts'
import { standardStore } from '../../platform/resource/store.ts'
import type { PendingChange } from '../../platform/resource/write.ts'
import { properties } from './resource.ts'
import { definitionOf } from './rules.ts'

export const propertyStore = standardStore(properties, {
  async beforeWrite(transaction, pending) {
    await lockSetsForChange(transaction, tablesOf(pending))
    await assignPositions(transaction, pending)
  },
  async afterWrite(transaction, _, pending) {
    for (const table of tablesOf(pending)) await updateSet(transaction, table)
  },
})

/** The tables whose definitions change; each resource has the table of its name. */
const tablesOf = (pending: readonly PendingChange[]): string[] =>
  [...new Set(pending.map(({ before, values }) => String(before?.resource ?? values.resource)))].sort()

/** A new property comes after the others of its resource. */
async function assignPositions(transaction: Transaction, pending: readonly PendingChange[]): Promise<void> {
  for (const { before, values } of pending) {
    if (before || (values.position ?? null) !== null) continue
    const [last] = await transaction.query<{ position: string }>(sql`
      select coalesce(floor(max("position")), 0)::text as position from properties
      where organization_id = ${transaction.organization} and resource = ${values.resource} and deleted_at is null`)
    values.position = String(BigInt(last?.position ?? '0') + 1n)
  }
}

/** Stores the definitions of a table for the writes of its records. */
async function updateSet(transaction: Transaction, table: string): Promise<void> {
  const rows = await transaction.query<{ text: string }>(sql`
    select ${documentSql(properties)} as text from properties ${raw(root)}
    where organization_id = ${transaction.organization} and resource = ${table} and deleted_at is null
    order by "position", id`)
  const definitions = rows.map(({ text }) => {
    const record = JSON.parse(text) as JsonObject
    return definitionOf(readId(properties.idPrefix, String(record.id)) ?? '', record)
  })
  await storeDefinitions(transaction, table, definitions)
}
