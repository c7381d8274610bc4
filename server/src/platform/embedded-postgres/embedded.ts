import type pg from 'pg'
import { pause } from '../background/loop.ts'
import { rootsFolder as usualRootsFolder } from './binaries.ts'
import { type DataPaths, prepareDataFolder } from './data-folder.ts'
import { rotateLog, maxConnections, type UpgradeOptions } from './embedded-server.ts'
import { type DatabaseLock, type DatabaseLockOptions, type Purpose, acquireDatabaseLock } from './database-lock.ts'
import { livePostmaster, stopPostmaster } from './postmaster.ts'
import { serviceConnection } from './service-role.ts'
import { isOutdated, moveToNewCluster } from './upgrade.ts'

export interface EmbeddedOptions {
  dataFolder: string
  purpose: Purpose
  /** Told in words what happens to the database. */
  log: (message: string) => void
  /** Milliseconds that it waits for a command that holds the database (30 s). */
  wait?: number
  /** Settings of postgresql.conf beyond ours, for tests that need no durability. */
  settings?: Record<string, string | number>
  /** Connections that the service makes at most. */
  connections?: number
  /** Where root keeps what lies in a closed folder. */
  rootsFolder?: string
  /** What moving a cluster of an older PostgreSQL takes; without it such a cluster is refused. */
  upgrade?: UpgradeOptions
  /** Such a cluster is not moved but served as it is, by the older PostgreSQL where that is found. */
  withoutUpgrade?: boolean
  /** Ends the waiting, and a move under way. */
  signal?: AbortSignal
}

export interface Embedded {
  readonly connection: pg.ClientConfig
  /** True when a running service holds the database; closing then leaves it alone. */
  readonly attached: boolean
  /** Ends what this process answers for, the server too: close the pools before. */
  close(): Promise<void>
}

/**
 * Opens the embedded database of a data folder, making and starting it as needed. Who holds it is decided in the database
 * itself, by a lock of a session, which ends with its process however that dies; so a server whose service was killed is
 * found, taken over, and ended at the end. A service brings its server back when that dies. Error: `StartError`.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const { dataFolder, purpose, log, rootsFolder = usualRootsFolder } = options
  const paths = await prepareDataFolder(dataFolder, rootsFolder)
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

/** Takes hold of the server; where that is of an older PostgreSQL, moves the database first. */
async function acquireCurrent(paths: DataPaths, options: EmbeddedOptions): Promise<DatabaseLock> {
  for (;;) {
    const lock = await acquireDatabaseLock(paths, options)
    if (lock.attached || options.withoutUpgrade) return lock
    if (options.upgrade !== undefined && (await isOutdated(lock.client))) {
      await moveToNewCluster(lock.client, paths, { ...options, upgrade: options.upgrade })
    } else if (options.purpose === 'service' && !(await hasEnoughConnections(lock.client, options))) {
      options.log('PostgreSQL was left running with too few connections for PROCESSES: it is started again.')
      const pid = await livePostmaster(paths.cluster)
      if (pid !== undefined) await stopPostmaster(pid, paths.cluster)
    } else return lock
  }
}

/** May the server that was found running have as many connections as this service makes? */
async function hasEnoughConnections(client: pg.Client, { settings, ...options }: EmbeddedOptions): Promise<boolean> {
  if (settings?.max_connections !== undefined) return true
  const { rows } = await client.query<{ max: number }>(`select current_setting('max_connections')::int as max`)
  return (rows[0]?.max ?? 0) >= maxConnections(options)
}

interface ServerMonitor {
  /** Resolves with whether the server is still ours to end. */
  stop(): Promise<boolean>
}

/** Brings the server back for as long as the service lives; meanwhile the pools meet refused connections. */
function monitorServer(first: pg.Client, paths: DataPaths, options: DatabaseLockOptions): ServerMonitor {
  const { log } = options
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
    // It may have ended before anyone listened.
    client.query('select').catch(lost)
  }
  const restart = async () => {
    log('The database stopped unexpectedly; restarting it.')
    let lastMessage = ''
    for (let milliseconds = 100; !stopping.signal.aborted; milliseconds = Math.min(milliseconds * 2, 5000)) {
      try {
        const { client } = await acquireDatabaseLock(paths, { ...options, signal: stopping.signal })
        log('The database is running again.')
        watch(client)
        return
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        if (message !== lastMessage && !stopping.signal.aborted) log(message)
        lastMessage = message
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
