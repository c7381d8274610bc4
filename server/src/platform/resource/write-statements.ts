import type { Transaction } from '../database/database.ts'
import { sqlState, violatedConstraint } from '../database/failures.ts'
import { columnOf, columnTypes, initialValues, type Resource } from '../model/define.ts'
import type { JsonValue } from '../model/fields.ts'
import { readId } from '../model/ids.ts'
import { identifier, isOneOf, join, Parameter, preparedForOne, raw, type Sql, sql } from '../model/sql.ts'
import { writtenSql } from '../query/rendering.ts'
import { distributedOf } from '../query/scope.ts'
import { lookupJoins, root } from '../query/target.ts'
import type { PropertySet } from '../model/declared-property.ts'
import { historySql } from './history.ts'
import { entriesSql, entryChanges } from './property-entries.ts'
import { storedSql, type StoredRow } from './current.ts'
import { scopeOf } from './read.ts'
import { UniqueConflict } from './unique-conflict.ts'
import type { SingleStatementCreate, PendingChange } from './write.ts'

/** A pending change as a recordset row; without nulls for a new record, because most of its fields are empty. */
export function recordOf(resource: Resource, { id, before, values, columns }: PendingChange): StoredColumns {
  const record: StoredColumns = { id }
  const put = (column: string, value: JsonValue) => {
    if (before || value !== null) record[column] = value
  }
  for (const [name, value] of Object.entries(values)) {
    const prefix = resource.fields[name]?.idPrefix
    put(columnOf(name), prefix !== undefined && typeof value === 'string' ? (readId(prefix, value) ?? null) : value)
  }
  for (const [column, value] of Object.entries(columns)) put(column, value)
  return record
}

export type StoredColumns = Record<string, JsonValue>

interface Insertion {
  pending: readonly PendingChange[]
  parentId: string | undefined
  /** The definitions of the custom properties, if the change concerns them. */
  set: PropertySet | undefined
  /** False if the caller does not need the records, which are then not rendered. */
  isReturned: boolean
}

export async function insert(
  transaction: Transaction,
  resource: Resource,
  { pending, parentId, set, isReturned }: Insertion,
): Promise<StoredRow[]> {
  if (pending.length === 0) return []
  const parent = resource.parent && parentId !== undefined ? { [resource.parent.column]: parentId } : {}
  const times = distributedOf(transaction) ? timesOf(resource) : {}
  const records = pending.map((one) => ({ ...times, ...recordOf(resource, one), ...parent }))
  const names = columnsOf(resource, records)
  const targets = ['organization_id', ...names].map(identifier)
  const values = names.map((name) => sql`input.${identifier(name)}`)
  return runWrite(
    resource,
    transaction,
    records,
    returningStatement(transaction, resource, records, {
      input: inputSql(resource, records, names),
      change: sql`
      insert into ${identifier(resource.table)} as ${raw(root)} (${join(targets, ', ')})
      select ${transaction.organization}, ${join(values, ', ')} from input`,
      others: othersSql(transaction, resource, set, pending),
      isReturned,
    }),
  )
}

/** The times of a new record, read by the worker like its other times: Citus' coordinator computes the defaults earlier. */
const timesOf = (resource: Resource): StoredColumns =>
  Object.fromEntries(
    ['created_at', 'updated_at'].flatMap((name) => (name in columnTypes(resource) ? [[name, 'now']] : [])),
  )

/** One statement, whatever each record changes: its other columns keep their values. */
export async function update(
  transaction: Transaction,
  resource: Resource,
  { pending, set, isReturned }: Omit<Insertion, 'parentId'>,
): Promise<StoredRow[]> {
  if (pending.length === 0) return []
  // Read where the other times are read, not with now(), which Citus evaluates on its coordinator.
  const records = pending.map((one): StoredColumns => ({ ...recordOf(resource, one), updated_at: 'now' }))
  const names = columnsOf(resource, records)
  const increasing = Object.entries(resource.fields).flatMap(([name, field]) =>
    field.neverDecreases ? [columnOf(name)] : [],
  )
  const sets = names
    .filter((name) => name !== 'id' && name !== 'updated_at')
    .map((name) => {
      const column = identifier(name)
      // Null for records that do not change it, which `greatest` ignores.
      if (increasing.includes(name)) return sql`${column} = greatest(${raw(root)}.${column}, input.${column})`
      if (records.length > 1 && records.every((record) => name in record)) return sql`${column} = input.${column}`
      return sql`${column} = case when ${raw(`'${name}'`)} = any(input.changed) then input.${column} else ${raw(root)}.${column} end`
    })
  const input = records.map((record) => ({ ...record, changed: Object.keys(record) }))
  const ids = records.map(({ id }) => id)
  // For a set, the planner handles the join with the recordset better.
  const byKey = ids.length === 1 ? sql` and ${isOneOf(sql`${raw(root)}.id`, ids, 'uuid')}` : raw('')
  return runWrite(
    resource,
    transaction,
    records,
    returningStatement(transaction, resource, records, {
      input: inputSql(resource, input, [...names, 'changed']),
      change: sql`
      update ${identifier(resource.table)} ${raw(root)}
      set ${join([...sets, sql`revision = ${raw(root)}.revision + 1`, sql`updated_at = input.updated_at`], ', ')}
      from input where ${raw(root)}.organization_id = ${transaction.organization} and ${raw(root)}.id = input.id${byKey}`,
      others: othersSql(transaction, resource, set, pending),
      isReturned,
    }),
  )
}

