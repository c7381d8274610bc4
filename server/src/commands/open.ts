import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Config } from '../config.ts'
import { assertSecretFits, loadSecret, type Secret } from '../platform/access/secret.ts'
import { createTokens, type Tokens } from '../platform/access/tokens.ts'
import { isSilence } from '../platform/database/cluster.ts'
import { checkDatabase } from '../platform/database/check.ts'
import { Database } from '../platform/database/database.ts'
import { openEmbedded } from '../platform/database/embedded.ts'
import { isConnectionLoss } from '../platform/database/failures.ts'
import type { Purpose } from '../platform/database/hold.ts'
import { migrate } from '../platform/database/migrate.ts'
import { findService } from '../platform/database/service-file.ts'
import { StartError } from '../platform/database/start-error.ts'
import { ApiError } from '../platform/http/errors.ts'
import { migrationsFolder, version } from '../release.ts'
import { intakePool } from '../resources/imports/intake.ts'
import { workPool } from '../resources/imports/work.ts'
import { Failure } from './command.ts'
import { awaitSchema } from './schema.ts'

export interface OpenOptions {
  config: Config
  purpose: Purpose
  log: (message: string) => void
}

/** The opened parts that a service or a command is made of. */
export interface Rapport {
  readonly config: Config
  readonly connection: pg.ClientConfig
  /** Connects when it is used, so it exists before the database answers. */
  readonly database: Database
  /** The pool that pushes have to themselves. */
  readonly intakeDatabase: Database
  /** The pool that the work on pushed rows has to itself. */
  readonly workDatabase: Database
  readonly secret: Secret
  readonly tokens: Tokens
  /** True once the database was checked, migrated and found to fit the secret. */
  isPrepared(): boolean
  /** Resolves when that is so, to the migrations applied; rejects with a `StartError` when the database is refused. */
  readonly prepared: Promise<string[]>
  /** Closes the connections, then the embedded database; the callers are gone by then. */
  close(): Promise<void>
}

/**
 * Opens the database that the configuration names. A command needs it now; a service with a database of one's own waits
 * for it as long as it takes, serving 503 meanwhile. Error: `StartError`.
 */
export async function openRapport(options: OpenOptions): Promise<Rapport> {
  const { config, purpose, log } = options
  const embedded = config.databaseUrl === undefined ? await openEmbedded(embeddedOptions(options)) : undefined
  const secret = await loadSecret({ dataFolder: config.dataFolder, given: config.secret }).catch(async (error) => {
    await embedded?.close()
    throw error
  })
  const connection = embedded?.connection ?? { connectionString: config.databaseUrl }
  const size = purpose === 'service' ? config.databaseConnections : 2
  const onIdleError = ({ message }: Error) => log(`The database: ${message}`)
  const database = new Database({ connection, size, takesTurns: true, onIdleError })
  const intakeDatabase = new Database({ connection, ...intakePool, onIdleError })
  const workDatabase = new Database({ connection, ...workPool(config), onIdleError })
  const attached = embedded?.attached ?? false
  const closing = new AbortController()
  let isPrepared = false
  const prepared = prepare({ ...options, connection, database, secret, attached, signal: closing.signal }).then(
    (applied) => {
      isPrepared = !closing.signal.aborted
      return applied
    },
  )
  prepared.catch(() => undefined)
  return {
    config,
    connection,
    database,
    intakeDatabase,
    workDatabase,
    secret,
    tokens: createTokens({ database, secret }),
    isPrepared: () => isPrepared,
    prepared,
    close: async () => {
      closing.abort()
      await prepared.catch(() => undefined)
      await Promise.all([database.close(), intakeDatabase.close(), workDatabase.close()])
      await embedded?.close()
    },
  }
}

/** Connections that a service holds at most, all its pools together. */
export const connectionsOf = (config: Config): number =>
  config.databaseConnections + intakePool.size + workPool(config).size

/** Opens, waits until the database is ready, runs `work`, closes again, whatever comes of it. */
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

export interface Addresses {
  baseUrl: string
  authUrl: string
  teamBaseUrl: string
}

/** Where the three families of routes are reached: the public address, else the running service's, else the configured. */
export async function addressesOf(config: Config): Promise<Addresses> {
  const running = (await findService(config.dataFolder))?.url
  const root = config.publicUrl ?? running ?? localUrl(config.host, config.port)
  return { baseUrl: `${root}/v5`, authUrl: config.authOrigin ?? root, teamBaseUrl: root }
}

/** An address that a caller on this machine can use; one that means "all of them" becomes the loopback. */
export function localUrl(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

const embeddedOptions = ({ config, purpose, log }: OpenOptions) => ({
  dataFolder: config.dataFolder,
  purpose,
  log,
  upgrade: { migrationsFolder, version: version() },
})

interface Preparation extends OpenOptions {
  connection: pg.ClientConfig
  database: Database
  secret: Secret
  /** A running service has the database and keeps its schema. */
  attached: boolean
  signal: AbortSignal
}

/** A refusal is final; a database that cannot be reached is tried again, but only by a service. */
async function prepare({
  connection,
  database,
  secret,
  attached,
  purpose,
  log,
  signal,
}: Preparation): Promise<string[]> {
  for (let pause = 250; !signal.aborted; pause = Math.min(pause * 2, 5000)) {
    try {
      await checkDatabase(connection)
      const applied = attached ? await awaitSchema(connection) : await applyMigrations(connection, log)
      await assertSecretFits(database, secret)
      return applied
    } catch (error) {
      if (error instanceof StartError || !isAway(error)) throw error
      const message = `The database cannot be reached: ${(error as Error).message || String(error)}.`
      if (purpose !== 'service') throw new StartError(message, { cause: error })
      log(`${message} Trying again.`)
    }
    await delay(pause, undefined, { signal }).catch(() => undefined)
  }
  return []
}

const applyMigrations = async (connection: pg.ClientConfig, log: (message: string) => void): Promise<string[]> =>
  (await migrate(connection, { folder: migrationsFolder, log })).applied

const isAway = (error: unknown): boolean =>
  isConnectionLoss(error) || isSilence(error) || (error instanceof ApiError && error.status === 503)
