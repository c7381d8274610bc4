import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { namesCreatedBy, quoteIdentifier, readCatalog } from '../platform/backup/catalog.ts'
import { readMigrations } from '../platform/database/migrate.ts'
import { migrationsFolder } from '../release.ts'

/** What a start puts into an empty database by itself: of these tables, the rows that meet the condition. */
const createdByAnyStart: Readonly<Record<string, string>> = {
  schema_migrations: 'true',
  instance: 'true',
  signing_keys: 'true',
  // The link that the first owner is made with.
  one_time_tokens: `purpose = 'set-up'`,
}

/** What the database holds that a restore would replace, in words; undefined when it is nothing. */
export async function findExistingData(client: pg.Client): Promise<string | undefined> {
  const { tables } = await readCatalog(client, namesCreatedBy(await readMigrations(migrationsFolder)))
  const nonEmptyTables: string[] = []
  for (const { name } of tables) {
    const { rows } = await client.query<{ found: boolean }>(
      `select exists (select from ${quoteIdentifier(name)} where not (${createdByAnyStart[name] ?? 'false'})) as found`,
    )
    if (rows[0]?.found) nonEmptyTables.push(name)
  }
  return nonEmptyTables.length === 0 ? undefined : nonEmptyTables.join(', ').replaceAll('_', ' ')
}

/**
 * How many connections services hold in this database: their name is `rapport`, or what the address says. One of no
 * service at work, and without any for a minute, is not seen; nor does it harm, because each request asks the database.
 * Looks again before it answers with any: one that was just closed, by ourselves too, is listed for a moment.
 */
export async function countServiceConnections(client: pg.Client, connection: pg.ClientConfig): Promise<number> {
  const names = ['rapport', applicationName(connection)]
  for (let attempts = 1; ; attempts++) {
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and application_name = any($1)`,
      [names],
    )
    const count = rows[0]?.count ?? 0
    if (count === 0 || attempts === 5) return count
    await delay(200)
  }
}

/** The name that the address gives to connections. */
const applicationName = (connection: pg.ClientConfig): string => {
  const client = new pg.Client(connection) as unknown as { connectionParameters: { application_name?: string } }
  return client.connectionParameters.application_name ?? 'rapport'
}
