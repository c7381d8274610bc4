import { isDeepStrictEqual } from 'node:util'
import type { Transaction } from '../database/database.ts'
import { sqlState } from '../database/failures.ts'
import { identifier, isOneOf, join, Parameter, prepared, preparedForOne, raw, type Sql, sql } from '../database/sql.ts'
import { ApiError, type BodyFault, invalidBody } from '../http/errors.ts'
import { lookups, root } from '../query/target.ts'
import { type CurrentRow, lockCurrent, storedSql, type StoredRow, wholeOf } from './current.ts'
import { inWords, type AnyRow, columnOf, columnTypes, initialOf, type Resource } from './define.ts'
import type { JsonValue } from './fields.ts'
import { newId, readId } from './ids.ts'
import { mergePatch } from './properties.ts'
import { notDeleted, notFound, parentNotFound } from './read.ts'

/**
 * One change of a set. `values` are what a caller sent, read by `readBody`; `columns` are what the service sets itself,
 * by column (`now` in a timestamp is the transaction's time).
 */
export type Change =
  | {
      kind: 'create'
      /** The new record's uuid, where others of the same work refer to it; made here otherwise. */
      id?: string
      values: AnyRow
      columns?: Record<string, JsonValue>
    }
  | {
      kind: 'update'
      id: string
      values: AnyRow
      columns?: ColumnsOf
      /** Revisions that the caller allows (If-Match); any when absent. */
      revisions?: readonly number[] | undefined
      /** True to change a deleted record: restoring it. */
      deleted?: boolean
    }

/** Columns to set, given the record as it is. */
export type ColumnsOf = (before: AnyRow) => Record<string, JsonValue>

/** What a change did: the record before and after, and as it is sent. */
export interface Written {
  id: string
  before: AnyRow | undefined
  after: AnyRow
  text: string
  revision: number
}

/** A change on its way into the table. */
export interface Pending {
  id: string
  before: AnyRow | undefined
  /** The fields that change, by name. */
  values: AnyRow
  /** The other columns that change. */
  columns: Record<string, JsonValue>
  revision: number
}

/** What a store adds to the standard write: both see the whole set, so that their statements are sets too. */
export interface WriteSteps {
  /** Completes the columns from other tables, before the table is written. */
  resolve?: (transaction: Transaction, pending: readonly Pending[]) => Promise<void>
  /** Keeps other tables true, after it was written. */
  settle?: (transaction: Transaction, written: readonly Written[], pending: readonly Pending[]) => Promise<void>
}

/** A unique value that another record holds; the pipeline turns it into 409 with the holder's id. */
export class UniqueConflict extends Error {
  readonly resource: Resource
  readonly field: string
  readonly holder: Sql

  constructor(resource: Resource, field: string, holder: Sql, cause: unknown) {
    super(`${resource.name}: ${field} is taken`, { cause })
    this.resource = resource
    this.field = field
    this.holder = holder
  }
}

/** How a set is written. */
export interface WriteOptions {
  parentId?: string | undefined
  steps?: WriteSteps
  /**
   * Records that the caller has locked and read in this transaction: each one that the set changes. Such a caller knows
   * what comes of its changes, so nothing is rendered: `text` is empty, and `after` is what was asked for.
   */
  known?: ReadonlyMap<string, CurrentRow> | undefined
  /** Records (uuids) that the caller has made or locked in this transaction: who refers to one need not look for it. */
  held?: ReadonlySet<string>
}

/**
 * The one write of a resource: many records at once, in the order given; a single record is a set of one. Every rule of
 * the declaration stands here once, for HTTP, imports and bulk changes alike.
 * Errors: 404, 412, 422 with every fault; `UniqueConflict`.
 */
