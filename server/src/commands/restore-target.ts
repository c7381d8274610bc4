import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { namesMade, quoted, readCatalog } from '../platform/backup/catalog.ts'
import { readMigrations } from '../platform/database/migrate.ts'
import { migrationsFolder } from '../release.ts'

/** What a start puts into an empty database by itself: of these tables, the rows that meet the condition. */
const ofAnyStart: Readonly<Record<string, string>> = {
  schema_migrations: 'true',
  instance: 'true',
  signing_keys: 'true',
  // The link that the first owner is made with.
  one_time_tokens: `purpose = 'set-up'`,
}

/** What the database holds that a restore would replace, in words; undefined when it is nothing. */
export async function findHoldings(client: pg.Client): Promise<string | undefined> {
  const { tables } = await readCatalog(client, namesMade(await readMigrations(migrationsFolder)))
  const held: string[] = []
  for (const { name } of tables) {
    const { rows } = await client.query<{ found: boolean }>(
      `select exists (select from ${quoted(name)} where not (${ofAnyStart[name] ?? 'false'})) as found`,
    )
    if (rows[0]?.found) held.push(name)
  }
  return held.length === 0 ? undefined : held.join(', ').replaceAll('_', ' ')
}

/**
 * How many connections services hold in this database: their name is `rapport`, or what the address says. One of no
 * service at work, and without any for a minute, is not seen; nor does it harm, because each request asks the database.
 * Looks again before it answers with any: one that was just closed, by ourselves too, is listed for a moment.
 */
export async function findServices(client: pg.Client, connection: pg.ClientConfig): Promise<number> {
  const names = ['rapport', nameOf(connection)]
  for (let looks = 1; ; looks++) {
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and application_name = any($1)`,
      [names],
    )
    const count = rows[0]?.count ?? 0
    if (count === 0 || looks === 5) return count
    await delay(200)
  }
}

/** The name that the address gives to connections. */
const nameOf = (connection: pg.ClientConfig): string => {
  const client = new pg.Client(connection) as unknown as { connectionParameters: { application_name?: string } }
  return client.connectionParameters.application_name ?? 'rapport'
}
