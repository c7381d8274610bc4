import type { Transaction } from '../../platform/database/database.ts'
import { identifier, join, raw, type Sql, sql } from '../../platform/model/sql.ts'
import { ApiError } from '../../platform/model/errors.ts'
import type { Filter } from '../../platform/records/filter/filter.ts'
import { matching, planCount } from '../../platform/records/page/page.ts'
import type { ChangeRequest, Filters } from '../../platform/records/page/parse.ts'
import { findTarget, root } from '../../platform/records/filter/target.ts'
import { newId, decodeId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { columnTypes } from '../../platform/records/declare/define.ts'
import { readCount, scopeOf } from '../../platform/records/page/read.ts'
import { assertParent } from '../../platform/records/write/parent.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { countSql } from '../row-counts/store.ts'
import type { RowStatus } from '../imports/resource.ts'
import { rowDetails, rows } from './resource.ts'
import type { ColumnsOf, WrittenRecord } from '../../platform/records/declare/changes.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

/** Rows as shown in lists. */
export const rowStore = standardStore(rows)

/** Rows with all fields. */
export const rowDetailsStore = standardStore(rowDetails, { afterWrite: countWritten })

async function countWritten(db: Transaction, written: readonly WrittenRecord[]): Promise<void> {
  const rowsOf = (records: readonly JsonObject[]) =>
    sql`unnest(${records.map(({ importId }) => decodeId('imp', String(importId)))}::uuid[],
      ${records.map(({ status }) => status)}::text[]) as row (import_id, status)`
  const before = sql`(select * from ${rowsOf(written.flatMap((one) => (one.before ? [one.before] : [])))})`
  const after = sql`(select * from ${rowsOf(written.map((one) => one.after))})`
  await db.query(countSql(db.organization, { before, after }))
}

/** An action that a caller can apply to rows in certain states. */
interface Transition {
  from: readonly RowStatus[]
  columns: Readonly<Record<string, JsonValue>>
}

/**
 * Clears the fencing token, so that a worker that still has it cannot finish the row. Changes of records stay, and the
 * next run adds to them.
 */
const retry: Transition = {
  from: ['RETRYING', 'PARTIAL', 'INVALID', 'CONFLICT', 'DEAD', 'CANCELLED'],
  columns: {
    status: 'PENDING',
    attempts: 0,
    losses: 0,
    run_at: 'now',
    lease: null,
    finished_at: null,
    warnings: [],
    errors: [],
    warning_codes: [],
    error_codes: [],
  },
}

const cancel: Transition = {
  from: ['PENDING', 'RETRYING'],
  columns: { status: 'CANCELLED', run_at: null, lease: null, finished_at: 'now' },
}

const transitions = { retry, cancel }
export type RowAction = keyof typeof transitions

/** Why a row in this state cannot be retried. All other states can. */
const notRetryable: Partial<Record<RowStatus, string>> = {
  PENDING: 'This row is already waiting to be processed.',
  PROCESSING: 'This row is being processed. Try again when it has finished.',
  PROCESSED:
    'This row was processed completely, so there is nothing to retry. Push its payload again to apply it again.',
  DUPLICATE: 'This row contained nothing new, so there is nothing to retry. Push its payload again to apply it again.',
}

/** Columns that queue a row again. Errors: 423 if it was successful or is not finished yet. */
export const retryColumns: ColumnsOf = ({ status }) => {
  const reason = notRetryable[status as RowStatus]
  if (reason !== undefined) throw new ApiError('resource_locked', reason)
  return retry.columns
}

const correctable: readonly RowStatus[] = ['PARTIAL', 'INVALID', 'CONFLICT', 'DEAD', 'CANCELLED']

/** Why a row that is neither finished nor correctable cannot be corrected; other rows explain why they need no retry. */
const notCorrectable: Partial<Record<RowStatus, string>> = {
  ...notRetryable,
  PENDING: 'This row is waiting to be processed. Cancel it, then correct it.',
  RETRYING: 'This row is waiting for its next attempt. Cancel it, then correct it.',
}

/** A successful row can be corrected if it has warnings, because some of its values were not stored. */
const correctableWithWarnings: readonly RowStatus[] = ['PROCESSED', 'DUPLICATE']

/** Columns that queue a row with a corrected payload. Errors: 423 if everything in it was stored, or it is not finished. */
export const correctColumns: ColumnsOf = ({ status, warningCodes }) => {
  const hasWarnings = Array.isArray(warningCodes) && warningCodes.length > 0
  const statuses = hasWarnings ? [...correctable, ...correctableWithWarnings] : correctable
  if (statuses.includes(status as RowStatus)) return retry.columns
  throw new ApiError('resource_locked', notCorrectable[status as RowStatus] ?? 'This row cannot be corrected.')
}

/**
 * Replaces the payload of a row. A separate statement, because the standard write would reorder the properties of the
 * JSON. The caller checks in the same transaction that the row exists and may be corrected.
 */
export async function replacePayload(
  db: Transaction,
  rowId: string,
  { payload, email }: { payload: JsonObject; email: string | undefined },
): Promise<void> {
  await db.query(sql`
    update import_rows set payload = ${JSON.stringify(payload)}::json, email = ${email ?? null}::text,
      email_key = ${email === undefined ? null : emailKey(email)}::text
    where organization_id = ${db.organization} and id = ${rowId}::uuid and (status = any(${correctable}::text[])
      or status = any(${correctableWithWarnings}::text[]) and warning_codes <> '{}')`)
}

/** Inserts a row as a push does; returns its uuid. */
export async function insertRow(
  db: Transaction,
  { importId, payload, email }: { importId: string; payload: JsonObject; email: string | undefined },
): Promise<string> {
  const id = newId()
  await db.query(sql`
    with inserted as (
      insert into import_rows (organization_id, id, import_id, payload, email, email_key)
      values (${db.organization}, ${id}::uuid, ${importId}::uuid, ${JSON.stringify(payload)}::json,
        ${email ?? null}::text, ${email === undefined ? null : emailKey(email)}::text)
      returning import_id, status)
    ${countSql(db.organization, { after: raw('inserted') })}`)
  return id
}

/** The payload of a row (uuid); undefined if the row was purged. */
export async function findPayload(db: Transaction, rowId: string): Promise<JsonValue | undefined> {
  const [row] = await db.query<{ payload: JsonValue }>(sql`
    select payload from import_rows where organization_id = ${db.organization} and id = ${rowId}::uuid`)
  return row?.payload
}

/** Maximum number of rows that one call changes, so that it stays within the statement timeout. */
export const maxChangedRows = 10_000

/** Result of a change by filter. */
export interface RowsChanged {
  count: number
  /** Number of matching rows that are left for the next call. */
  remaining: number
}

/** Changes the oldest rows of an import that match the filter and whose state allows it. Errors: 404. */
export async function changeRows(
  db: Transaction,
  importId: string,
  action: RowAction,
  { dryRun, ...filters }: ChangeRequest,
): Promise<RowsChanged> {
  await assertParent(db, rows, importId)
  const { from, columns } = transitions[action]
  const scope = scopeOf(db, importId)
  const countRemaining = () => readCount(db, rows, planCount(rows, withStatuses(filters, from), scope))
  if (dryRun) return { count: await countRemaining(), remaining: 0 }
  const locked = await lockAvailable(db, from, await findOldest(db, importId, from, filters))
  const ids = locked.map(({ id }) => id)
  const before = sql`(select import_id, status from unnest(${locked.map((row) => row.importId)}::uuid[],
    ${locked.map(({ status }) => status)}::text[]) as row (import_id, status))`
  await db.query(sql`
    with changed as (
      update import_rows set ${assignments(columns)}, revision = revision + 1, updated_at = now()
      where organization_id = ${db.organization} and id = any(${ids}::uuid[]) returning import_id, status)
    ${countSql(db.organization, { before, after: raw('changed') })}`)
  return { count: ids.length, remaining: await countRemaining() }
}

/**
 * Ids of the oldest rows in these states that match the filters. Each state is read separately, as the index has them.
 */
async function findOldest(
  db: Transaction,
  importId: string,
  statuses: readonly RowStatus[],
  filters: Filters,
): Promise<string[]> {
  const limit = raw(String(maxChangedRows))
  const found = await db.query<{ id: string }>(sql`
    select found.id from unnest(${statuses}::text[]) wanted (status) cross join lateral (
      select id, created_at from import_rows ${raw(root)}
      where ${matching(rows, filters, scopeOf(db, importId))} and ${raw(root)}.status = wanted.status
      order by created_at, id limit ${limit}) found
    order by found.created_at, found.id limit ${limit}`)
  return found.map(({ id }) => id)
}

/**
 * Locks the rows that are unlocked and still in one of these states. It never waits, so it cannot deadlock: a row that
 * a worker has locked is skipped here, and workers skip rows that are locked here.
 */
function lockAvailable(db: Transaction, statuses: readonly RowStatus[], ids: readonly string[]): Promise<LockedRow[]> {
  return db.query<LockedRow>(sql`
    select id, import_id as "importId", status from import_rows
    where organization_id = ${db.organization} and id = any(${ids}::uuid[]) and status = any(${statuses}::text[])
    for no key update skip locked`)
}

interface LockedRow {
  id: string
  importId: string
  status: RowStatus
}

/** Adds the condition that the row is in one of these states. */
function withStatuses({ filter, ...others }: Filters, statuses: readonly RowStatus[]): Filters {
  const target = findTarget(rows, 'status')
  if ('error' in target) throw new Error('rows have a status')
  const isOneOf: Filter = { target, operator: 'in', operand: { kind: 'texts', values: statuses } }
  return { ...others, filter: { and: [filter, isOneOf] } }
}

function assignments(columns: Transition['columns']): Sql {
  const types = columnTypes(rowDetails)
  const set = Object.entries(columns).map(([name, value]) => {
    const type = types[name] ?? 'text'
    return sql`${identifier(name)} = ${type.startsWith('json') ? JSON.stringify(value) : value}::${raw(type)}`
  })
  return join(set, ', ')
}
