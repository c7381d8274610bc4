import { storePendingEvents } from '../src/identity/audit-log/store.ts'
import { notify } from '../src/inbox/notifier-store.ts'
import type { Database } from '../src/platform/database/database.ts'
import { tablesByPlace } from '../src/places.ts'
import { identifier, join, sql } from '../src/platform/model/sql.ts'
import { until } from './processes.ts'

/** Every row of every table as text, without the last use of credentials, and without wakeups, which workers change. */
export async function dump(database: Database): Promise<Record<string, string[]>> {
  // Events that the service moves, places or reports, and mails that it composes, after a response would look like a change.
  await storePendingEvents(database)
  await notifyAll(database)
  await until('no mail waits to be composed', async () => {
    const waiting = sql`select id from mails where status = 'queued' and composed_at is null limit 1`
    return (await database.crossTenantQuery('check the database', waiting)).length === 0
  })
  const tables = await database.crossTenantQuery<{ name: string }>(
    'check the database',
    sql`select table_name as name from information_schema.tables
      where table_schema = current_schema() and table_type = 'BASE TABLE' and table_name <> 'wakeups' order by table_name`,
  )
  // A statement for each place instead of one for each table, because most callers dump again and again.
  const isInDirectory = ({ name }: { name: string }) => tablesByPlace.directory.some((table) => table === name)
  const places = [tables.filter(isInDirectory), tables.filter((table) => !isInDirectory(table))]
  const dumped = await Promise.all(places.map((place) => dumpTables(database, place)))
  return Object.fromEntries(dumped.flat().map(({ name, rows }) => [name, (rows ?? []).sort()]))
}

/** Places all events, and adds the entries of inboxes that follow from them. */
const notifyAll = (database: Database): Promise<void> =>
  until('the notifier has read every feed', async () => {
    const unplaced = sql`select distinct organization_id as id from events where "position" is null`
    const unread = sql`select feed.organization_id as id from event_feeds feed
      left join inbox_positions reached on reached.organization_id = feed.organization_id
      where feed.last_position > coalesce(reached."position", 0)`
    const found: { id: string }[] = []
    for (const statement of [unplaced, unread])
      found.push(...(await database.crossTenantQuery<{ id: string }>('check the database', statement)))
    // Another process may be at it.
    for (const { id } of found) await notify(database, id)
    return found.length === 0
  })

function dumpTables(
  database: Database,
  tables: readonly { name: string }[],
): Promise<{ name: string; rows: string[] | null }[]> {
  const dumps = tables.map(({ name }) => {
    // The last use of keys and sessions is recorded once a minute.
    const address = name === 'sessions' ? 'address' : 'last_used_address'
    return sql`select ${name}::text as name,
      json_agg((to_jsonb(dumped_row) - ${address}::text - 'last_used_at')::text) as rows from ${identifier(name)} dumped_row`
  })
  return database.crossTenantQuery('check the database', join(dumps, ' union all '))
}

/** The ids of all rows of an organization, as in public ids. */
export function idsIn(tables: Record<string, string[]>, organizationUuid: string): string[] {
  const own = Object.values(tables).flatMap((rows) => rows.filter((row) => row.includes(organizationUuid)))
  return own.flatMap((row) => {
    const { id } = JSON.parse(row) as { id?: string }
    return id === undefined ? [] : [id.replaceAll('-', '')]
  })
}
