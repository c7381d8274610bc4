import { readdir } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { sqlState } from '../platform/database/failures.ts'
import { isFromBeforeFirstRelease, unreleasedDatabase } from '../platform/database/first-release.ts'
import { StartError } from '../platform/database/start-error.ts'
import { migrationsFolder } from '../release.ts'

/** Migrations that the database lacks, and those that this code does not know. */
export interface SchemaDifference {
  missing: string[]
  newer: string[]
}

const undefinedTable = '42P01'

/** Compares the database with the migrations of this code, without changing anything. Error: `StartError`. */
export async function compareSchema(connection: pg.ClientConfig): Promise<SchemaDifference> {
  const known = (await readdir(migrationsFolder)).filter((file) => file.endsWith('.sql')).sort()
  const applied = await appliedMigrations(connection)
  if (isFromBeforeFirstRelease(applied, known)) throw new StartError(unreleasedDatabase)
  return {
    missing: known.filter((file) => !applied.includes(file)),
    newer: applied.filter((file) => !known.includes(file)),
  }
}

/**
 * Waits until the running service has migrated the database to the schema of this code. A command never migrates under
 * a service, which may be older, so it applies none. Error: `StartError`.
 */
export async function awaitSchema(connection: pg.ClientConfig, timeout = 30_000): Promise<[]> {
  const deadline = performance.now() + timeout
  for (;;) {
    const { missing, newer } = await compareSchema(connection)
    if (newer.length > 0)
      throw new StartError('The running service is newer than this code. Use the service’s version.')
    if (missing.length === 0) return []
    if (performance.now() > deadline) {
      throw new StartError(
        `The running service is older than this code, which needs ${missing.join(', ')}. Restart it.`,
      )
    }
    await delay(200)
  }
}

async function appliedMigrations(connection: pg.ClientConfig): Promise<string[]> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 5000 })
  client.on('error', () => undefined)
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string }>('select name from schema_migrations order by version')
    return rows.map(({ name }) => name)
  } catch (error) {
    if (sqlState(error) === undefinedTable) return []
    throw error
  } finally {
    await client.end()
  }
}
