import { serviceActor } from '../../platform/model/caller.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { withJitter } from '../../platform/background/loop.ts'
import { type Lease, maxLossesInBatch, type RetryPolicy } from '../../platform/queue/queue.ts'
import { sqlState } from '../../platform/database/failures.ts'
import { Parameter, raw, type Sql, sql } from '../../platform/model/sql.ts'
import { newId, decodeId } from '../../platform/model/ids.ts'
import type { Outcome } from '../merge/reconcile.ts'
import { countProcessed, countSql } from '../row-counts/store.ts'
import { type Finding, finding, type MergePolicy } from '../imports/resource.ts'
import { waiting } from '../imports/store.ts'
import type { JsonValue, JsonObject } from '../../platform/model/json.ts'

/** Rows of one organization that a worker has leased. */
export interface Claim extends Lease {
  rowIds: readonly string[]
}

/** Rows of a claim, or `all` while the claimed rows are unknown. */
export interface LeasedRows extends Lease {
  rowIds: readonly string[] | 'all'
}

/** A row that is being processed, with the settings of its import. */
export interface ClaimedRow {
  id: string
  importId: string
  payload: JsonValue
  parameters: JsonObject
  teamId: string
  tags: string[]
  mergePolicy: MergePolicy
  /** The contact that an earlier run of the row created, as `con_…`; null if none did. */
  createdContactId: string | null
}

/** Called with rows (uuids) that have failed, in the transaction in which they do. */
export type OnFailedRows = (transaction: Transaction, rowIds: readonly string[]) => Promise<void>

/** Maximum bytes of the stored payloads of a batch. */
const maxBytes = 2 * 1024 * 1024

/**
 * Two locks per organization, held until the transaction ends: rows of `import_turns`. A worker holds the lock for claims
 * until it has the lock for processing: rows are processed in the order of the claims, two batches never create the same
 * person, and the next batch is read while the previous one is being written.
 */
type Turn = 'claim' | 'work'

const rowOf = ({ organization }: Transaction, turn: Turn): Sql =>
  sql`select turn from import_turns where organization_id = ${organization} and turn = ${turn} for update`

/** False if another worker has the lock. */
export async function tryLockClaims(transaction: Transaction): Promise<boolean> {
  const locked = await transaction.query(sql`${rowOf(transaction, 'claim')} skip locked`)
  return locked.length > 0 || createTurn(transaction, 'claim')
}

/** Waits for the lock to process rows. */
export const lockWork = (transaction: Transaction): Promise<void> => waitForLock(transaction, 'work')

/** Waits until no rows are being claimed or processed. Both locks in the order of the workers, who would wait for this one. */
export async function lockClaimsAndWork(transaction: Transaction): Promise<void> {
  await waitForLock(transaction, 'claim')
  await waitForLock(transaction, 'work')
}

async function waitForLock(transaction: Transaction, turn: Turn): Promise<void> {
  const lock = async () => {
    const locked = await transaction.query(rowOf(transaction, turn))
    if (locked.length === 0 && !(await createTurn(transaction, turn))) await transaction.query(rowOf(transaction, turn))
  }
  await lock().catch((error) => {
    throw sqlState(error) === '55P03'
      ? new WorkLockTimeout('Another batch is taking too long.', { cause: error })
      : error
  })
}

/** Creates the row, locked. False if it exists; waits for a transaction that is creating it. */
async function createTurn(transaction: Transaction, turn: Turn): Promise<boolean> {
  const created = await transaction.query(sql`
    insert into import_turns (organization_id, turn) values (${transaction.organization}, ${turn})
    on conflict do nothing returning turn`)
  return created.length > 0
}

/** The lock was not available in time. The rows are not the cause. */
export class WorkLockTimeout extends Error {}

/**
 * Claims up to `maxRows` rows of the organization for `leaseSeconds`, longest waiting first. A row whose worker crashed
 * twice is claimed alone, so that it does not affect others; after a third crash, it is dead.
 */
