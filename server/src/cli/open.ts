import type pg from 'pg'
import type { Config } from '../config.ts'
import { setBreachedPasswordsFile } from '../identity/access/breached-passwords.ts'
import { assertSecretMatches, type Secret } from '../platform/secret/secret.ts'
import { isConnectTimeout } from '../platform/database/connect.ts'
import { describeServerAge } from '../platform/database/server-age.ts'
import { checkDatabase } from '../platform/database/check.ts'
import { Database, type EngineName } from '../platform/database/database.ts'
import { engineNamed, findEngine } from '../platform/database/distribution/engines.ts'
import { assertTrustedFolder } from '../platform/operations/embedded-postgres/data-folder.ts'
import { openEmbedded } from '../platform/operations/embedded-postgres/embedded.ts'
import { pause } from '../platform/background/loop.ts'
import { isTransient } from '../platform/database/failures.ts'
import { problemOf } from '../platform/database/problems.ts'
import { migrate } from '../platform/database/migrate.ts'
import { StartError } from '../platform/database/start-error.ts'
import { ApiError } from '../platform/model/errors.ts'
import { tablesByPlace } from '../places.ts'
import { migrationsFolder, version } from '../release.ts'
import { intakePool } from '../intake/accept/intake.ts'
import { workPool } from '../intake/work/import-workers.ts'
import { Failure } from './command.ts'
import { currentSecret, hasSecret, withdrawSecret } from './replace-secret.ts'
import { awaitSchema } from './schema.ts'
import type { Purpose } from '../platform/operations/embedded-postgres/owner.ts'

export interface OpenOptions {
  config: Config
  purpose: Purpose
  log: (message: string) => void
  /** Reports problems that the operator should fix, although the service works. */
  warn?: (message: string) => void
  /** Reports what keeps the service from working. */
  logError?: (message: string) => void
  /** True to distribute existing records with Citus. */
  distributes?: boolean
}

/** The opened parts that a service or a command is made of. */
export interface Rapport extends Pools {
  readonly config: Config
  readonly connection: pg.ClientConfig
  readonly secret: Secret
  /** False if only this process uses the database; true if services may be running on it. */
  readonly isShared: boolean
  /** True once the database has been checked and migrated and matches the secret. */
  isPrepared(): boolean
  /** Known once it is prepared. */
  engine(): EngineName
  /** Resolves then, to the applied migrations. Rejects with a `StartError` if the database must not be used. */
  readonly prepared: Promise<string[]>
  /** Closes the connections, then the embedded database. All requests must have finished. */
  close(): Promise<void>
}

/**
 * Opens the configured database. A command needs it immediately; a service with its own PostgreSQL waits for it and
 * serves 503 meanwhile. Error: `StartError`.
 */
export async function openRapport(options: OpenOptions): Promise<Rapport> {
  const { config, purpose, log } = options
  await setBreachedPasswordsFile(config.breachedPasswordsFile)
  if (config.databaseUrl !== undefined) await assertTrustedFolder(config.dataFolder, purpose)
  const embedded = config.databaseUrl === undefined ? await openEmbedded(embeddedOptions(options)) : undefined
  const connection = embedded?.connection ?? { connectionString: config.databaseUrl }
  const hadSecret = await hasSecret(config)
  const secret = await currentSecret(config, connection).catch(async (error) => {
    await embedded?.close()
    throw error
  })
  const pools = openPools(purpose === 'service' ? config : { ...config, databaseConnections: 2 }, connection, log)
  const attached = embedded?.attached ?? false
  const closing = new AbortController()
  let isPrepared = false
  let engine: EngineName = 'single'
  const detectEngine = async (timeout?: number) => {
    engine = await findEngine(connection, timeout)
    pools.useEngine(engine)
  }
  // Requests may arrive before it is prepared. Later, an unreachable database is tried again.
  if (embedded === undefined) await detectEngine(1000).catch(() => undefined)
  const preparation = {
    ...options,
    connection,
    pools,
    secret,
    hadSecret,
    attached,
    detectEngine,
    signal: closing.signal,
  }
  const prepared = prepare(preparation).then((applied) => {
    isPrepared = !closing.signal.aborted
    return applied
  })
  prepared.catch(() => undefined)
  return {
    ...pools,
    config,
    connection,
    secret,
    isShared: embedded === undefined || attached,
    isPrepared: () => isPrepared,
    engine: () => engine,
    prepared,
    close: async () => {
      closing.abort()
      await prepared.catch(() => undefined)
      await pools.close()
      await embedded?.close()
    },
  }
}

/** The connection pools of one process. Connections are opened on first use. */
export interface Pools {
  readonly database: Database
  /** Pool reserved for pushes. */
  readonly intakeDatabase: Database
  /** Pool reserved for background work. */
  readonly workDatabase: Database
  useEngine(name: EngineName): void
  close(): Promise<void>
}

