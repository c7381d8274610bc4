import type { Transaction } from '../../database/database.ts'
import { namedByTrigger, sqlState, violatedConstraint } from '../../database/failures.ts'
import { columnOf, columnTypes, initialValues, type Resource } from '../declare/define.ts'
import { decodeId } from '../../model/ids.ts'
import {
  identifier,
  isOneOf,
  join,
  combinable,
  Parameter,
  preparedForOne,
  raw,
  type Sql,
  sql,
} from '../../model/sql.ts'
import { renderSql, writtenSql } from '../rendering/rendering.ts'
import { documentJoins } from '../page/select.ts'
import { readFor } from '../filter/scope.ts'
import { lookupJoins, root } from '../filter/target.ts'
import { eventsSql } from './events.ts'
import { entriesSql, entryChanges, entryStatements } from '../properties/entry-rows.ts'
import { storedSql } from './current.ts'
import { scopeOf } from '../page/read.ts'
import { UniqueConflict } from './unique-conflict.ts'
import type { SingleStatementCreate, PendingChange, StoredRow } from '../declare/changes.ts'
import type { JsonValue } from '../../model/json.ts'
import type { PropertySet } from '../declare/field.ts'

/** A pending change as a recordset row; without nulls for a new record, because most of its fields are empty. */
export function recordOf(resource: Resource, { id, before, values, columns }: PendingChange): StoredColumns {
  const record: StoredColumns = { id }
  const put = (column: string, value: JsonValue) => {
    if (before || value !== null) record[column] = value
  }
  for (const [name, value] of Object.entries(values)) {
    const prefix = resource.fields[name]?.idPrefix
    put(columnOf(name), prefix !== undefined && typeof value === 'string' ? (decodeId(prefix, value) ?? null) : value)
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
  const times = transaction.writesTablesTogether ? {} : timesOf(resource)
  const records = pending.map((one) => ({ ...times, ...recordOf(resource, one), ...parent }))
  const names = columnsOf(resource, records)
  const targets = ['organization_id', ...names].map(identifier)
  const values = names.map((name) => sql`input.${identifier(name)}`)
  return write(transaction, resource, {
    records,
    pending,
    set,
    input: inputSql(resource, records, names),
    change: sql`
      insert into ${identifier(resource.table)} as ${raw(root)} (${join(targets, ', ')})
      select ${transaction.organization}, ${join(values, ', ')} from input`,
    isReturned,
  })
}

/** The times of a new record, read like its other times: with several statements, defaults may be computed earlier. */
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
  // Read where the other times are read, not with now(), which another server may evaluate.
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
  return write(transaction, resource, {
    records,
    pending,
    set,
    input: inputSql(resource, input, [...names, 'changed']),
    change: sql`
      update ${identifier(resource.table)} ${raw(root)}
      set ${join([...sets, sql`revision = ${raw(root)}.revision + 1`, sql`updated_at = input.updated_at`], ', ')}
      from input where ${raw(root)}.organization_id = ${transaction.organization} and ${raw(root)}.id = input.id${byKey}`,
    isReturned,
  })
}

interface RecordWrite {
  records: readonly StoredColumns[]
  pending: readonly PendingChange[]
  set: PropertySet | undefined
  /** The common table expression `input`. */
  input: Sql
  /** The insert or update of the records in `input`. */
  change: Sql
  isReturned: boolean
}

/** Makes the change and returns a `StoredRow` for each record. */
async function write(transaction: Transaction, resource: Resource, options: RecordWrite): Promise<StoredRow[]> {
  try {
    return transaction.writesTablesTogether
      ? await transaction.query<StoredRow>(wholeStatement(transaction, resource, options))
      : await writeSeparately(transaction, resource, options)
  } catch (error) {
    throw toUniqueConflict(error, resource, transaction, options.records[0] ?? {})
  }
}

const withoutText = sql`${raw(root)}.id, '' as text, null as whole, ${raw(root)}.revision`

/** One statement stores the records and what follows from them. */
function wholeStatement(
  transaction: Transaction,
  resource: Resource,
  { records, pending, set, input, change, isReturned }: RecordWrite,
): Sql {
  const events = eventsSql(transaction, resource, pending, 'written')
  const entries = entriesSql(transaction, entryChanges(resource, set, pending))
  const result = isReturned
    ? sql`${storedSql(resource, 'written', { reader: readFor(resource, transaction).reader })} from written ${raw(root)}${lookupJoins(resource, scopeOf(transaction, undefined))}`
    : sql`${withoutText} from written ${raw(root)}`
  return preparedForOne(
    records,
    sql`
    with ${input}, ${writtenSql(resource, change)}${events ? sql`, event as (${events})` : raw('')}${entries}
    select ${result}`,
  )
}

/** A statement for each table, sent together (`writesTablesTogether`). */
async function writeSeparately(
  transaction: Transaction,
  resource: Resource,
  { records, pending, set, input, change, isReturned }: RecordWrite,
): Promise<StoredRow[]> {
  const { organization } = transaction
  const scope = scopeOf(transaction, undefined)
  const ids = records.map(({ id }) => id)
  const rendering = renderSql(resource, organization, sql`select unnest(${ids}::uuid[])`)
  const events = eventsSql(transaction, resource, pending, 'table')
  const statements = [
    sql`with ${input} ${change} returning ${raw(root)}.id`,
    ...(rendering ? [rendering] : []),
    ...(events ? [sql`${events} returning id`] : []),
    ...entryStatements(transaction, resource, entryChanges(resource, set, pending)),
  ]
  const sent = statements.map((statement) => transaction.query(combinable(statement)))
  const result = isReturned
    ? sql`${storedSql(resource, 'table', { ...readFor(resource, transaction), organization })}`
    : withoutText
  const stored = transaction.query<StoredRow>(
    combinable(sql`select ${result} from ${identifier(resource.table)} ${raw(root)}${documentJoins(resource, scope)}
        where ${raw(root)}.organization_id = ${organization} and ${raw(root)}.id = any(${ids}::uuid[])`),
  )
  await Promise.all([...sent, stored])
  return stored
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
  const named = namedByTrigger(error)
  if (named) {
    const holder = sql`select id from ${identifier(resource.table)}
      where organization_id = ${transaction.organization} and id = ${named.holderId}::uuid`
    return new UniqueConflict(resource, named.field, holder, { cause: error })
  }
  const id = sql`${String(record.id)}::uuid`
  const compared = (value: Sql) => (unique.folded ? sql`fold(${value})` : value)
  const same = unique.columns.map((name) => {
    const value = found[name]?.(transaction.organization)
    return value ? sql`${identifier(name)} = ${value}` : sameValue(resource, transaction, record, name, compared)
  })
  const holdersIn = (
    table: string,
    owner: string,
    more = '',
  ) => sql`select ${identifier(owner)} as id from ${identifier(table)}
      where organization_id = ${transaction.organization} ${raw(more)} and ${identifier(owner)} <> ${id} and ${join(same, ' and ')}`
  const holders = [
    holdersIn(resource.table, 'id', resource.softDelete ? 'and deleted_at is null' : ''),
    ...(unique.alsoIn ? [holdersIn(unique.alsoIn.table, unique.alsoIn.owner)] : []),
  ]
  return new UniqueConflict(resource, unique.field, sql`${join(holders, ' union all ')} limit 1`, { cause: error })
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
