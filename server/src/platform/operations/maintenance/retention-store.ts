import { serviceActor } from '../../model/caller.ts'
import type { Database, Transaction } from '../../database/database.ts'
import { identifier, join, raw, type Sql, sql } from '../../model/sql.ts'
import type { Resource } from '../../records/declare/define.ts'
import {
  changeEventsSql,
  emptiedAtOnce,
  emptyEvents,
  type EventSubject,
  removalEventsSql,
} from '../../records/write/events.ts'

export interface RetentionPolicy {
  /** The name in metrics, the log and the doctor. */
  name: string
  table: string
  /** The columns, with their types, that identify a row within an organization. */
  key: Readonly<Record<string, string>>
  /** The column with the time since when a row is not needed; an index must start with it. */
  since: string
  ttlSeconds: number
  /** The rows belong to a person or to no one: the table has no organization. */
  isPersonal?: true
  /** The table belongs to the directory (`tablesByPlace`). */
  isInDirectory?: boolean
  /** Which rows of the table it is about: those of an index on `since`. */
  condition?: Sql
  /** The resource of the rows: the feed says that they are purged, and its events keep no values of them. */
  purged?: EventSubject
  /** Rows to retain after they expire: a condition on `record`. */
  excluded?: (organization: Sql) => Sql
  /** Rows that reference an expired one, possibly many, and are handled first. */
  dependents?: readonly Dependent[]
  /** Runs before these locked rows are deleted, in the same transaction. */
  beforeRemoval?: ((transaction: Transaction, ids: readonly string[]) => void) | undefined
  /** The table with the stored renderings of the rows, and its column with their ids. */
  renderings?: { table: string; column: string }
  /** Deletes these locked rows in a special way; resolves to the number of deleted records. */
  discard?: (transaction: Transaction, keys: readonly Key[]) => Promise<number>
  counts?: RemovalCounts
  /** An expression that is evaluated first in the transaction of a deletion. */
  setting?: Sql
  erasure?: Erasure
  /** Deletes what other places store about deleted rows, in their transaction. */
  afterRemoval?: (transaction: Transaction, keys: readonly Key[]) => Promise<void>
}

/** What more is deleted of a row that is to be erased, in the same transactions. Ids are uuids. */
export interface Erasure {
  /** The column that says since when a row is to be erased; it then counts as expired. */
  column: string
  /** Rows that refer to an erased one without a foreign key and contain values of it. They are handled first. */
  dependents?: readonly Dependent[]
  /** Takes the locks that `prepare` needs. They come before those of rows, as for others who take them. */
  lock: (transaction: Transaction) => Promise<void>
  /** Deletes at most `limit` of what refers to these rows without a key. Resolves to what follows their removal; undefined if more is left. */
  prepare: (
    transaction: Transaction,
    ids: readonly string[],
    limit: number,
  ) => Promise<(() => Promise<void>) | undefined>
  /** Deletes what is stored about removed records, whatever their resource. */
  forgetRecords: (transaction: Transaction, ids: readonly string[]) => Promise<void>
  /** The same about events that have lost their values. */
  forgetEvents: (transaction: Transaction, eventIds: readonly string[]) => Promise<void>
}

export interface RemovalCounts {
  /** Columns that `statement` needs besides the organization. */
  columns: readonly string[]
  /** Part of the deletion: counts the rows in `removed`. */
  statement: Sql
}

/** Rows that reference an expired row by `column`. Their `id` need not be unique: a person is in many teams. */
export interface Dependent {
  name: string
  table: string
  column: string
  action: 'delete' | 'release'
  released?: ReleasedReference | undefined
  /** As of a policy. */
  purged?: EventSubject | undefined
  counts?: RemovalCounts
}

/** A reference that the feed shows. */
interface ReleasedReference {
  resource: Pick<Resource, 'singular' | 'softDelete'>
  field: string
}

/** The values of the key columns, as text. */
export type Key = readonly string[]

export interface ExpiredRow {
  organizationId: string
  since: string
  key: Key
}

export interface Batch {
  limit: number
  after: ExpiredRow | undefined
}

/** Expired rows of all organizations after `after`, oldest first. */
export const findExpired = (database: Database, policy: RetentionPolicy, batch: Batch): Promise<ExpiredRow[]> =>
  database.crossTenantQuery<ExpiredRow>('purge expired rows', expiredSql(policy, batch))