export async function writeSet(
  transaction: Transaction,
  resource: Resource,
  changes: readonly Change[],
  { parentId, steps = {}, known, held }: WriteOptions = {},
): Promise<Written[]> {
  await assertParent(transaction, resource, parentId)
  const current = known ?? (await lockCurrent(transaction, resource, changes, parentId))
  const pending = changes.map((change) => prepareChange(resource, change, current))
  await checkReferences(transaction, resource, pending, held)
  await steps.resolve?.(transaction, pending)
  const created = pending.filter(({ before }) => before === undefined)
  const updated = pending.filter((one) => one.before !== undefined && hasChange(one))
  const isShown = known === undefined
  // In this order, but without waiting for one to send the next.
  const rows = await Promise.all([
    insert(transaction, resource, { pending: created, parentId, isShown }),
    update(transaction, resource, { pending: updated, isShown }),
  ])
  const byId = new Map(rows.flat().map((row) => [row.id, row]))
  const written = pending.map(({ id, before, revision, values }) => {
    const row = byId.get(id)
    if (row && known) return { id, before, after: { ...before, ...values }, text: '', revision: row.revision }
    // Nothing changed: the record is what it was, its revision too.
    if (!row) return { id, before, after: before ?? {}, text: current.get(id)?.text ?? '', revision }
    return { id, before, after: wholeOf(row), text: row.text, revision: row.revision }
  })
  await steps.settle?.(transaction, written, pending)
  return written
}

/** The parent of the path is there, and stays until the transaction ends. Errors: 404. */
export async function assertParent(
  transaction: Transaction,
  resource: Resource,
  parentId: string | undefined,
): Promise<void> {
  if (!resource.parent || parentId === undefined) return
  const { resource: parent } = resource.parent
  const rows = await transaction.query(
    prepared(sql`
    select id from ${identifier(parent.table)}
    where organization_id = ${transaction.organization} and id = ${parentId}::uuid
    ${raw(parent.softDelete ? 'and deleted_at is null' : '')} for key share`),
  )
  if (rows.length === 0) throw parentNotFound(resource)
}

function prepareChange(resource: Resource, change: Change, current: ReadonlyMap<string, CurrentRow>): Pending {
  if (change.kind === 'create') {
    const values = { ...initialOf(resource), ...change.values }
    return completed(resource, {
      id: change.id ?? newId(),
      before: undefined,
      values,
      columns: change.columns ?? {},
      revision: 1,
    })
  }
  const row = current.get(change.id)
  if (!row) throw change.deleted ? notDeleted(resource) : notFound(resource)
  if (change.revisions && !change.revisions.includes(row.revision)) {
    throw new ApiError('precondition_failed', `The ${inWords(resource.singular)} was changed since; read it again.`)
  }
  const before = row.record
  const values = Object.fromEntries(
    Object.entries(change.values).map(([name, value]) => [name, merged(resource, name, before[name], value)]),
  )
  const columns = change.columns?.(before) ?? {}
  return completed(resource, { id: change.id, before, values, columns, revision: row.revision }, row.dangling)
}

/** Objects are merged (RFC 7396) and checked whole; anything else replaces. */
function merged(resource: Resource, name: string, before: JsonValue | undefined, value: JsonValue): JsonValue {
  const field = resource.fields[name]
  if (field?.filter !== 'properties') return value
  const whole = mergePatch(before, value)
  const normalized = field.normalize?.(whole)
  if (normalized && 'fault' in normalized) throw invalidBody([{ field: name, message: normalized.fault }])
  return whole
}

function completed(resource: Resource, pending: Pending, dangling: readonly string[] = []): Pending {
  const result = resource.prepare?.(pending.values, pending.before)
  if (result?.faults && result.faults.length > 0) throw invalidBody(result.faults)
  const all = result?.values ?? pending.values
  const { before } = pending
  const values = before ? changesOf(before, all, dangling) : all
  const hidden = !before || Object.keys(values).length > 0 ? (result?.hidden ?? {}) : {}
  return { ...pending, values, columns: { ...hidden, ...pending.columns } }
}

