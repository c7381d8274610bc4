import { copyFile, stat, truncate } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { findBinaries } from './binaries.ts'
import { binariesVersion, initializeCluster, isCluster, startPostgres, useOwnDatabaseAdvice } from './cluster.ts'
import { clusterVersion, finishMove, explainSystemError, type DataPaths, markClusterCreated } from './data-folder.ts'
import { findOldBinaries } from './upgrade-binaries.ts'
import { neutralizeStalePidFiles, livePostmaster } from './postmaster.ts'
import { StartError } from '../database/start-error.ts'

export interface ServerOptions {
  log: (message: string) => void
  /** Settings of postgresql.conf beyond ours. */
  settings?: Record<string, string | number>
  /** Connections that the service makes at most; the server has room for these and for commands. */
  connections?: number
  /** What moving a cluster of an older PostgreSQL takes; without it such a cluster is refused. */
  upgrade?: UpgradeOptions
  /** Such a cluster is not moved but served as it is, by the older PostgreSQL where that is found. */
  withoutUpgrade?: boolean
}

export interface UpgradeOptions {
  /** The migrations of this code, and its version. */
  migrationsFolder: string
  version: string
  /** The folder of the older PostgreSQL, where that is not found by itself. */
  oldBinaries?: string | undefined
}

/** Milliseconds in which the survivors of a killed server let go of its memory. */
const memoryReleaseTimeout = 10_000

/**
 * Starts the server of a data folder where none runs, making the cluster first where there is none. That another process
 * was faster is no error. Error: `StartError`.
 */
export async function startServer(paths: DataPaths, options: ServerOptions): Promise<void> {
  const { log, settings } = options
  const ours = await findBinaries()
  let binaries = ours
  try {
    await finishMove(paths)
    if (!(await isCluster(paths.cluster))) {
      log('Creating the database. This happens only once.')
      await initializeCluster({ binaries, folder: paths.cluster, sync: settings?.fsync !== 'off' })
    }
    await markClusterCreated(paths)
    binaries = await binariesFor(paths, ours, options)
    await neutralizeStalePidFiles(paths.cluster, paths.sockets)
    await rotateLog(paths.log)
  } catch (error) {
    throw explainSystemError(error, paths.dataFolder)
  }
  const deadline = performance.now() + memoryReleaseTimeout
  for (;;) {
    try {
      await startPostgres({
        binaries,
        folder: paths.cluster,
        socketFolder: paths.sockets,
        logFile: paths.log,
        settings: { ...durableSettings(), max_connections: maxConnections(options), ...settings },
      })
      return
    } catch (error) {
      if ((await livePostmaster(paths.cluster)) !== undefined) return
      const isTemporary =
        error instanceof Error && /pre-existing shared memory|lock file .* already exists/.test(error.message)
      if (!isTemporary || performance.now() > deadline) throw explainSystemError(error, paths.dataFolder)
      await delay(100)
    }
  }
}

/** Bytes of the server's log; one earlier log is kept beside it. */
const logLimit = 10 * 1024 ** 2

/** Moves a log that has grown too long aside. The server appends, so cutting the file off under it is safe. */
export async function rotateLog(file: string): Promise<void> {
  const size = (await stat(file).catch(() => undefined))?.size ?? 0
  if (size <= logLimit) return
  await copyFile(file, `${file}.1`)
  await truncate(file)
}

/** Those that can run this cluster. An older one runs on its own, for as long as it takes to move it. */
async function binariesFor(
  { cluster, dataFolder }: DataPaths,
  ours: string,
  { upgrade, withoutUpgrade = false }: ServerOptions,
): Promise<string> {
  const theirs = (await clusterVersion(cluster)) ?? 0
  const major = await binariesVersion(ours)
  if (theirs === major) return ours
  const isServed = theirs < major && (withoutUpgrade || upgrade !== undefined)
  const old = isServed ? await findOldBinaries(theirs, upgrade?.oldBinaries) : undefined
  if (old !== undefined) return old
  const advice =
    theirs < major
      ? `To move it, run node bin/rapport.js upgrade-database --old-binaries <folder> with PostgreSQL ${theirs} (docs/guides/backup.md explains where to get it).`
      : 'Start the version of Rapport that created it.'
  throw new StartError(
    `The database in ${dataFolder} was created by PostgreSQL ${theirs}, but this Rapport includes PostgreSQL ${major}. Nothing was changed. ${advice} ${useOwnDatabaseAdvice}`,
  )
}

/** Connections beyond the service's own: commands, backups, and those that PostgreSQL keeps for the superuser. */
const spareConnections = 20

/** The server's limit of connections. */
export const maxConnections = ({ connections = 0 }: Pick<ServerOptions, 'connections'>): number =>
  Math.max(60, connections + spareConnections)

/** Durable, sized for a small machine; in the server's own log neither statements nor values. */
export function durableSettings(): Record<string, string | number> {
  const roomy = totalmem() > 2 * 1024 ** 3
  return {
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    shared_buffers: roomy ? '256MB' : '64MB',
    effective_cache_size: `${Math.max(128, Math.floor(totalmem() / 2 / 1024 ** 2))}MB`,
    maintenance_work_mem: roomy ? '128MB' : '32MB',
    random_page_cost: 1.1,
    // pglz, which is all that this build has, cost a third of what imports do (680 rows/s without it, 430 with it).
    wal_compression: 'off',
    max_wal_size: '2GB',
    checkpoint_timeout: '10min',
    jit: 'off',
    autovacuum: 'on',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_checkpoints: 'off',
    cluster_name: 'rapport',
  }
}
