import { isDeepStrictEqual } from 'node:util'
import type { Transaction } from '../../database/database.ts'
import type { Resource } from '../declare/define.ts'
import { identifier, raw, type Sql, sql } from '../../model/sql.ts'
import { definableField, objectOf } from './values.ts'
import type { PendingChange } from '../declare/changes.ts'
import type { JsonValue } from '../../model/json.ts'
import type { DeclaredProperty, PropertyIndex, PropertySet } from '../declare/field.ts'

/** The value of an indexed property that a record has from now on; null for none, or if the record is deleted. */
interface EntryChange {
  record_id: string
  index_id: string
  type: string
  id_prefix: string
  value: JsonValue
}

type Indexed = DeclaredProperty & { index: PropertyIndex }

const isIndexed = (property: DeclaredProperty): property is Indexed => property.index !== null

/** What changes to records do to the entries of indexes; empty if the organization has no index of what they change. */
export function entryChanges(
  resource: Resource,
  set: PropertySet | undefined,
  pending: readonly PendingChange[],
): EntryChange[] {
  const indexed = [...(set?.properties.values() ?? [])].filter(isIndexed)
  const name = definableField(resource)
  if (indexed.length === 0 || name === undefined) return []
  return pending.flatMap(({ id, before, values, columns }) => {
    const isDeleted = typeof columns.deleted_at === 'string'
    const old = objectOf(before && columns.deleted_at !== null ? before[name] : undefined)
    const current = objectOf(isDeleted ? undefined : (values[name] ?? before?.[name]))
    return indexed
      .filter(({ key }) => !isDeepStrictEqual(old[key] ?? null, current[key] ?? null))
      .map(({ key, type, references, index }) => ({
        record_id: id,
        index_id: index.id,
        type,
        id_prefix: references?.idPrefix ?? '',
        value: current[key] ?? null,
      }))
  })
}

/** Common table expressions after `written` that store the entries of changed records. */
export function entriesSql({ organization }: Transaction, changes: readonly EntryChange[]): Sql {
  if (changes.length === 0) return raw('')
  return sql`,
    ${entryTables(sql`${JSON.stringify(changes)}`)},
    removed_entry as (${deleteEntries(organization)}),
    added_entry as (${insertEntries(organization)})`
}

/** Statements that do the same after the records were written. */
export function entryStatements(
  { organization }: Transaction,
  resource: Resource,
  changes: readonly EntryChange[],
): Sql[] {
  if (changes.length === 0) return []
  const written = sql`written as (
    select * from ${identifier(resource.table)}
    where organization_id = ${organization} and id = any(${changes.map(({ record_id: id }) => id)}::uuid[]))`
  const tables = sql`with ${written}, ${entryTables(sql`${JSON.stringify(changes)}`)}`
  return [
    sql`${tables} ${deleteEntries(organization)} returning stored.record_id`,
    sql`${tables} ${insertEntries(organization)} returning record_id`,
  ]
}

/** The same for the statement that creates one record. `changes`: as JSON. */
export const creationEntriesSql = ({ organization }: Transaction, changes: Sql): Sql => sql`,
    ${entryTables(changes)},
    added_entry as (${insertEntries(organization)})`

const entryTables = (changes: Sql): Sql => sql`
    entry_change as materialized (${changeRows(changes)}),
    wanted_entry as materialized (${wantedEntries})`

const changeRows = (changes: Sql): Sql => sql`
  select * from jsonb_to_recordset(${changes}::jsonb) as change(
    record_id uuid, index_id uuid, type text, id_prefix text, value jsonb)`

const wantedEntries = raw(`
  select written.id as record_id, change.index_id, entry.value_hash, entry.number, entry.text, written.created_at
  from entry_change change join written on written.id = change.record_id
  cross join lateral property_values_of(change.index_id, change.type, change.id_prefix, change.value) entry`)

const deleteEntries = (organization: Sql): Sql => sql`
  delete from property_entries stored using entry_change change
  where stored.organization_id = ${organization} and stored.record_id = change.record_id
    and stored.index_id = change.index_id and not exists (
      select from wanted_entry wanted where wanted.record_id = stored.record_id
        and wanted.index_id = stored.index_id and wanted.value_hash = stored.value_hash)`

const insertEntries = (organization: Sql): Sql => sql`
  insert into property_entries (organization_id, record_id, index_id, value_hash, number, text, created_at)
  select ${organization}, record_id, index_id, value_hash, number, text, created_at from wanted_entry
  on conflict do nothing`