/** The values that are others than the record's, or that it does not show. */
function changesOf(before: AnyRow, values: AnyRow, dangling: readonly string[]): AnyRow {
  const changed = Object.entries(values).filter(
    ([name, value]) => !isDeepStrictEqual(before[name], value) || dangling.includes(name),
  )
  return Object.fromEntries(changed)
}

const hasChange = ({ values, columns }: Pending): boolean =>
  Object.keys(values).length > 0 || Object.keys(columns).length > 0

/** Every record that is referred to is one of the organization and not deleted, and stays so until the transaction ends. */
async function checkReferences(
  transaction: Transaction,
  resource: Resource,
  pending: readonly Pending[],
  held: ReadonlySet<string> = new Set(),
): Promise<void> {
  const faults: BodyFault[] = []
  for (const [name, { references, idPrefix = '' }] of Object.entries(resource.fields)) {
    if (!references) continue
    const named = pending.flatMap(({ values }) => (typeof values[name] === 'string' ? [values[name]] : []))
    const wanted = [...new Set(named.map((shown) => readId(idPrefix, shown)))].filter((id) => !id || !held.has(id))
    if (wanted.length === 0) continue
    const ids = wanted.filter((id) => id !== undefined)
    const rows = await transaction.query<{ id: string }>(
      preparedForOne(
        ids,
        sql`
      select ${identifier(references.key)} as id from ${identifier(references.table)}
      where organization_id = ${transaction.organization} and ${isOneOf(identifier(references.key), ids, 'uuid')}
      ${raw(references.softDeleted ? 'and deleted_at is null' : '')} order by 1 for key share`,
      ),
    )
    const found = new Set(rows.map(({ id }) => id))
    if (wanted.some((id) => !id || !found.has(id))) {
      faults.push({
        field: name,
        message: `names no ${resource.fields[name]?.label.toLowerCase() ?? 'record'} of this organization`,
      })
    }
  }
  if (faults.length > 0) throw invalidBody(faults)
}

