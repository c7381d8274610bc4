import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { namesCreatedBy, quoteIdentifier, readCatalog } from '../platform/operations/backup/catalog.ts'
import { readMigrations } from '../platform/database/migrate.ts'
import { migrationsFolder } from '../release.ts'

/** Rows that every start creates in an empty database: by table, the condition that they match. */
const createdByAnyStart: Readonly<Record<string, string>> = {
  schema_migrations: 'true',
  instance: 'true',
  signing_keys: 'true',
  // The link for creating the first owner.
  one_time_tokens: `purpose = 'set-up'`,
}

/** Names of the tables with data that a restore would replace; undefined if all are empty. */
export async function findExistingData(client: pg.Client): Promise<string | undefined> {
  const { tables } = await readCatalog(client, namesCreatedBy(await readMigrations(migrationsFolder)))
  const nonEmptyTables: string[] = []
  for (const { name } of tables) {
    const { rows } = await client.query(
      `select true from ${quoteIdentifier(name)} where not (${createdByAnyStart[name] ?? 'false'}) limit 1`,
    )
    if (rows.length > 0) nonEmptyTables.push(name)
  }
  return nonEmptyTables.length === 0 ? undefined : nonEmptyTables.join(', ').replaceAll('_', ' ')
}

/**
 * Number of connections of services to this database, by application name: `rapport`, or the name in the connection
 * string. Idle services whose connections have been closed are not found; they are harmless, because each request
 * checks the database. Checks repeatedly before it returns a positive number, because closed connections, even our own,
 * stay listed for a moment.
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

/** Application name in the connection string. */
const applicationName = (connection: pg.ClientConfig): string => {
  const client = new pg.Client(connection) as unknown as { connectionParameters: { application_name?: string } }
  return client.connectionParameters.application_name ?? 'rapport'
}
