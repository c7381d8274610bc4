import { copyFile, stat, truncate } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { binariesVersion, initializeCluster, isCluster, startPostgres, useOwnDatabaseAdvice } from './cluster.ts'
import { clusterVersion, finishMove, explainSystemError, type DataPaths, markClusterCreated } from './data-folder.ts'
import { formerUser, serverAccount, takeOver } from './server-account.ts'
import { chooseBinaries, findOldBinaries } from './upgrade-binaries.ts'
import { neutralizeStalePidFiles, livePostmaster } from './postmaster.ts'
import { StartError } from '../../database/start-error.ts'

export interface ServerOptions {
  log: (message: string) => void
  /** Additional settings for postgresql.conf. */
  settings?: Record<string, string | number>
  /** Maximum connections of the service; the server allows these and some for commands. */
  connections?: number
  /** The folder of the PostgreSQL to use instead of the included one (POSTGRES_BINARIES). */
  binaries?: string | undefined
  /** For moving a cluster of an older PostgreSQL; without it such a cluster is rejected. */
  upgrade?: UpgradeOptions
  /** If true, such a cluster is not moved: it is served by the older PostgreSQL, if that is found. */
  withoutUpgrade?: boolean
}

export interface UpgradeOptions {
  migrationsFolder: string
  version: string
  /** The folder of the older PostgreSQL, if it is not found automatically. */
  oldBinaries?: string | undefined
}

/** Milliseconds for the remaining processes of a killed server to release its shared memory. */
const memoryReleaseTimeout = 10_000

/** Starts the server unless it is running; creates the cluster if necessary. Throws `StartError`. */
export async function startServer(paths: DataPaths, options: ServerOptions): Promise<void> {
  const { log, settings } = options
  const ours = await chooseBinaries(options.binaries)
  let binaries = ours
  try {
    await finishMove(paths)
    if (!(await isCluster(paths.cluster))) {
      log('Creating the database. This happens only once.')
      await initializeCluster({ binaries, folder: paths.cluster, sync: settings?.fsync !== 'off' })
    }
    await markClusterCreated(paths)
    if (serverAccount()) await takeOver(paths.cluster, formerUser)
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

/** Maximum bytes of the server's log; one earlier log is kept. */
const logLimit = 10 * 1024 ** 2

/** Rotates a log that has grown too long. The server appends, so truncating the file is safe. */
export async function rotateLog(file: string): Promise<void> {
  const size = (await stat(file).catch(() => undefined))?.size ?? 0
  if (size <= logLimit) return
  await copyFile(file, `${file}.1`)
  await truncate(file)
}

/** The binaries that can run this cluster. An older cluster runs on its own version until it has been moved. */
async function binariesFor(
  { cluster, dataFolder }: DataPaths,
  ours: string,
  { upgrade, withoutUpgrade = false, binaries }: ServerOptions,
): Promise<string> {
  const theirs = (await clusterVersion(cluster)) ?? 0
  const major = await binariesVersion(ours)
  if (theirs === major) return ours
  // With the distribution's PostgreSQL, the database may come from a newer one.
  const isServed = (theirs < major || binaries !== undefined) && (withoutUpgrade || upgrade !== undefined)
  const old = isServed ? await findOldBinaries(theirs, upgrade?.oldBinaries) : undefined
  if (old !== undefined) return old
  const advice =
    theirs < major
      ? `To move it, run \`rapport upgrade-database --old-binaries <folder>\` with PostgreSQL ${theirs} (docs/guides/backup.md explains where to get it).`
      : 'Start the version of Rapport that created it, or set POSTGRES_BINARIES to the PostgreSQL that did.'
  throw new StartError(
    `The database in ${dataFolder} was created by PostgreSQL ${theirs}, but this Rapport uses PostgreSQL ${major}. Nothing was changed. ${advice} ${useOwnDatabaseAdvice}`,
  )
}

/** Connections beyond the service's own: for commands, backups, and those reserved for the superuser. */
const spareConnections = 20

export const maxConnections = ({ connections = 0 }: Pick<ServerOptions, 'connections'>): number =>
  Math.max(60, connections + spareConnections)

/** Durable, and sized for a small machine. The server's log contains neither statements nor values. */
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
    // This build only has pglz, which made imports a third slower (430 instead of 680 rows/s).
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