/** The columns of a pending change as a recordset takes them. Of a new record without nulls: most fields say nothing. */
function recordOf(resource: Resource, { id, before, values, columns }: Pending): StoredColumns {
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

/** A record as a recordset takes it. */
type StoredColumns = Record<string, JsonValue>

interface Insertion {
  pending: readonly Pending[]
  parentId: string | undefined
  /** False where nobody is shown the records: they are not rendered. */
  isShown: boolean
}

async function insert(
  transaction: Transaction,
  resource: Resource,
  { pending, parentId, isShown }: Insertion,
): Promise<StoredRow[]> {
  if (pending.length === 0) return []
  const records = pending.map((one) => recordOf(resource, one))
  const names = columnsOf(resource, records)
  const parent = resource.parent && parentId !== undefined ? resource.parent : undefined
  const targets = ['organization_id', ...(parent ? [parent.column] : []), ...names].map(identifier)
  const values = names.map((name) => sql`input.${identifier(name)}`)
  return guarded(
    resource,
    transaction,
    records,
    answering(transaction, resource, records, {
      input: inputSql(resource, records, names),
      change: sql`
      insert into ${identifier(resource.table)} as ${raw(root)} (${join(targets, ', ')})
      select ${transaction.organization}, ${parent ? sql`${parentId}::uuid, ` : raw('')}${join(values, ', ')} from input`,
      isShown,
    }),
  )
}

/** One statement, whatever each record changes: the others of its columns stay as they are. */
async function update(
  transaction: Transaction,
  resource: Resource,
  { pending, isShown }: Omit<Insertion, 'parentId'>,
): Promise<StoredRow[]> {
  if (pending.length === 0) return []
  const records = pending.map((one) => recordOf(resource, one))
  const names = columnsOf(resource, records)
  const sets = names
    .filter((name) => name !== 'id')
    .map((name) => {
      const column = identifier(name)
      if (records.length > 1 && records.every((record) => name in record)) return sql`${column} = input.${column}`
      return sql`${column} = case when ${raw(`'${name}'`)} = any(input.changed) then input.${column} else ${raw(root)}.${column} end`
    })
  const input = records.map((record) => ({ ...record, changed: Object.keys(record) }))
  const ids = records.map(({ id }) => id)
  // A set is found through its recordset, which the planner knows better.
  const byKey = ids.length === 1 ? sql` and ${isOneOf(sql`${raw(root)}.id`, ids, 'uuid')}` : raw('')
  return guarded(
    resource,
    transaction,
    records,
    answering(transaction, resource, records, {
      input: inputSql(resource, input, [...names, 'changed']),
      change: sql`
      update ${identifier(resource.table)} ${raw(root)}
      set ${join([...sets, sql`revision = ${raw(root)}.revision + 1`, sql`updated_at = now()`], ', ')}
      from input where ${raw(root)}.organization_id = ${transaction.organization} and ${raw(root)}.id = input.id${byKey}`,
      isShown,
    }),
  )
}

/** The statement that makes the change and answers with a `StoredRow` of each record, as it is afterwards. */
function answering(
  transaction: Transaction,
  resource: Resource,
  records: readonly StoredColumns[],
  { input, change, isShown }: { input: Sql; change: Sql; isShown: boolean },
): Sql {
  const statement = isShown
    ? sql`
    with ${input}, written as (${change} returning ${raw(root)}.*)
    select ${storedSql(resource)} from written ${raw(root)}${lookups(resource, transaction.organization)}`
    : sql`with ${input} ${change} returning ${raw(root)}.id, '' as text, null as whole, ${raw(root)}.revision`
  return preparedForOne(records, statement)
}

/**
 * The columns that a statement names. For one record all that can be written, so that the text is the same whatever is:
 * planning it anew would cost more than the rest. For many those that are needed.
 */
function columnsOf(resource: Resource, records: readonly StoredColumns[]): string[] {
  const known = { id: 'uuid', deleted_at: 'timestamptz', ...columnTypes(resource) }
  const usual = records.length === 1 ? Object.keys(initialOf(resource)).map(columnOf) : []
  const all = new Set(['id', ...usual])
  for (const record of records) for (const name in record) all.add(name)
  const names = [...all]
  const unknown = names.find((name) => !(name in known))
  if (unknown !== undefined) throw new Error(`${resource.table} declares no column ${unknown}`)
  return names
}

function inputSql(resource: Resource, records: readonly StoredColumns[], names: readonly string[]): Sql {
  const own = { id: 'uuid', deleted_at: 'timestamptz', changed: 'text[]' }
  const types: Record<string, string> = { ...own, ...columnTypes(resource) }
  const columns = names.map((name) => sql`${identifier(name)} ${raw(types[name] ?? 'text')}`)
  return sql`input as (
    select * from jsonb_to_recordset(${new Parameter(JSON.stringify(records))}::jsonb) as input(${join(columns, ', ')}))`
}

/** Runs the write; a unique index that refuses it becomes a conflict that knows how to find the holder. */
async function guarded(
  resource: Resource,
  transaction: Transaction,
  records: readonly StoredColumns[],
  statement: Sql,
): Promise<StoredRow[]> {
  try {
    return await transaction.query<StoredRow>(statement)
  } catch (error) {
    const constraint = (error as { constraint?: string }).constraint ?? ''
    const unique = resource.uniques[constraint]
    if (sqlState(error) !== '23505' || !unique) throw error
    const id = sql`${String(records[0]?.id)}::uuid`
    const compared = (value: Sql) => (unique.folded ? sql`fold(${value})` : value)
    const same = unique.columns.map((name) => sameValue(resource, transaction, records[0] ?? {}, name, compared))
    const holder = sql`select id from ${identifier(resource.table)}
      where organization_id = ${transaction.organization} ${raw(resource.softDelete ? 'and deleted_at is null' : '')}
        and id <> ${id} and ${join(same, ' and ')}
      limit 1`
    throw new UniqueConflict(resource, unique.field, holder, error)
  }
}

/** The column equals the record's value: the new one, or the stored one where the change does not touch it. */
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
