import { serviceActor } from '../model/caller.ts'
import type { Database, Transaction } from '../database/database.ts'
import { identifier, join, raw, type Sql, sql } from '../model/sql.ts'

/** Rows of a table that are kept for a while only. */
export interface Perishable {
  /** What metrics, the log and the doctor call them. */
  name: string
  table: string
  /** What tells one row of an organization from the others: columns, with their types. */
  key: Readonly<Record<string, string>>
  /** The column that says since when a row is not needed; an index begins with it. */
  since: string
  /** Seconds that it is kept after that. */
  keptSeconds: number
  /** The row is a person's, or nobody's: its table knows no organization. */
  isPersonal?: true
  /** What keeps a row although its time is over: a condition on `record`. */
  spared?: (organization: Sql) => Sql
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
export interface Due {
  organizationId: string
  since: string
  key: Key
}

/** Where to go on, and how far. */
export interface Span {
  most: number
  after: Due | undefined
}

/** The rows whose time is over, the first one first, of whatever organization; those behind `after`. */
export const findDue = (database: Database, perishable: Perishable, span: Span): Promise<Due[]> =>
  database.spanning<Due>('purge what is no longer kept', dueSql(perishable, span))

/** What `findDue` asks. */
export function dueSql(perishable: Perishable, { most, after }: Span): Sql {
  const { table, since, key, isPersonal } = perishable
  const organization = raw(isPersonal ? `''` : 'organization_id')
  const place = [since, ...Object.keys(key)].map(identifier)
  const types = ['timestamptz', ...Object.values(key)]
  const values = [after?.since, ...(after?.key ?? [])].map((value, index) => sql`${value}::${raw(types[index] ?? '')}`)
  return sql`select ${organization} as "organizationId", ${identifier(since)}::text as since, ${keyText(perishable)} as key
    from ${identifier(table)}
    where ${isDue(perishable)} ${after ? sql`and (${join(place, ', ')}) > (${join(values, ', ')})` : raw('')}
    order by ${join(place, ', ')} limit ${most}`
}

/** How many rows went, by name; `isPart` when more of what depends on them is left. Undefined: it is another's turn. */
export type Step = { gone: Readonly<Record<string, number>>; isPart: boolean } | undefined

/** Is the row all there is: nothing goes with it, and nothing refers to it? */
export const isPlain = ({ dependents = [], discard }: Perishable): boolean => dependents.length === 0 && !discard

/**
 * Takes plain rows away, whosever they are, in a short transaction of one process at a time. One by one of their
 * organizations would take a transaction for nearly each row where there are many organizations.
 */
export async function purgePlain(database: Database, perishable: Perishable, due: readonly Due[]): Promise<Step> {
  const { table, key, spared, name, isPersonal } = perishable
  const whole = isPersonal ? perishable : { ...perishable, key: { organization_id: 'uuid', ...key } }
  const keys = due.map((one) => (isPersonal ? one.key : [one.organizationId, ...one.key]))
  return database.spanningTransaction('purge what is no longer kept', async (spanning) => {
    const [turn] = await spanning.query<{ taken: boolean }>(tryTurnSql)
    if (!turn?.taken) return undefined
    const gone = await spanning.query(sql`
      delete from ${identifier(table)} record
      where ${isOneOf(whole, keys)} and ${isDue(perishable)}
      ${spared ? sql`and not (${spared(raw('record.organization_id'))})` : raw('')} returning 1`)
    return { gone: { [name]: gone.length }, isPart: false }
  })
}

/**
 * Takes rows of one organization away, in a short transaction of one process at a time: at most `most` of each kind. What
 * someone else has locked, and what has come back since it was found, stays.
 */
export async function purge(
  database: Database,
  perishable: Perishable,
  { organizationId, keys, most }: { organizationId: string; keys: readonly Key[]; most: number },
): Promise<Step> {
  return database.transaction(serviceActor('upkeep', organizationId), async (transaction) => {
    const [turn] = await transaction.query<{ taken: boolean }>(
      sql`select turn.taken, ${transaction.organization} as organization from (${tryTurnSql}) turn`,
    )
    if (!turn?.taken) return undefined
    const locked = await lock(transaction, perishable, keys)
    const gone: Record<string, number> = {}
    if (locked.length === 0) return { gone, isPart: false }
    for (const dependent of perishable.dependents ?? []) {
      const { count, isLeft } = await removeDependents(transaction, dependent, { locked, most })
      if (dependent.action === 'delete') gone[dependent.name] = count
      // Those that someone holds are left to the next round.
      if (isLeft) return { gone, isPart: count > 0 }
    }
    gone[perishable.name] = perishable.discard
      ? await perishable.discard(transaction, locked)
      : await remove(transaction, perishable, locked)
    return { gone, isPart: false }
  })
}

/** How long the row that waits longest has been waiting to be purged, and how many wait, up to 10,001. */
export const overdueSql = (perishable: Perishable): Sql => {
  const { table, since, keptSeconds } = perishable
  const due = sql`select ${identifier(since)} as since from ${identifier(table)} record
    where ${isDue(perishable)} order by 1 limit 10001`
  return sql`select count(*)::int as count,
      coalesce(extract(epoch from now() - min(since)) - ${raw(String(keptSeconds))}, 0)::float8 as seconds
    from (${due}) due`
}

const isDue = ({ since, keptSeconds }: Perishable): Sql =>
  sql`${identifier(since)} <= now() - make_interval(secs => ${raw(String(keptSeconds))})`

const keyText = ({ key }: Perishable): Sql =>
  sql`array[${join(
    Object.keys(key).map((name) => sql`${identifier(name)}::text`),
    ', ',
  )}]`

/** Is the row's key one of these? */
function isOneOf({ key }: Perishable, keys: readonly Key[]): Sql {
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

const tryTurnSql = sql`select pg_try_advisory_xact_lock(hashtextextended('upkeep', 0)) as taken`

async function lock(transaction: Transaction, perishable: Perishable, keys: readonly Key[]): Promise<Key[]> {
  const { table, spared } = perishable
  const rows = await transaction.query<{ key: Key }>(sql`
    select ${keyText(perishable)} as key from ${identifier(table)} record
    where organization_id = ${transaction.organization} and ${isOneOf(perishable, keys)} and ${isDue(perishable)}
    ${spared ? sql`and not (${spared(transaction.organization)})` : raw('')}
    for update of record skip locked`)
  return rows.map(({ key }) => key)
}

/** At most `most` of them, and none that someone else holds: a purge waits for nobody. Are any left? */
async function removeDependents(
  transaction: Transaction,
  { table, column, action }: Dependent,
  { locked, most }: { locked: readonly Key[]; most: number },
): Promise<{ count: number; isLeft: boolean }> {
  const referring = sql`organization_id = ${transaction.organization}
    and ${identifier(column)} = any(${locked.map(([id]) => id)}::uuid[])`
  const free = sql`array(
    select id from ${identifier(table)} where ${referring} limit ${most} for update skip locked)`
  const act =
    action === 'delete'
      ? sql`delete from ${identifier(table)}`
      : sql`update ${identifier(table)} set ${identifier(column)} = null`
  const rows = await transaction.query(sql`${act} where ${referring} and id = any(${free}) returning id`)
  const [left] = await transaction.query<{ found: boolean }>(
    sql`select exists (select from ${identifier(table)} where ${referring}) as found`,
  )
  return { count: rows.length, isLeft: left?.found ?? false }
}

async function remove(transaction: Transaction, perishable: Perishable, keys: readonly Key[]): Promise<number> {
  const [row] = await transaction.query<{ count: number }>(sql`
    with gone as (
      delete from ${identifier(perishable.table)}
      where organization_id = ${transaction.organization} and ${isOneOf(perishable, keys)} returning 1)
    select count(*)::int as count from gone`)
  return row?.count ?? 0
}
