import { serviceActor } from '../model/caller.ts'
import type { Database, Transaction } from '../database/database.ts'
import { identifier, join, raw, type Sql, sql } from '../model/sql.ts'

/** Rows of a table that are kept for a while only. */
export interface RetentionPolicy {
  /** What metrics, the log and the doctor call them. */
  name: string
  table: string
  /** What tells one row of an organization from the others: columns, with their types. */
  key: Readonly<Record<string, string>>
  /** The column that says since when a row is not needed; an index begins with it. */
  since: string
  /** Seconds that it is kept after that. */
  ttlSeconds: number
  /** The row is a person's, or nobody's: its table knows no organization. */
  isPersonal?: true
  /** What keeps a row although its time is over: a condition on `record`. */
  excluded?: (organization: Sql) => Sql
  /** Rows that are in its way because they refer to it, and may be many. */
  dependents?: readonly Dependent[]
  /** Takes these rows, which are locked, away in a way of its own; resolves to how many records that were. */
  discard?: (transaction: Transaction, keys: readonly Key[]) => Promise<number>
}

/**
 * Rows that refer to a perishable one by `column`: they go with it, or let go of it. Their `id` need not tell them apart: a
 * person's occurs in each of their teams.
 */
export interface Dependent {
  name: string
  table: string
  column: string
  action: 'delete' | 'release'
}

/** The values of a perishable's key, as text. */
export type Key = readonly string[]

/** A row whose time is over. */
export interface ExpiredRow {
  organizationId: string
  since: string
  key: Key
}

/** Where to go on, and how far. */
export interface Batch {
  limit: number
  after: ExpiredRow | undefined
}

/** The rows whose time is over, the first one first, of whatever organization; those behind `after`. */
export const findExpired = (database: Database, policy: RetentionPolicy, batch: Batch): Promise<ExpiredRow[]> =>
  database.crossTenantQuery<ExpiredRow>('purge what is no longer kept', expiredSql(policy, batch))

/** What `findDue` asks. */
export function expiredSql(policy: RetentionPolicy, { limit, after }: Batch): Sql {
  const { table, since, key, isPersonal } = policy
  const organization = raw(isPersonal ? `''` : 'organization_id')
  const place = [since, ...Object.keys(key)].map(identifier)
  const types = ['timestamptz', ...Object.values(key)]
  const values = [after?.since, ...(after?.key ?? [])].map((value, index) => sql`${value}::${raw(types[index] ?? '')}`)
  return sql`select ${organization} as "organizationId", ${identifier(since)}::text as since, ${keyTextSql(policy)} as key
    from ${identifier(table)}
    where ${isExpired(policy)} ${after ? sql`and (${join(place, ', ')}) > (${join(values, ', ')})` : raw('')}
    order by ${join(place, ', ')} limit ${limit}`
}

/** How many rows went, by name; `isPart` when more of what depends on them is left. Undefined: it is another's turn. */
export type PurgeStep = { removed: Readonly<Record<string, number>>; isPartial: boolean } | undefined

/** Is the row all there is: nothing goes with it, and nothing refers to it? */
export const hasNoDependents = ({ dependents = [], discard }: RetentionPolicy): boolean =>
  dependents.length === 0 && !discard

/**
 * Takes plain rows away, whosever they are, in a short transaction of one process at a time. One by one of their
 * organizations would take a transaction for nearly each row where there are many organizations.
 */
export async function purgeWithoutDependents(
  database: Database,
  policy: RetentionPolicy,
  expired: readonly ExpiredRow[],
): Promise<PurgeStep> {
  const { table, key, excluded, name, isPersonal } = policy
  const whole = isPersonal ? policy : { ...policy, key: { organization_id: 'uuid', ...key } }
  const keys = expired.map((one) => (isPersonal ? one.key : [one.organizationId, ...one.key]))
  return database.crossTenantTransaction('purge what is no longer kept', async (spanning) => {
    const [turn] = await spanning.query<{ taken: boolean }>(tryLockSql)
    if (!turn?.taken) return undefined
    const removed = await spanning.query(sql`
      delete from ${identifier(table)} record
      where ${isOneOf(whole, keys)} and ${isExpired(policy)}
      ${excluded ? sql`and not (${excluded(raw('record.organization_id'))})` : raw('')} returning 1`)
    return { removed: { [name]: removed.length }, isPartial: false }
  })
}

