import { readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type pg from 'pg'
import { binariesVersion, initializeCluster, isCluster, isSocketFolderShort, startPostgres } from './cluster.ts'
import { connect } from '../../database/connect.ts'
import {
  finishMove,
  explainSystemError,
  previousCluster,
  moveBackup,
  movedCluster,
  type DataPaths,
} from './data-folder.ts'
import { durableSettings, type ServerOptions, type UpgradeOptions } from './embedded-server.ts'
import { Interrupted } from '../../database/interrupted.ts'
import { livePostmaster, stopPostmaster } from './postmaster.ts'
import { makeServiceRole, serviceConnection } from './service-role.ts'
import { SnapshotError } from '../backup/format.ts'
import { checkSnapshot } from '../backup/read.ts'
import { restoreSnapshot, type RestoreProgress } from '../backup/restore.ts'
import { takeSnapshotFile } from '../backup/take.ts'
import { chooseBinaries } from './upgrade-binaries.ts'
import { StartError } from '../../database/start-error.ts'
import { syncFolder } from '../../files/durable.ts'

/** Is the server an older PostgreSQL than the included one, or another one than the given one? */
export async function isOutdated(client: pg.Client, given: string | undefined): Promise<boolean> {
  const major = await binariesVersion(await chooseBinaries(given))
  const current = await readMajorVersion(client)
  return given === undefined ? current < major : current !== major
}

export interface MoveOptions extends ServerOptions {
  upgrade: UpgradeOptions
  /** Interrupts the move; nothing of it is kept. */
  signal?: AbortSignal
}

/**
 * Moves the database of an older server, whose lock `client` holds, to a new cluster: exports a backup, imports it and
 * compares the two. The lock excludes other processes meanwhile. A killed move starts over; the old cluster is never
 * changed. Throws `StartError` or `Interrupted`.
 */
export async function moveToNewCluster(client: pg.Client, paths: DataPaths, options: MoveOptions): Promise<void> {
  const { cluster, dataFolder } = paths
  const major = await readMajorVersion(client)
  const file = moveBackup(dataFolder, major)
  try {
    await buildNewCluster(file, paths, { ...options, major })
    await stopServer(cluster)
    await finishMove(paths)
    options.log(
      `The database was moved. The old one is in ${previousCluster(cluster, major)}; delete it when you no longer need it.`,
    )
  } catch (error) {
    await stopServer(cluster)
    await rm(file, { force: true })
    await removeCluster(temporaryCluster(cluster))
    if (error instanceof Interrupted)
      throw new Interrupted('Interrupted: the database was not moved.', { cause: error })
    if (error instanceof SnapshotError) {
      throw new StartError(`The database was not moved: ${error.message}`, { cause: error })
    }
    throw explainSystemError(error, dataFolder)
  } finally {
    client.end().catch(() => undefined)
  }
}

async function readMajorVersion(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ major: number }>(
    `select current_setting('server_version_num')::int / 10000 as major`,
  )
  return rows[0]?.major ?? 0
}

async function buildNewCluster(
  file: string,
  paths: DataPaths,
  options: MoveOptions & { major: number },
): Promise<void> {
  const { cluster } = paths
  const { log, settings, major } = options
  const previous = previousCluster(cluster, major)
  if (await isCluster(previous)) {
    throw new StartError(
      `The database of an earlier move is in ${previous}. Nothing was changed. Remove or rename it first.`,
    )
  }
  const binaries = await chooseBinaries(options.binaries)
  log(`The database was created by PostgreSQL ${major}; moving it to PostgreSQL ${await binariesVersion(binaries)}.`)
  const temporary = temporaryCluster(cluster)
  await removeCluster(temporary)
  await removeCluster(movedCluster(cluster))
  const isFilled = await exportDatabase(file, serviceConnection(paths.sockets), options)
  await initializeCluster({ binaries, folder: temporary, sync: settings?.fsync !== 'off' })
  await importDatabase(isFilled ? file : undefined, { binaries, temporary, paths, options })
  // From here on the new cluster is the current one, whichever process continues.
  await rename(temporary, movedCluster(cluster))
  await syncFolder(dirname(cluster))
}

