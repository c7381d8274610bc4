import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import type { Config } from '../config.ts'
import { findNextSecret } from '../platform/secret/next-secret.ts'
import { assertSecretMatches, loadSecret } from '../platform/secret/secret.ts'
import { checkDatabase, readCharacterSupport } from '../platform/database/check.ts'
import { Database } from '../platform/database/database.ts'
import { embeddedDatabaseExists } from '../platform/embedded-postgres/data-folder.ts'
import { openEmbedded } from '../platform/embedded-postgres/embedded.ts'
import { StartError } from '../platform/database/start-error.ts'
import type { Finding } from './doctor.ts'
import { connectionsOf } from './open.ts'
import { examineBackup } from './examine-backup.ts'
import { examineCluster } from './examine-cluster.ts'
import { examineMail } from './examine-mail.ts'
import { examinePushes } from './examine-pushes.ts'
import { examineNotes } from './examine-notes.ts'
import { examineMaintenance, checkTransactions } from './examine-maintenance.ts'
import { compareSchema } from './schema.ts'

/** Checks that the database is reachable, suitable, up to date and healthy. */
export async function examineDatabase(config: Config): Promise<Finding[]> {
  const { dataFolder, databaseUrl } = config
  if (databaseUrl === undefined && !(await embeddedDatabaseExists(dataFolder))) {
    return [{ name: 'database', state: 'note', message: 'none yet; the first start creates it' }]
  }
  try {
    if (databaseUrl !== undefined) return await examineConnection({ connectionString: databaseUrl }, config)
    const embedded = await openEmbedded({ dataFolder, purpose: 'rapport doctor', log: () => undefined })
    return await examineConnection(embedded.connection, config).finally(() => embedded.close())
  } catch (error) {
    return [failedFinding('database', error)]
  }
}

/** Checks a database with connections of its own, which have timeouts. */
export async function examineConnection(connection: pg.ClientConfig, config: Config): Promise<Finding[]> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 5000, statement_timeout: 10_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
  } catch (error) {
    const advice = 'Check that it is running and that DATABASE_URL is right.'
    return [{ name: 'database', state: 'wrong', message: `cannot be reached: ${messageOf(error)}`, advice }]
  }
  try {
    const { rows } = await client.query<{ version: string }>(`select current_setting('server_version') as version`)
    const found: Finding[] = [{ name: 'database', state: 'ok', message: `PostgreSQL ${rows[0]?.version}` }]
    found.push(...(await examineFitness(connection, config)))
    const schema = await examineSchema(connection)
    found.push(schema)
    const cluster = await examineCluster(client)
    found.push(...cluster)
    if (schema.state === 'ok') found.push(await examineSecret(connection, config))
    for (const check of [checkConnections, checkClock, checkTransactions, checkIndexes, checkCharacters]) {
      found.push(await check(client, config))
    }
    // The checks of records need all workers.
    if (schema.state === 'ok' && cluster.every(({ state }) => state !== 'wrong'))
      found.push(
        ...(await examineMaintenance(client, config)),
        await examineMail(client, config),
        await examineNotes(client, config),
        ...(await examinePushes(client)),
        await examineBackup(client),
      )
    return found
  } finally {
    await client.end()
  }
}

async function examineFitness(connection: pg.ClientConfig, config: Config): Promise<Finding[]> {
  const name = 'fitness'
  try {
    const warnings = await checkDatabase(connection, config.databaseDurability)
    const message = 'version, encoding, ctype, extensions and durability'
    return [
      { name, state: 'ok', message },
      ...warnings.map((text): Finding => ({ name, state: 'note', message: text })),
    ]
  } catch (error) {
    return [failedFinding(name, error)]
  }
}

async function examineSchema(connection: pg.ClientConfig): Promise<Finding> {
  const name = 'schema'
  const { missing, newer } = await compareSchema(connection)
  if (newer.length > 0) {
    const message = `newer than this code: it includes ${newer.join(', ')}`
    return { name, state: 'wrong', message, advice: 'Start the newer version of Rapport.' }
  }
  if (missing.length === 0) return { name, state: 'ok', message: 'up to date' }
  const advice = 'Start the service, or run `rapport migrate`.'
  return { name, state: 'note', message: `pending migrations: ${missing.join(', ')}`, advice }
}

