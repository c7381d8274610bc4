import pg from 'pg'

/** Every row of every table that belongs to an organization, as text, in a fixed order. */
export type Rows = Readonly<Record<string, readonly string[]>>

/** What changes by asking alone: when a credential was used last, and from where. */
const usageColumns = ['last_used_at', 'last_used_address']

/** Of all that an organization has; the notes of a credential's last use apart. */
export async function rowsOf(client: pg.Client, organizationId: string): Promise<Rows> {
  const { rows: tables } = await client.query<{ name: string }>(
    `select table_name as name from information_schema.tables
     where table_schema = current_schema() and table_type = 'BASE TABLE' order by table_name`,
  )
  const all: Record<string, string[]> = {}
  for (const { name } of tables) {
    const { rows } = await client.query<{ text: string }>(
      `select text from (
         select (to_jsonb(content) - $2::text[])::text as text from ${contentOf(name)} content
       ) shown where position($1 in text) > 0 order by text`,
      [uuidOf(organizationId), name === 'sessions' ? [...usageColumns, 'address'] : usageColumns],
    )
    if (rows.length > 0) all[name] = rows.map(({ text }) => text)
  }
  if (Object.keys(all).length < 5) throw new Error('An organization with records has rows in more tables.')
  return all
}

/** What counts of a table: changes of counts are summed up by the service after two minutes, and those that come to nothing go. */
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

/** Which tables' rows are not what they were. */
export const changedTables = (before: Rows, after: Rows): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )

const uuidOf = (id: string): string => id.replace(/^\w+_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** Faults of the service in its log, each kind once: lines of the level error or worse, and what is no line of a log. */
export function faultsInLog(log: string): string[] {
  const lines = log
    .split('\n')
    .filter((line) => line !== '' && (line.startsWith('{') ? isErrorLine(line) : !isStartupMessage(line)))
  const kinds = new Map(lines.map((line) => [line.replace(/"(?:time|requestId|route)":"[^"]*"|\d+/g, ''), line]))
  return [...kinds.values()].map((line) => line.slice(0, 1000))
}

const isErrorLine = (line: string): boolean => /"level":[56]0/.test(line)

/** What a start says on the terminal. */
const isStartupMessage = (line: string): boolean =>
  /^(?:Rapport listens on|There are no users yet|Or run this command|  )/.test(line)