const temporaryCluster = (cluster: string): string => `${cluster}.moving`

/** Returns false if there is nothing to export: the old cluster was never migrated. */
async function exportDatabase(
  file: string,
  connection: pg.ClientConfig,
  { upgrade, log, signal }: MoveOptions,
): Promise<boolean> {
  const client = await connect(connection)
  const { rows } = await client
    .query<{ found: boolean }>(`select to_regclass('schema_migrations') is not null as found`)
    .finally(() => client.end())
  if (!rows[0]?.found) return false
  const { migrationsFolder, version } = upgrade
  const report = throttled(log)
  const onProgress = (done: number, total: number) => report('Exporting rows', done, total)
  const options = { connection, migrationsFolder, version, force: true, onProgress, signal }
  const snapshot = await takeSnapshotFile(file, options)
  log(`Exported ${snapshot.rows} rows from the old database.`)
  if (snapshot.otherTables.length > 0)
    log(`These tables do not belong to Rapport and stay in the old database: ${snapshot.otherTables.join(', ')}.`)
  return true
}

interface NewCluster {
  binaries: string
  temporary: string
  paths: DataPaths
  options: MoveOptions
}

/** Starts the new cluster on a separate socket, fills it, and stops it again. */
async function importDatabase(
  file: string | undefined,
  { binaries, temporary, paths, options }: NewCluster,
): Promise<void> {
  const { log, settings, upgrade, signal } = options
  const socketFolder = temporarySockets(paths)
  const server = await startPostgres({
    binaries,
    folder: temporary,
    socketFolder,
    logFile: paths.log,
    settings: { ...durableSettings(), ...settings },
  })
  try {
    await makeServiceRole(socketFolder)
    if (file !== undefined) {
      const report = throttled(log)
      const checked = await checkSnapshot(file, (done, total) => report('Checking rows', done, total), signal)
      let lastStage = ''
      const onProgress = ({ stage, done, total, item }: RestoreProgress) => {
        if (stage !== lastStage) log(stages[stage])
        lastStage = stage
        report(`${stage} ${item}`, done, total)
      }
      const connection = serviceConnection(socketFolder)
      const { migrationsFolder } = upgrade
      await restoreSnapshot(file, { connection, checked, migrationsFolder, onProgress, signal })
    }
  } finally {
    await server.stop()
    await rm(socketFolder, { recursive: true, force: true })
  }
}

const stages: Record<RestoreProgress['stage'], string> = {
  Restoring: 'Importing the rows into the new database.',
  Comparing: 'Comparing the imported rows.',
  Building: 'Building indexes and constraints.',
}

/** Milliseconds between progress messages. */
const logInterval = 10_000

function throttled(log: (message: string) => void) {
  let next = performance.now() + logInterval
  return (what: string, done: number, total: number): void => {
    if (performance.now() < next) return
    next = performance.now() + logInterval
    log(total > 0 ? `${what}: ${Math.floor(Math.min(1, done / total) * 100)} %` : what)
  }
}

function temporarySockets({ sockets }: DataPaths): string {
  const sibling = `${sockets}.new`
  return isSocketFolderShort(sibling) ? sibling : join('/tmp', `rapport-move-${process.pid}`)
}

async function stopServer(cluster: string): Promise<void> {
  const pid = await livePostmaster(cluster)
  if (pid !== undefined && !(await stopPostmaster(pid, cluster))) {
    throw new StartError(`The old PostgreSQL (process ${pid}) does not stop. Stop it, then start again.`)
  }
}

/** Removes what a killed move left behind; its server may still be running. */
async function removeCluster(folder: string): Promise<void> {
  await stopServer(folder)
  // Its initdb may still be running in a folder whose name starts with this one's; no other process uses these.
  const names = (await readdir(dirname(folder))).filter((name) => name.startsWith(basename(folder)))
  for (const name of names) await rm(join(dirname(folder), name), { recursive: true, force: true, maxRetries: 10 })
}