async function examineSecret(connection: pg.ClientConfig, { dataFolder, secret: given }: Config): Promise<Finding> {
  const name = 'secret'
  if (given === undefined && !(await stat(join(dataFolder, 'secret')).catch(() => undefined))) {
    const message = `neither SECRET nor the file ${join(dataFolder, 'secret')} exists`
    return { name, state: 'wrong', message, advice: 'Restore the secret with which this database was first started.' }
  }
  if (given === undefined && (await findNextSecret(dataFolder)) !== undefined) {
    const advice = 'Start the service, which finishes the replacement, or run `rapport secret replace` again.'
    return { name, state: 'note', message: 'a replacement of the secret was interrupted', advice }
  }
  const database = new Database({ connection, size: 1 })
  const check = async () => assertSecretMatches(database, await loadSecret({ dataFolder, given }))
  return attempt(name, check, 'fits this database').finally(() => database.close())
}

async function checkConnections(client: pg.Client, config: Config): Promise<Finding> {
  const { rows } = await client.query<{ max: number; used: number; own: number }>(
    `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as max,
            count(*)::int as used, count(*) filter (where application_name = 'rapport')::int as own
     from pg_stat_activity where backend_type = 'client backend'`,
  )
  const { max = 0, used = 0, own = 0 } = rows[0] ?? {}
  const needed = connectionsOf(config)
  const message = `${used} of ${max} in use, ${own} by services; a service can use ${needed}`
  if (used - own + needed <= max) return { name: 'connections', state: 'ok', message }
  const advice =
    'Increase max_connections of the server, or decrease PROCESSES, DATABASE_CONNECTIONS, IMPORT_WORKERS or REASONING_CONCURRENCY.'
  return { name: 'connections', state: 'wrong', message, advice }
}

/** Milliseconds by which the clocks may differ before tokens and timestamps become wrong. */
const clockTolerance = 2000

async function checkClock(client: pg.Client): Promise<Finding> {
  const before = Date.now()
  const { rows } = await client.query<{ now: number }>('select extract(epoch from clock_timestamp()) * 1000 as now')
  const skew = Math.round(Number(rows[0]?.now) - (before + Date.now()) / 2)
  const message = `the database's clock is ${Math.abs(skew)} ms ${skew < 0 ? 'behind' : 'ahead'}`
  if (Math.abs(skew) <= clockTolerance) return { name: 'clocks', state: 'ok', message }
  return { name: 'clocks', state: 'wrong', message, advice: 'Synchronize the clocks of both machines with NTP.' }
}

async function checkIndexes(client: pg.Client): Promise<Finding> {
  const { rows } = await client.query<{ name: string }>(
    `select indexrelid::regclass::text as name from pg_index
     where not indisvalid and not exists (select from pg_stat_progress_create_index running where running.index_relid = indexrelid)
     order by 1`,
  )
  if (rows.length === 0) return { name: 'indexes', state: 'ok', message: 'all are valid' }
  const names = rows.map(({ name }) => name).join(', ')
  const advice = rows.map(({ name }) => `reindex index concurrently ${name};`).join(' ')
  return { name: 'indexes', state: 'wrong', message: `invalid, so not used: ${names}`, advice }
}

/**
 * Checks that searches work beyond ASCII: what the ctype of the database makes of other letters, and how `fold` folds
 * them.
 */
async function checkCharacters(client: pg.Client): Promise<Finding> {
  const name = 'letters'
  try {
    const letters = await readCharacterSupport(client)
    const { rows } = await client.query<{ folded: string }>(`select fold('ÉŁΩЖ') as folded`)
    const message = `ctype ${letters?.ctype}: ${letters?.trigrams} trigrams of two Cyrillic letters, ÉŁΩЖ folds to ${rows[0]?.folded}`
    if (letters?.trigrams && rows[0]?.folded === 'elωж') return { name, state: 'ok', message }
    return { name, state: 'wrong', message, advice: `Searches beyond ASCII are slow or miss records. ${moveAdvice}` }
  } catch {
    return { name, state: 'note', message: 'unknown until the schema exists' }
  }
}

const moveAdvice = `Create a new database (create database … template template0 encoding 'UTF8' locale 'C.UTF-8') and restore a backup into it.`

async function attempt(name: string, check: () => Promise<unknown>, message: string): Promise<Finding> {
  try {
    await check()
    return { name, state: 'ok', message }
  } catch (error) {
    return failedFinding(name, error)
  }
}

const failedFinding = (name: string, error: unknown): Finding => ({
  name,
  state: 'wrong',
  message: error instanceof StartError ? error.message : messageOf(error),
})

/** A failed connection to several addresses has an empty message of its own. */
const messageOf = (error: unknown): string =>
  error instanceof AggregateError
    ? error.errors.map(messageOf).join('; ')
    : error instanceof Error
      ? error.message
      : String(error)
