import { stat } from 'node:fs/promises'
import type pg from 'pg'
import { pause } from '../../background/loop.ts'
import { rootsFolder as usualRootsFolder } from './binaries.ts'
import { type DataPaths, prepareDataFolder } from './data-folder.ts'
import { rotateLog, maxConnections, type UpgradeOptions } from './embedded-server.ts'
import { type DatabaseLock, type DatabaseLockOptions, acquireDatabaseLock } from './database-lock.ts'
import { livePostmaster, stopPostmaster } from './postmaster.ts'
import { formerUser, serverAccount } from './server-account.ts'
import { serviceConnection } from './service-role.ts'
import { isOutdated, moveToNewCluster } from './upgrade.ts'
import type { Purpose } from './owner.ts'

export interface EmbeddedOptions {
  dataFolder: string
  purpose: Purpose
  log: (message: string) => void
  logError?: (message: string) => void
  /** Milliseconds to wait for a command that uses the database (default 30 s). */
  wait?: number
  /** Additional settings for postgresql.conf, for tests that need no durability. */
  settings?: Record<string, string | number>
  connections?: number
  /** Where root puts what the unprivileged account cannot reach otherwise. */
  rootsFolder?: string
  upgrade?: UpgradeOptions
  /** The folder of the PostgreSQL to use instead of the included one (POSTGRES_BINARIES). */
  binaries?: string | undefined
  withoutUpgrade?: boolean
  /** Ends the wait, and interrupts a move. */
  signal?: AbortSignal
}

export interface Embedded {
  readonly connection: pg.ClientConfig
  /** True if a running service owns the server; closing then leaves it running. */
  readonly attached: boolean
  /** Stops whatever this process owns, including the server. Close the connection pools first. */
  close(): Promise<void>
}

/**
 * Opens the embedded database of a data folder, created and started as needed. An advisory lock, which ends with its
 * process, decides who owns the server: a killed service's server is taken over, and stopped on close. A service
 * restarts its server if it dies. Throws `StartError`.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const { dataFolder, purpose, log, rootsFolder = usualRootsFolder } = options
  const paths = await prepareDataFolder(dataFolder, rootsFolder, purpose)
  const { client, attached } = await acquireCurrent(paths, options)
  const connection = serviceConnection(paths.sockets)
  if (attached) return { connection, attached, close: () => client.end() }
  const monitor = purpose === 'service' ? monitorServer(client, paths, options) : undefined
  return {
    connection,
    attached,
    close: async () => {
      const isOurs = (await monitor?.stop()) ?? true
      const pid = isOurs ? await livePostmaster(paths.cluster) : undefined
      if (pid !== undefined && !(await stopPostmaster(pid, paths.cluster))) {
        log(`PostgreSQL (process ${pid}) does not stop; the next start takes it over.`)
      }
      client.end().catch(() => undefined)
    },
  }
}

/** Locks the server; if it is an older PostgreSQL, moves the database first. */
async function acquireCurrent(paths: DataPaths, options: EmbeddedOptions): Promise<DatabaseLock> {
  for (;;) {
    const lock = await acquireDatabaseLock(paths, options)
    if (lock.attached) return lock
    if (await runsAsFormerUser(paths)) {
      options.log('PostgreSQL was running as nobody; restarting it with an account of its own.')
      await stopServer(paths)
      continue
    }
    if (options.withoutUpgrade) return lock
    if (options.upgrade !== undefined && (await isOutdated(lock.client, options.binaries))) {
      await moveToNewCluster(lock.client, paths, { ...options, upgrade: options.upgrade })
    } else if (options.purpose === 'service' && !(await hasEnoughConnections(lock.client, options))) {
      options.log('PostgreSQL was running with too few connections for PROCESSES; restarting it.')
      await stopServer(paths)
    } else return lock
  }
}

async function runsAsFormerUser({ cluster }: DataPaths): Promise<boolean> {
  return serverAccount() !== undefined && (await stat(cluster)).uid === formerUser
}

async function stopServer({ cluster }: DataPaths): Promise<void> {
  const pid = await livePostmaster(cluster)
  if (pid !== undefined) await stopPostmaster(pid, cluster)
}

/** Does a running server allow as many connections as this service needs? */
async function hasEnoughConnections(client: pg.Client, { settings, ...options }: EmbeddedOptions): Promise<boolean> {
  if (settings?.max_connections !== undefined) return true
  const { rows } = await client.query<{ max: number }>(`select current_setting('max_connections')::int as max`)
  return (rows[0]?.max ?? 0) >= maxConnections(options)
}

interface ServerMonitor {
  /** Resolves to true if this process still owns the server and should stop it. */
  stop(): Promise<boolean>
}

/** Restarts the server whenever it dies; until it is back, connections are refused. */
function monitorServer(first: pg.Client, paths: DataPaths, options: DatabaseLockOptions): ServerMonitor {
  const { log, logError = log } = options
  const stopping = new AbortController()
  let isHolding = true
  let work = Promise.resolve()
  const watch = (client: pg.Client) => {
    isHolding = true
    const lost = () => {
      if (!isHolding || stopping.signal.aborted) return
      isHolding = false
      work = restart()
    }
    client.once('end', lost)
    // The connection may have ended already.
    client.query('select').catch(lost)
  }
  const restart = async () => {
    logError('The database stopped unexpectedly; restarting it. Its log is postgres.log in the data folder.')
    let lastCause = ''
    for (let milliseconds = 100; !stopping.signal.aborted; milliseconds = Math.min(milliseconds * 2, 5000)) {
      try {
        const { client } = await acquireDatabaseLock(paths, { ...options, signal: stopping.signal })
        log('The database is running again.')
        watch(client)
        return
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        const cause = withoutNumbers(message)
        if (cause !== lastCause && !stopping.signal.aborted)
          logError(`The database does not start; trying again. ${message}`)
        lastCause = cause
      }
      await pause(milliseconds, stopping.signal)
    }
  }
  watch(first)
  const logRotation = setInterval(() => void rotateLog(paths.log).catch((error) => log(String(error))), 60_000).unref()
  return {
    stop: async () => {
      stopping.abort()
      clearInterval(logRotation)
      await work
      return isHolding
    },
  }
}

/** Without times and process ids, which differ at each attempt. */
const withoutNumbers = (message: string): string => message.replaceAll(/\d+/g, '')
