import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/** All rows of an organization by table, as text, in a fixed order. */
export type Rows = Readonly<Record<string, readonly string[]>>

/** Columns that any request changes: the last use of a credential. */
const usageColumns = ['last_used_at', 'last_used_address']

/** Reads all rows of an organization, without the last use of credentials, and without wakeups, which workers change. */
export async function rowsOf(client: pg.Client, organizationId: string): Promise<Rows> {
  const { rows: tables } = await client.query<{ name: string }>(
    `select table_name as name from information_schema.tables
     where table_schema = current_schema() and table_type = 'BASE TABLE' and table_name <> 'wakeups'
     order by table_name`,
  )
  const all: Record<string, string[]> = {}
  for (const { name } of tables) {
    const { rows } = await client.query<{ text: string }>(
      `select text from (
         select (to_jsonb(read_row) - $2::text[])::text as text from ${contentOf(name)} read_row
       ) shown where position($1 in text) > 0 order by text`,
      [uuidOf(organizationId), name === 'sessions' ? [...usageColumns, 'address'] : usageColumns],
    )
    if (rows.length > 0) all[name] = rows.map(({ text }) => text)
  }
  if (Object.keys(all).length < 5) throw new Error('Expected rows of the organization in at least five tables.')
  return all
}

/**
 * Waits until all pushed rows of an organization are processed, its indexes are built, and its events have their places in
 * the feed and are read by the notifier; returns the number of rows in each state.
 */
export async function untilProcessed(client: pg.Client, organizationId: string): Promise<Record<string, number>> {
  for (const deadline = performance.now() + 120_000; ; await delay(20)) {
    const { rows } = await client.query<{ status: string; count: number }>(
      'select status, count(*)::int as count from import_rows where organization_id = $1 group by 1',
      [uuidOf(organizationId)],
    )
    const counts = Object.fromEntries(rows.map(({ status, count }) => [status, count]))
    const indexes = await client.query(`select from property_indexes where organization_id = $1 and state <> 'ready'`, [
      uuidOf(organizationId),
    ])
    const unread = await client.query(
      `select from events where organization_id = $1 and position is null
       union all select from event_feeds feed left join inbox_positions reached using (organization_id)
         where feed.organization_id = $1 and feed.last_position > coalesce(reached.position, 0)`,
      [uuidOf(organizationId)],
    )
    const isFinished = !['PENDING', 'PROCESSING', 'RETRYING'].some((status) => status in counts)
    if (isFinished && indexes.rows.length + unread.rows.length === 0) return counts
    if (performance.now() > deadline)
      throw new Error(`Rows or indexes are not finished in time: ${JSON.stringify(counts)}`)
  }
}

/**
 * The content of a table to compare. The service sums up changes of row counts after two minutes, and removes zeros.
 */
const contentOf = (table: string): string =>
  table === 'import_row_counts'
    ? `(select organization_id, import_id, status, sum(change) from import_row_counts group by 1, 2, 3
        having sum(change) <> 0)`
    : pg.escapeIdentifier(table)

/** The ids in the rows, as 32 hexadecimal digits. */
export function idsIn(rows: Rows): ReadonlySet<string> {
  const ids = Object.values(rows).flatMap((texts) => texts.flatMap((text) => idOf(text)))
  return new Set(ids.map((id) => id.replaceAll('-', '')))
}

function idOf(text: string): string[] {
  const { id } = JSON.parse(text) as { id?: unknown }
  return typeof id === 'string' ? [id] : []
}

/** The tables whose rows have changed. */
export const changedTables = (before: Rows, after: Rows): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )

const uuidOf = (id: string): string => id.replace(/^\w+_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/**
 * Errors in the log, each kind once: lines of level error or higher, and lines that are not JSON.
 */
export function problemsInLog(log: string): string[] {
  const lines = log
    .split('\n')
    .filter((line) => line !== '' && (line.startsWith('{') ? isErrorLine(line) : !isStartupMessage(line)))
  const kinds = new Map(lines.map((line) => [line.replace(/"(?:time|requestId|route)":"[^"]*"|\d+/g, ''), line]))
  return [...kinds.values()].map((line) => line.slice(0, 1000))
}

const isErrorLine = (line: string): boolean => /"level":[56]0/.test(line)

/** Messages that a start prints. */
const isStartupMessage = (line: string): boolean =>
  /^(?:Rapport listens on|There are no users yet|Or run this command|  )/.test(line)