/** Those of the policies, all with an organization, that have expired rows: one statement for all of them. */
export async function findDue(database: Database, policies: readonly RetentionPolicy[]): Promise<Set<unknown>> {
  const expired = policies.map(
    (policy, index) => sql`
      select organization_id, ${raw(String(index))} as policy from ${identifier(policy.table)} where ${isExpired(policy)}`,
  )
  const found = await database.crossTenantQuery<{ policy: number }>(
    'purge expired rows',
    sql`select distinct policy from (${join(expired, ' union all ')}) expired`,
  )
  return new Set(found.map(({ policy }) => policies[policy]))
}

export function expiredSql(policy: RetentionPolicy, { limit, after }: Batch): Sql {
  const { table, since, key, isPersonal } = policy
  const organization = raw(isPersonal ? `''` : 'organization_id')
  const columns = [since, ...Object.keys(key)].map(identifier)
  const types = ['timestamptz', ...Object.values(key)]
  const values = [after?.since, ...(after?.key ?? [])].map((value, index) => sql`${value}::${raw(types[index] ?? '')}`)
  return sql`select ${organization} as "organizationId", ${identifier(since)}::text as since, ${keyTextSql(policy)} as key
    from ${identifier(table)}
    where ${isExpired(policy)} ${after ? sql`and (${join(columns, ', ')}) > (${join(values, ', ')})` : raw('')}
    order by ${join(columns, ', ')} limit ${limit}`
}

/** Removed rows by name; `isPartial` if dependent rows are left. Undefined while another process purges. */
export type PurgeStep = { removed: Readonly<Record<string, number>>; isPartial: boolean } | undefined

/** True if no other rows are written or deleted with it or reference it. */
export const hasNoDependents = ({
  dependents = [],
  beforeRemoval,
  renderings,
  discard,
  purged,
}: RetentionPolicy): boolean => dependents.length === 0 && !beforeRemoval && !renderings && !discard && !purged

/** All organizations in one short transaction, because one per organization would mean nearly one per row. */
export async function purgeWithoutDependents(
  database: Database,
  policy: RetentionPolicy,
  expired: readonly ExpiredRow[],
): Promise<PurgeStep> {
  const { table, key, excluded, name, isPersonal, counts, setting } = policy
  const whole = isPersonal ? policy : { ...policy, key: { organization_id: 'uuid', ...key } }
  const keys = expired.map((one) => (isPersonal ? one.key : [one.organizationId, ...one.key]))
  return database.crossTenantTransaction('purge expired rows', async (connection) => {
    const [lockRow] = await connection.query<{ taken: boolean }>(tryLockSql)
    if (!lockRow?.taken) return undefined
    const deletion = sql`
      delete from ${identifier(table)} record
      where ${isOneOf(whole, keys)} and ${isExpired(policy)}
      ${excluded ? sql`and not (${excluded(raw('record.organization_id'))})` : raw('')}`
    if (setting) await connection.query(sql`select ${setting}`)
    const [removed] = await connection.query<{ count: number }>(countRemoved(deletion, counts))
    return { removed: { [name]: removed?.count ?? 0 }, isPartial: false }
  })
}

/** Purges at most `limit` rows of each kind. Skips locked rows and those that no longer qualify. */
export async function purge(
  database: Database,
  policy: RetentionPolicy,
  { organizationId, keys, limit }: { organizationId: string; keys: readonly Key[]; limit: number },
): Promise<PurgeStep> {
  return database.transaction(serviceActor('maintenance', organizationId), async (transaction) => {
    const [lockRow] = await transaction.query<{ taken: boolean }>(
      sql`select attempt.taken, ${transaction.organization} as organization from (${tryLockSql}) attempt`,
    )
    if (!lockRow?.taken) return undefined
    if (policy.setting)
      await transaction.query(sql`select ${policy.setting}, ${transaction.organization} as organization`)
    const removed: Record<string, number> = {}
    let isPartial = false
    // What others have locked delays those that are to be erased, but not the rest.
    for (const rows of await lock(transaction, policy, keys)) {
      const step = await removeLocked(transaction, policy, { ...rows, limit })
      for (const [name, count] of Object.entries(step.removed)) removed[name] = (removed[name] ?? 0) + count
      isPartial ||= step.isPartial
    }
    return { removed, isPartial }
  })
}

interface LockedRows {
  locked: readonly Key[]
  limit: number
  isErasing: boolean
}