/**
 * Takes rows of one organization away, in a short transaction of one process at a time: at most `most` of each kind. What
 * someone else has locked, and what has come back since it was found, stays.
 */
export async function purge(
  database: Database,
  policy: RetentionPolicy,
  { organizationId, keys, limit }: { organizationId: string; keys: readonly Key[]; limit: number },
): Promise<PurgeStep> {
  return database.transaction(serviceActor('upkeep', organizationId), async (transaction) => {
    const [turn] = await transaction.query<{ taken: boolean }>(
      sql`select turn.taken, ${transaction.organization} as organization from (${tryLockSql}) turn`,
    )
    if (!turn?.taken) return undefined
    const locked = await lock(transaction, policy, keys)
    const removed: Record<string, number> = {}
    if (locked.length === 0) return { removed, isPartial: false }
    for (const dependent of policy.dependents ?? []) {
      const { count, hasMore } = await removeDependents(transaction, dependent, { locked, limit })
      if (dependent.action === 'delete') removed[dependent.name] = count
      // Those that someone holds are left to the next round.
      if (hasMore) return { removed, isPartial: count > 0 }
    }
    removed[policy.name] = policy.discard
      ? await policy.discard(transaction, locked)
      : await remove(transaction, policy, locked)
    return { removed, isPartial: false }
  })
}

/** How long the row that waits longest has been waiting to be purged, and how many wait, up to 10,001. */
export const overdueSql = (policy: RetentionPolicy): Sql => {
  const { table, since, ttlSeconds } = policy
  const expired = sql`select ${identifier(since)} as since from ${identifier(table)} record
    where ${isExpired(policy)} order by 1 limit 10001`
  return sql`select count(*)::int as count,
      coalesce(extract(epoch from now() - min(since)) - ${raw(String(ttlSeconds))}, 0)::float8 as seconds
    from (${expired}) due`
}

const isExpired = ({ since, ttlSeconds }: RetentionPolicy): Sql =>
  sql`${identifier(since)} <= now() - make_interval(secs => ${raw(String(ttlSeconds))})`

const keyTextSql = ({ key }: RetentionPolicy): Sql =>
  sql`array[${join(
    Object.keys(key).map((name) => sql`${identifier(name)}::text`),
    ', ',
  )}]`

/** Is the row's key one of these? */
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

const tryLockSql = sql`select pg_try_advisory_xact_lock(hashtextextended('upkeep', 0)) as taken`

async function lock(transaction: Transaction, policy: RetentionPolicy, keys: readonly Key[]): Promise<Key[]> {
  const { table, excluded } = policy
  const rows = await transaction.query<{ key: Key }>(sql`
    select ${keyTextSql(policy)} as key from ${identifier(table)} record
    where organization_id = ${transaction.organization} and ${isOneOf(policy, keys)} and ${isExpired(policy)}
    ${excluded ? sql`and not (${excluded(transaction.organization)})` : raw('')}
    for update of record skip locked`)
  return rows.map(({ key }) => key)
}

/** At most `most` of them, and none that someone else holds: a purge waits for nobody. Are any left? */
async function removeDependents(
  transaction: Transaction,
  { table, column, action }: Dependent,
  { locked, limit }: { locked: readonly Key[]; limit: number },
): Promise<{ count: number; hasMore: boolean }> {
  const referring = sql`organization_id = ${transaction.organization}
    and ${identifier(column)} = any(${locked.map(([id]) => id)}::uuid[])`
  const free = sql`array(
    select id from ${identifier(table)} where ${referring} limit ${limit} for update skip locked)`
  const act =
    action === 'delete'
      ? sql`delete from ${identifier(table)}`
      : sql`update ${identifier(table)} set ${identifier(column)} = null`
  const rows = await transaction.query(sql`${act} where ${referring} and id = any(${free}) returning id`)
  const [left] = await transaction.query<{ found: boolean }>(
    sql`select exists (select from ${identifier(table)} where ${referring}) as found`,
  )
  return { count: rows.length, hasMore: left?.found ?? false }
}

async function remove(transaction: Transaction, policy: RetentionPolicy, keys: readonly Key[]): Promise<number> {
  const [row] = await transaction.query<{ count: number }>(sql`
    with gone as (
      delete from ${identifier(policy.table)}
      where organization_id = ${transaction.organization} and ${isOneOf(policy, keys)} returning 1)
    select count(*)::int as count from gone`)
  return row?.count ?? 0
}