export async function claimRows(
  transaction: Transaction,
  {
    maxRows,
    leaseSeconds,
    lease = newId(),
    onFailedRows,
  }: { maxRows: number; leaseSeconds: number; lease?: string; onFailedRows?: OnFailedRows | undefined },
): Promise<Claim> {
  const lost = [finding('worker_lost', '', `the process ended ${maxLossesInBatch + 1} times while processing this row`)]
  // A claim that is lost in a crash does no harm: its rows are still waiting.
  const [, rows] = await Promise.all([
    transaction.query(
      sql`select set_config('synchronous_commit', 'off', true), ${transaction.organization} as organization`,
    ),
    transaction.query<{ id: string; status: string }>(sql`
      with candidates as (
        select id, import_id, status, run_at, losses + (status = 'PROCESSING')::integer as losses, pg_column_size(payload) as size,
          now() as claimed_at, now() + make_interval(secs => ${leaseSeconds}) as lease_ends_at
        from import_rows
        where organization_id = ${transaction.organization} and ${waiting} and run_at <= now()
        order by run_at, id limit ${maxRows} for update skip locked),
      first as (select id, losses from candidates order by run_at, id limit 1),
      sized as (select *, sum(size) over (order by run_at, id) as total from candidates),
      taken as (
        select sized.id, sized.import_id, sized.status, sized.losses, claimed_at, lease_ends_at from sized, first
        where sized.id = first.id
          or (first.losses < ${maxLossesInBatch} and sized.losses < ${maxLossesInBatch} and total <= ${maxBytes})),
      claimed as (
      update import_rows row set
        losses = taken.losses, updated_at = claimed_at, revision = revision + 1,
        status = case when taken.losses > ${maxLossesInBatch} then 'DEAD' else 'PROCESSING' end,
        lease = case when taken.losses > ${maxLossesInBatch} then null else ${lease}::uuid end,
        run_at = case when taken.losses <= ${maxLossesInBatch} then lease_ends_at end,
        finished_at = case when taken.losses > ${maxLossesInBatch} then claimed_at end,
        errors = case when taken.losses > ${maxLossesInBatch} then ${JSON.stringify(lost)}::json else errors end,
        error_codes = case when taken.losses > ${maxLossesInBatch} then array['worker_lost'] else error_codes end
      from taken where row.organization_id = ${transaction.organization} and row.id = taken.id
      returning row.id, row.import_id, row.status),
      counted as (${countSql(transaction.organization, { before: raw('taken'), after: raw('claimed') })})
      select id, status from claimed`),
  ])
  const idsOf = (wanted: string) => rows.filter(({ status }) => status === wanted).map(({ id }) => id)
  const [rowIds, dead] = [idsOf('PROCESSING'), idsOf('DEAD')]
  if (dead.length > 0) await onFailedRows?.(transaction, dead)
  return { organizationId: transaction.organizationId, lease, rowIds: rowIds.sort() }
}

/** The pushed data of these rows, in push order. Each row is looked up by its key, however many there are. */
export async function readRows(transaction: Transaction, rowIds: readonly string[]): Promise<ClaimedRow[]> {
  return transaction.query<ClaimedRow>(sql`
    select row.id, row.import_id as "importId", row.payload, row.parameters, import.tags,
      import.merge_policy as "mergePolicy", 'tea_' || replace(coalesce(team.id, home.id)::text, '-', '') as "teamId",
      row.created_contact_id as "createdContactId"
    from unnest(${rowIds}::uuid[]) as wanted (id)
    cross join lateral (
      select id, import_id, payload, parameters, case when contact_id is not null then (
          select change->>'id' from json_array_elements(changes) change
          where change->>'object' = 'contact' and change->>'action' = 'created' limit 1) end as created_contact_id
      from import_rows
      where organization_id = ${transaction.organization} and id = wanted.id offset 0) row
    join imports import on import.organization_id = ${transaction.organization} and import.id = row.import_id
    join teams home on home.organization_id = ${transaction.organization} and home.is_default
    left join teams team on team.organization_id = ${transaction.organization} and team.id = import.team_id
      and team.deleted_at is null
    order by row.id`)
}

/** Locks the rows that still belong to the claim, until the transaction ends: by uuid, the changes of earlier runs. */
export async function lockRows(
  transaction: Transaction,
  { lease, rowIds }: Claim,
): Promise<Map<string, Outcome['changes']>> {
  const rows = await transaction.query<{ id: string; changes: Outcome['changes'] | null }>(sql`
    select row.id, row.changes from (select unnest(${rowIds}::uuid[]) as id order by 1) wanted
    cross join lateral (
      select id, case when changes::text <> '[]' then changes end as changes from import_rows
      where organization_id = ${transaction.organization} and id = wanted.id and status = 'PROCESSING'
        and lease = ${lease}::uuid
      for update) row`)
  return new Map(rows.map(({ id, changes }) => [id, changes ?? []]))
}

/**
 * Stores the outcomes of rows, in the transaction of their changes. The caller has locked them with `lockRows`. The
 * casts from text are in a sub-select, because not every engine accepts them in the update.
 */