/** What the statement stores besides the records. */
const othersSql = (
  transaction: Transaction,
  resource: Resource,
  set: PropertySet | undefined,
  pending: readonly PendingChange[],
): Sql =>
  sql`${historySql(transaction, resource, pending)}${entriesSql(transaction, entryChanges(resource, set, pending))}`

/** The statement that makes the change and returns a `StoredRow` for each record. */
function returningStatement(
  transaction: Transaction,
  resource: Resource,
  records: readonly StoredColumns[],
  { input, change, others, isReturned }: { input: Sql; change: Sql; others: Sql; isReturned: boolean },
): Sql {
  const organization = distributedOf(transaction)
  const isDistributed = organization !== undefined
  const statement = isReturned
    ? sql`
    with ${input}, ${writtenSql(resource, change, { isDistributed })}${others}
    select ${storedSql(resource, 'written', organization)} from written ${raw(root)}${lookupJoins(resource, scopeOf(transaction, undefined))}`
    : sql`
    with ${input}, ${writtenSql(resource, change, { isDistributed })}${others}
    select id, '' as text, null as whole, revision from written`
  return preparedForOne(records, statement)
}

/** For one record all writable ones: planning a new text would cost more than the rest. Otherwise those needed. */
function columnsOf(resource: Resource, records: readonly StoredColumns[]): string[] {
  const known = { ...ownTypes, ...columnTypes(resource) }
  const defaultColumns = records.length === 1 ? Object.keys(initialValues(resource)).map(columnOf) : []
  const all = new Set(['id', ...defaultColumns])
  for (const record of records) for (const name in record) all.add(name)
  const names = [...all]
  const unknown = names.find((name) => !(name in known))
  if (unknown !== undefined) throw new Error(`${resource.table} declares no column ${unknown}`)
  return names
}

const ownTypes = { id: 'uuid', deleted_at: 'timestamptz', updated_at: 'timestamptz' }

function inputSql(resource: Resource, records: readonly StoredColumns[], names: readonly string[]): Sql {
  const types: Record<string, string> = { ...ownTypes, changed: 'text[]', ...columnTypes(resource) }
  const columns = names.map((name) => sql`${identifier(name)} ${raw(types[name] ?? 'text')}`)
  return sql`input as (
    select * from jsonb_to_recordset(${new Parameter(JSON.stringify(records))}::jsonb) as input(${join(columns, ', ')}))`
}

/** Runs the write; a violated unique index becomes a conflict that can find the other record. */
async function runWrite(
  resource: Resource,
  transaction: Transaction,
  records: readonly StoredColumns[],
  statement: Sql,
): Promise<StoredRow[]> {
  try {
    return await transaction.query<StoredRow>(statement)
  } catch (error) {
    throw toUniqueConflict(error, resource, transaction, records[0] ?? {})
  }
}

/** Converts a violated unique index of a statement that writes `record` and `found` to a conflict. */
export function toUniqueConflict(
  error: unknown,
  resource: Resource,
  transaction: Transaction,
  record: StoredColumns,
  found: SingleStatementCreate['columns'] = {},
): unknown {
  const unique = resource.uniques[violatedConstraint(error) ?? '']
  if (sqlState(error) !== '23505' || !unique) return error
  const id = sql`${String(record.id)}::uuid`
  const compared = (value: Sql) => (unique.folded ? sql`fold(${value})` : value)
  const same = unique.columns.map((name) => {
    const value = found[name]?.(transaction.organization)
    return value ? sql`${identifier(name)} = ${value}` : sameValue(resource, transaction, record, name, compared)
  })
  const holder = sql`select id from ${identifier(resource.table)}
      where organization_id = ${transaction.organization} ${raw(resource.softDelete ? 'and deleted_at is null' : '')}
        and id <> ${id} and ${join(same, ' and ')}
      limit 1`
  return new UniqueConflict(resource, unique.field, holder, { cause: error })
}

/** The column equals the record's value: the new one, or the stored one if the change does not set it. */
function sameValue(
  resource: Resource,
  transaction: Transaction,
  record: StoredColumns,
  name: string,
  compared: (value: Sql) => Sql,
): Sql {
  const column = identifier(name)
  if (name in record) return sql`${compared(sql`${column}::text`)} = ${compared(sql`${record[name]}::text`)}`
  return sql`${compared(column)} = (select ${compared(column)} from ${identifier(resource.table)}
    where organization_id = ${transaction.organization} and id = ${String(record.id)}::uuid)`
}