export function openPools(config: Config, connection: pg.ClientConfig, log: (message: string) => void): Pools {
  const onIdleError = ({ message }: Error) => log(`Database: ${message}`)
  const { databaseConnections: size, processes } = config
  // Besides them, some connections must be left when all unindexed queries run.
  const shared = size - config.costlyQueries < 4 ? 0 : 2
  const database = new Database({ connection, size, shared, limitConcurrency: true, processes, onIdleError })
  const intakeDatabase = new Database({ connection, ...intakePool, onIdleError })
  const workDatabase = new Database({ connection, ...workPool(config), onIdleError })
  const all = [database, intakeDatabase, workDatabase]
  const useEngine = (name: EngineName) =>
    all.forEach((pool) => pool.useEngine(engineNamed(name, tablesByPlace.organization)))
  const close = async () => void (await Promise.all(all.map((pool) => pool.close())))
  return { database, intakeDatabase, workDatabase, useEngine, close }
}

/** Configuration of one of several processes (from 0): together they use what the configuration allows. */
export function shareOf(config: Config, index: number): Config {
  const { processes, costlyQueries } = config
  const part = (total: number) => Math.floor(total / processes) + (index < total % processes ? 1 : 0)
  return {
    ...config,
    // All unindexed queries may run in one process and must not use up its connections.
    databaseConnections: Math.max(part(config.databaseConnections), costlyQueries + 1),
    importWorkers: part(config.importWorkers),
    reasoningConcurrency: part(config.reasoningConcurrency),
    webhookConcurrency: part(config.webhookConcurrency),
  }
}

/** Maximum number of connections of a service, in all its processes. */
export const connectionsOf = (config: Config): number =>
  Array.from({ length: config.processes }, (_, index) => shareOf(config, index))
    .map((share) => share.databaseConnections + intakePool.size + workPool(share).size)
    .reduce((sum, count) => sum + count, 0)

/** Opens the database, waits until it is ready, runs `work`, and always closes it. */
export async function withRapport<Result>(options: OpenOptions, work: (rapport: Rapport) => Promise<Result>) {
  const rapport = await openRapport(options)
  try {
    await rapport.prepared
    return await work(rapport).catch((error: unknown) => {
      throw error instanceof StartError || error instanceof ApiError
        ? new Failure(error.message, { cause: error })
        : error
    })
  } finally {
    await rapport.close()
  }
}

const embeddedOptions = ({ config, purpose, log, logError }: OpenOptions) => ({
  dataFolder: config.dataFolder,
  purpose,
  log,
  ...(logError && { logError }),
  connections: connectionsOf(config),
  binaries: config.postgresBinaries,
  upgrade: { migrationsFolder, version: version() },
})

interface Preparation extends OpenOptions {
  connection: pg.ClientConfig
  pools: Pools
  secret: Secret
  hadSecret: boolean
  /** A running service owns the database and migrates it. */
  attached: boolean
  detectEngine: () => Promise<void>
  signal: AbortSignal
}

/** Milliseconds. */
const firstPause = 250

/** An unusable database is a final error. An unreachable one is retried, but only by a service. */
async function prepare(options: Preparation): Promise<string[]> {
  const {
    config,
    connection,
    pools,
    secret,
    hadSecret,
    attached,
    detectEngine,
    purpose,
    log,
    warn,
    logError = log,
    signal,
  } = options
  let reported = ''
  for (let milliseconds = firstPause; !signal.aborted; milliseconds = Math.min(milliseconds * 2, 5000)) {
    try {
      if (milliseconds > firstPause) await detectEngine()
      for (const warning of await checkDatabase(connection, config.databaseDurability)) warn?.(warning)
      const age = await describeServerAge(connection)
      if (age !== undefined) warn?.(`${age}. See SECURITY.md.`)
      const applied = attached ? await awaitSchema(connection) : await applyMigrations(connection, options)
      await detectEngine()
      await assertSecretMatches(pools.database, secret).catch((error: unknown) =>
        hadSecret ? Promise.reject(error) : withdrawSecret(config, error),
      )
      return applied
    } catch (error) {
      if (error instanceof StartError || !(isTransient(error) || isConnectTimeout(error))) throw error
      const message = `The database cannot be reached: ${(error as Error).message || String(error)}.`
      if (purpose !== 'service') throw new StartError(message, { cause: error })
      const { kind = '', remedy = '' } = problemOf(error) ?? {}
      if (reported !== kind) logError(`${message} It is tried again until it works. ${remedy}`.trimEnd())
      reported = kind
    }
    await pause(milliseconds, signal)
  }
  return []
}

async function applyMigrations(connection: pg.ClientConfig, { log, distributes = false }: OpenOptions) {
  const organizationTables = tablesByPlace.organization
  return (await migrate(connection, { folder: migrationsFolder, log, organizationTables, distributes })).applied
}
