import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import type { Config } from '../config.ts'
import { findNextSecret } from '../platform/secret/next-secret.ts'
import { assertSecretMatches, loadSecret } from '../platform/secret/secret.ts'
import { checkDatabase, readCharacterSupport } from '../platform/database/check.ts'
import { Database } from '../platform/database/database.ts'
import { embeddedDatabaseExists } from '../platform/operations/embedded-postgres/data-folder.ts'
import { describeAge } from '../platform/database/security-rounds.ts'
import { openEmbedded } from '../platform/operations/embedded-postgres/embedded.ts'
import { connectionsOf } from './open.ts'
import { type Check, Examination, failedFinding, findingTimeout } from './examination.ts'
import { examineBackup } from './examine-backup.ts'
import { examineCluster } from './examine-cluster.ts'
import { examineMail } from './examine-mail.ts'
import { pushChecks } from './examine-pushes.ts'
import { examineNotes } from './examine-notes.ts'
import { maintenanceChecks, checkTransactions } from './examine-maintenance.ts'
import { examineLocks } from './examine-locks.ts'
import { examineChecksums, examineClocks } from './examine-storage.ts'
import { compareSchema } from './schema.ts'
import type { Finding } from './finding.ts'

/** Checks that the database is reachable, suitable, up to date and healthy. */
export async function examineDatabase(config: Config): Promise<Finding[]> {
  const { dataFolder, databaseUrl, postgresBinaries: binaries } = config
  if (databaseUrl === undefined && !(await embeddedDatabaseExists(dataFolder))) {
    return [{ name: 'database', state: 'note', message: 'none yet; the first start creates it' }]
  }
  try {
    if (databaseUrl !== undefined) return await examineConnection({ connectionString: databaseUrl }, config)
    const embedded = await openEmbedded({ dataFolder, purpose: 'rapport doctor', log: () => undefined, binaries })
    return await examineConnection(embedded.connection, config).finally(() => embedded.close())
  } catch (error) {
    return [failedFinding('database', error)]
  }
}

/** Checks a database with connections of its own. Each finding has its own timeout. */
export async function examineConnection(connection: pg.ClientConfig, config: Config): Promise<Finding[]> {
  const examination = new Examination(connection)
  const limited = { ...connection, statement_timeout: findingTimeout, query_timeout: findingTimeout + 1000 }
  try {
    if (!(await examination.connect())) return examination.findings
    await examination.run('database', (client) => readVersion(client, config))
    await examination.run('fitness', () => examineFitness(limited, config))
    const [schema] = await examination.run('schema', () => examineSchema(limited))
    // If its table is locked, the schema is assumed to be current.
    const hasSchema = schema?.state === 'ok' || examination.isStuck
    const cluster = await examination.run('cluster', examineCluster)
    if (hasSchema) await examination.run('secret', () => examineSecret(limited, config))
    for (const [name, check] of basicChecks(config)) await examination.run(name, check)
    // The checks of records need all workers.
    if (hasSchema && cluster.every(({ state }) => state !== 'wrong')) {
      for (const [name, check] of recordChecks(config)) await examination.run(name, check)
    }
    // Last: a session that blocked a check has done so for some seconds.
    await examination.run('locks', (client) => examineLocks(client, config.databaseUrl === undefined))
    return examination.findings
  } finally {
    examination.close()
  }
}

type NamedChecks = readonly (readonly [string, Check])[]

const basicChecks = (config: Config): NamedChecks => [
  ['connections', (client) => checkConnections(client, config)],
  ['checksums', examineChecksums],
  ['clocks', examineClocks],
  ['transactions', checkTransactions],
  ['indexes', checkIndexes],
  ['letters', checkCharacters],
]

const recordChecks = (config: Config): NamedChecks => [
  ...maintenanceChecks(config),
  ['mail', (client) => examineMail(client, config)],
  ['notes', (client) => examineNotes(client, config)],
  ...pushChecks,
  ['backup', examineBackup],
]

async function readVersion(client: pg.Client, config: Config): Promise<Finding[]> {
  const { rows } = await client.query<{ version: string }>(`select current_setting('server_version') as version`)
  const version = rows[0]?.version ?? ''
  const age = describeAge(version, new Date())
  return [
    { name: 'database', state: 'ok', message: `PostgreSQL ${version}` },
    ...(age === undefined ? [] : [outdatedFinding(age, config)]),
  ]
}

/** Only a note: an old version does not justify an alarm at night. */
const outdatedFinding = (message: string, { databaseUrl }: Config): Finding => ({
  name: 'postgresql',
  state: 'note',
  message,
  advice:
    databaseUrl === undefined
      ? 'Only programs of this machine can reach it, through a socket. Set POSTGRES_BINARIES to a PostgreSQL that your distribution updates; SECURITY.md explains when.'
      : 'Update PostgreSQL.',
})

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