export async function removeLocked(
  transaction: Transaction,
  policy: RetentionPolicy,
  rows: LockedRows,
): Promise<NonNullable<PurgeStep>> {
  const erasure = rows.isErasing ? policy.erasure : undefined
  const removed: Record<string, number> = {}
  const partial = { removed, isPartial: true }
  const ids = idsOf(rows.locked)
  const followRemoval = await erasure?.prepare(transaction, ids, rows.limit)
  if (erasure && !followRemoval) return partial
  for (const dependent of [...(erasure?.dependents ?? []), ...(policy.dependents ?? [])]) {
    const { count, hasMore, isUnfinished } = await removeDependents(transaction, dependent, { ...rows, erasure })
    if (dependent.action === 'delete') removed[dependent.name] = (removed[dependent.name] ?? 0) + count
    // Locked rows are left to the next round.
    if (hasMore) return { removed, isPartial: isUnfinished || count > 0 }
  }
  if (policy.purged && (await emptyNextEvents(transaction, ids, erasure))) return partial
  removed[policy.name] = policy.discard
    ? await policy.discard(transaction, rows.locked)
    : await remove(transaction, policy, rows)
  await erasure?.forgetRecords(transaction, ids)
  await followRemoval?.()
  await policy.afterRemoval?.(transaction, rows.locked)
  return { removed, isPartial: false }
}

const idsOf = (keys: readonly Key[]): string[] => keys.flatMap(([id]) => id ?? [])

async function emptyNextEvents(
  transaction: Transaction,
  recordIds: readonly string[],
  erasure: Erasure | undefined,
): Promise<boolean> {
  const emptied = await emptyEvents(transaction, recordIds)
  if (erasure && emptied.length > 0) await erasure.forgetEvents(transaction, emptied)
  return emptied.length === emptiedAtOnce
}

/** How long the oldest expired row is overdue, and how many rows are expired, counted up to 10,001. */
export const overdueSql = (policy: RetentionPolicy): Sql => {
  const { table, since, ttlSeconds } = policy
  const expired = sql`select ${identifier(since)} as since from ${identifier(table)} record
    where ${isExpired(policy)} order by 1 limit 10001`
  return sql`select count(*)::int as count,
      coalesce(extract(epoch from now() - min(since)) - ${raw(String(ttlSeconds))}, 0)::float8 as seconds
    from (${expired}) expired`
}

const isExpired = ({ since, ttlSeconds, condition }: RetentionPolicy): Sql =>
  sql`${identifier(since)} <= now() - make_interval(secs => ${raw(String(ttlSeconds))})${condition ? sql` and ${condition}` : raw('')}`

const keyTextSql = ({ key }: RetentionPolicy): Sql =>
  sql`array[${join(
    Object.keys(key).map((name) => sql`${identifier(name)}::text`),
    ', ',
  )}]`

function isOneOf({ key }: RetentionPolicy, keys: readonly Key[]): Sql {
  const columns = Object.entries(key).map(([name, type], index) => ({
    name: identifier(name),
    values: sql`${keys.map((values) => values[index])}::text[]::${raw(type)}[]`,
  }))
  const [first, ...others] = columns
  if (first && others.length === 0) return sql`${first.name} = any(${first.values})`
  const names = columns.map(({ name }) => name)
  return sql`(${join(names, ', ')}) in (select * from unnest(${join(
    columns.map(({ values }) => values),
    ', ',
  )}))`
}

// Saves work only: a step locks its rows and skips those that another process has locked, so two at a time do no harm.
const tryLockSql = sql`select pg_try_advisory_xact_lock(hashtextextended('upkeep', 0)) as taken`

/** Locks rows that can be removed: those that are to be erased, then the others. */
async function lock(
  transaction: Transaction,
  policy: RetentionPolicy,
  keys: readonly Key[],
): Promise<Pick<LockedRows, 'locked' | 'isErasing'>[]> {
  const { table, excluded, erasure } = policy
  const isErased = erasure ? sql`record.${identifier(erasure.column)} is not null` : raw('false')
  const isWanted = sql`organization_id = ${transaction.organization} and ${isOneOf(policy, keys)} and ${isExpired(policy)}`
  const [found] = erasure
    ? await transaction.query(
        sql`select true as found from ${identifier(table)} record where ${isWanted} and ${isErased} limit 1`,
      )
    : []
  if (found) await erasure?.lock(transaction)
  const rows = await transaction.query<{ key: Key; isErased: boolean }>(sql`
    select ${keyTextSql(policy)} as key, ${isErased} as "isErased" from ${identifier(table)} record
    where ${isWanted} ${excluded ? sql`and not (${excluded(transaction.organization)})` : raw('')}
    for update of record skip locked`)
  const groups = [true, false].map((isErasing) => ({
    locked: rows.filter((row) => row.isErased === isErasing).map(({ key }) => key),
    isErasing,
  }))
  // One that is to be erased only since the first statement is left to the next round.
  return groups.filter(({ locked, isErasing }) => locked.length > 0 && (found || !isErasing))
}

