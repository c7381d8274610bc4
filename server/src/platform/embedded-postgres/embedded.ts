import type pg from 'pg'
import { pause } from '../background/loop.ts'
import { rootsFolder as usualRootsFolder } from './binaries.ts'
import { type Places, prepareDataFolder } from './data-folder.ts'
import { boundLog, maxConnections, type UpgradeOptions } from './embedded-server.ts'
import { type Hold, type HoldOptions, type Purpose, takeHold } from './hold.ts'
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
  asItIs?: boolean
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
  const places = await prepareDataFolder(dataFolder, rootsFolder)
  const { client, attached } = await takeCurrent(places, options)
  const connection = serviceConnection(places.sockets)
  if (attached) return { connection, attached, close: () => client.end() }
  const keeper = purpose === 'service' ? keepRunning(client, places, options) : undefined
  return {
    connection,
    attached,
    close: async () => {
      const isOurs = (await keeper?.stop()) ?? true
      const pid = isOurs ? await livePostmaster(places.cluster) : undefined
      if (pid !== undefined && !(await stopPostmaster(pid, places.cluster))) {
        log(`PostgreSQL (process ${pid}) does not stop; the next start takes it over.`)
      }
      client.end().catch(() => undefined)
    },
  }
}

/** Takes hold of the server; where that is of an older PostgreSQL, moves the database first. */
async function takeCurrent(places: Places, options: EmbeddedOptions): Promise<Hold> {
  for (;;) {
    const hold = await takeHold(places, options)
    if (hold.attached || options.asItIs) return hold
    if (options.upgrade !== undefined && (await isOutdated(hold.client))) {
      await moveToNewCluster(hold.client, places, { ...options, upgrade: options.upgrade })
    } else if (options.purpose === 'service' && !(await hasRoom(hold.client, options))) {
      options.log('PostgreSQL was left running with too few connections for PROCESSES: it is started again.')
      const pid = await livePostmaster(places.cluster)
      if (pid !== undefined) await stopPostmaster(pid, places.cluster)
    } else return hold
  }
}

/** May the server that was found running have as many connections as this service makes? */
async function hasRoom(client: pg.Client, { settings, ...options }: EmbeddedOptions): Promise<boolean> {
  if (settings?.max_connections !== undefined) return true
  const { rows } = await client.query<{ max: number }>(`select current_setting('max_connections')::int as max`)
  return (rows[0]?.max ?? 0) >= maxConnections(options)
}

interface Keeper {
  /** Resolves with whether the server is still ours to end. */
  stop(): Promise<boolean>
}

/** Brings the server back for as long as the service lives; meanwhile the pools meet refused connections. */
function keepRunning(first: pg.Client, places: Places, options: HoldOptions): Keeper {
  const { log } = options
  const stopping = new AbortController()
  let holding = true
  let work = Promise.resolve()
  const watch = (client: pg.Client) => {
    holding = true
    const lost = () => {
      if (!holding || stopping.signal.aborted) return
      holding = false
      work = bringBack()
    }
    client.once('end', lost)
    // It may have ended before anyone listened.
    client.query('select').catch(lost)
  }
  const bringBack = async () => {
    log('The database stopped unexpectedly; restarting it.')
    let told = ''
    for (let milliseconds = 100; !stopping.signal.aborted; milliseconds = Math.min(milliseconds * 2, 5000)) {
      try {
        const { client } = await takeHold(places, { ...options, signal: stopping.signal })
        log('The database is running again.')
        watch(client)
        return
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        if (message !== told && !stopping.signal.aborted) log(message)
        told = message
      }
      await pause(milliseconds, stopping.signal)
    }
  }
  watch(first)
  const bounding = setInterval(() => void boundLog(places.log).catch((error) => log(String(error))), 60_000).unref()
  return {
    stop: async () => {
      stopping.abort()
      clearInterval(bounding)
      await work
      return holding
    },
  }
}