export async function finishRows(
  transaction: Transaction,
  outcomes: readonly Outcome[],
  locked: ReadonlyMap<string, Outcome['changes']>,
): Promise<void> {
  const ids = new Parameter(outcomes.map(({ rowId }) => rowId))
  const uuids = (prefix: string, shown: (outcome: Outcome) => string | null) =>
    sql`${outcomes.map((one) => decodeId(prefix, shown(one) ?? '') ?? null)}::uuid[]`
  // One document per line: PostgreSQL takes three times as long to split one large document.
  const lines = (toText: (outcome: Outcome) => string) =>
    sql`string_to_array(${outcomes.map(toText).join('\n')}, E'\n')`
  const finish = sql`
    update import_rows row set
      status = ended.status, contact_id = coalesce(ended.contact_id, row.contact_id),
      company_id = coalesce(ended.company_id, row.company_id), warnings = ended.warnings, errors = ended.errors,
      changes = ended.changes, warning_codes = ended.warning_codes, error_codes = ended.error_codes,
      run_at = null, lease = null, finished_at = now(), updated_at = now(), revision = row.revision + 1
    from (
      select id, status, contact_id, company_id, warnings::json as warnings, errors::json as errors,
        changes::json as changes, warning_codes::text[] as warning_codes, error_codes::text[] as error_codes
      from unnest(${ids}::uuid[], ${outcomes.map(({ status }) => status)}::text[],
        ${uuids('con', ({ contactId }) => contactId)}, ${uuids('com', ({ companyId }) => companyId)},
        ${lines(({ warnings }) => JSON.stringify(warnings))}, ${lines(({ errors }) => JSON.stringify(errors))},
        ${lines(({ rowId, changes }) => JSON.stringify([...(locked.get(rowId) ?? []), ...changes]))},
        ${lines(({ warnings }) => codesOf(warnings))}, ${lines(({ errors }) => codesOf(errors))})
        as given (id, status, contact_id, company_id, warnings, errors, changes, warning_codes, error_codes)) ended
    where row.organization_id = ${transaction.organization} and row.id = ended.id
      -- For the planner, which might otherwise scan all rows of the organization.
      and row.id = any(${ids}::uuid[])
    returning row.import_id, row.status`
  await changeProcessed(transaction, finish)
}

/** Changes rows that are being processed, and their counts. */
async function changeProcessed(transaction: Transaction, change: Sql): Promise<void> {
  await transaction.query(countProcessed(transaction.organization, change))
}

/** Distinct codes as a PostgreSQL array literal. They need no escaping. */
const codesOf = (findings: readonly Finding[]): string =>
  `{${[...new Set(findings.map(({ code }) => code))].join(',')}}`

/** Schedules a retry of a failed row, with jitter, or marks it as dead. */
export async function failRow(
  database: Database,
  { organizationId, lease, rowIds: [rowId] }: Claim,
  { attempts, firstDelaySeconds, maxDelaySeconds }: RetryPolicy,
  onDead?: OnFailedRows,
): Promise<void> {
  const failed = [finding('processing_failed', '', 'processing failed')]
  const jitter = withJitter(1)
  await database.transaction(serviceActor('work', organizationId), async (transaction) => {
    await changeProcessed(
      transaction,
      sql`
      update import_rows row set
        attempts = failed.attempts, losses = 0, lease = null,
        status = case when failed.attempts < ${attempts} then 'RETRYING' else 'DEAD' end,
        finished_at = case when failed.attempts >= ${attempts} then failed_at end,
        run_at = case when failed.attempts < ${attempts} then next_at end,
        errors = ${JSON.stringify(failed)}::json, error_codes = array['processing_failed'],
        updated_at = failed_at, revision = revision + 1
      from (
        select attempts + 1 as attempts, now() as failed_at, now() + make_interval(secs =>
          least(${maxDelaySeconds}, ${firstDelaySeconds} * power(2, attempts)) * ${jitter}::float8) as next_at
        from import_rows
        where organization_id = ${transaction.organization} and id = ${rowId}::uuid and status = 'PROCESSING'
          and lease = ${lease}::uuid for update) failed
      where row.organization_id = ${transaction.organization} and row.id = ${rowId}::uuid
      returning row.import_id, row.status`,
    )
    if (!onDead) return
    const dead = await transaction.query<{ id: string }>(sql`
      select id from import_rows
      where organization_id = ${transaction.organization} and id = ${rowId}::uuid and status = 'DEAD'`)
    if (dead.length > 0)
      await onDead(
        transaction,
        dead.map(({ id }) => id),
      )
  })
}

/** Releases rows that were not processed: the database was unavailable, or this process is stopping. */
export async function releaseRows(database: Database, { organizationId, lease, rowIds }: LeasedRows): Promise<void> {
  // Leases end in the future, so the index of the queue finds them after all due rows.
  const rowCondition = rowIds === 'all' ? raw('run_at > now()') : sql`id = any(${rowIds}::uuid[])`
  await database.transaction(serviceActor('work', organizationId), async (transaction) => {
    // A claim whose connection was lost may still commit. It holds its lock until it is over.
    if (rowIds === 'all') await waitForLock(transaction, 'claim')
    await changeProcessed(
      transaction,
      sql`
      update import_rows set
        status = case when attempts > 0 then 'RETRYING' else 'PENDING' end, lease = null,
        run_at = now() + interval '1 second', updated_at = now(), revision = revision + 1
      where organization_id = ${transaction.organization} and ${rowCondition} and status = 'PROCESSING'
        and lease = ${lease}::uuid
      returning import_id, status`,
    )
  })
}