/** Handles at most `limit` rows, without waiting for locked ones. `isUnfinished`: some have too many events for one step. */
async function removeDependents(
  transaction: Transaction,
  { table, column, action, counts, purged, released }: Dependent,
  { locked, limit, erasure }: LockedRows & { erasure: Erasure | undefined },
): Promise<{ count: number; hasMore: boolean; isUnfinished?: true }> {
  const referring = sql`organization_id = ${transaction.organization}
    and ${identifier(column)} = any(${idsOf(locked)}::uuid[])`
  const free = sql`select id from ${identifier(table)} where ${referring} limit ${limit} for update skip locked`
  const chosen = purged ? (await transaction.query<{ id: string }>(free)).map(({ id }) => id) : undefined
  if (chosen && (await emptyNextEvents(transaction, chosen, erasure)))
    return { count: 0, hasMore: true, isUnfinished: true }
  const act =
    action === 'delete'
      ? sql`delete from ${identifier(table)}`
      : sql`update ${identifier(table)} set ${identifier(column)} = null`
  const change = sql`${act} where ${referring} and id = any(${chosen ? sql`${chosen}::uuid[]` : sql`array(${free})`})`
  const recorded = purged && removalEventsSql(transaction, purged, erasure ? 'erased' : 'purged')
  const counted = released ? releasedSql(transaction, change, released) : countRemoved(change, counts, recorded)
  const [changed] = await transaction.query<{ count: number }>(counted)
  if (chosen && chosen.length > 0) await erasure?.forgetRecords(transaction, chosen)
  const [left] = await transaction.query<{ found: boolean }>(
    sql`select exists (select from ${identifier(table)} where ${referring}) as found`,
  )
  return { count: changed?.count ?? 0, hasMore: left?.found ?? false }
}

/** Releases references and counts them; the feed says so of records that are not deleted. */
function releasedSql(transaction: Transaction, change: Sql, { resource, field }: ReleasedReference): Sql {
  const { singular, softDelete } = resource
  const changed = sql`select id, null::integer as revision, now() as at, '[]'::jsonb as changes,
      json_build_object(${field}::text, null)::text as "values" from released
      ${raw(softDelete ? 'where deleted_at is null' : '')}`
  return sql`
    with released as (${change} returning id${raw(softDelete ? ', deleted_at' : '')}),
    event as (${changeEventsSql(transaction, { singular }, 'updated', changed)})
    select count(*)::int as count from released`
}

async function remove(
  transaction: Transaction,
  policy: RetentionPolicy,
  { locked: keys, isErasing }: LockedRows,
): Promise<number> {
  const ids = idsOf(keys)
  policy.beforeRemoval?.(transaction, ids)
  if (policy.renderings) {
    const { table, column } = policy.renderings
    await transaction.query(sql`delete from ${identifier(table)}
      where organization_id = ${transaction.organization} and ${identifier(column)} = any(${ids}::uuid[])`)
  }
  const deletion = sql`delete from ${identifier(policy.table)}
    where organization_id = ${transaction.organization} and ${isOneOf(policy, keys)}`
  const [row] = await transaction.query<{ count: number }>(
    countRemoved(
      deletion,
      policy.counts,
      policy.purged && removalEventsSql(transaction, policy.purged, isErasing ? 'erased' : 'purged'),
    ),
  )
  return row?.count ?? 0
}

/** `recorded`: parts of the statement that record what happens to the rows in `removed`, by their `id`. */
function countRemoved(deletion: Sql, counts: RemovalCounts | undefined, recorded?: Sql): Sql {
  const columns = ['organization_id', ...(recorded ? ['id'] : []), ...(counts?.columns ?? [])].map(identifier)
  return sql`
    with removed as (${deletion} returning ${counts || recorded ? join(columns, ', ') : raw('1')})${recorded ?? raw('')}
    ${counts ? sql`, counted as (${counts.statement})` : raw('')}
    select count(*)::int as count from removed`
}
