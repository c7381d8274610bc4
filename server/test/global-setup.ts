import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { chmod, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { findBinaries } from '../src/platform/operations/embedded-postgres/binaries.ts'
import {
  clusterConnection,
  initializeCluster,
  startPostgres,
} from '../src/platform/operations/embedded-postgres/cluster.ts'
import { migrate } from '../src/platform/database/migrate.ts'
import { migrationsFolder } from '../src/release.ts'
import { debianBinaries } from './debian.ts'
import { temporaryFolders } from './memory-folder.ts'
import { startCitus } from './citus.ts'
import type { TestCluster } from './postgres.ts'

interface StartedCluster {
  cluster: TestCluster
  stop(): Promise<void>
}

const prefix = 'rapport-test-'
const template = 'rapport_template'

/** For a temporary cluster: no data must survive, so nothing waits for the disk. */
const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: 200,
  shared_buffers: '64MB',
  max_wal_size: '512MB',
  autovacuum_naptime: '1h',
}

/** The clusters for each value of `TEST_ENGINE`; the first one is the default. */
const enginesFor: Record<string, TestCluster['engine'][]> = {
  none: [],
  embedded: ['embedded'],
  debian: ['debian'],
  citus: ['citus'],
  both: ['debian', 'embedded'],
}

/** Called by vitest: starts the clusters of the run and provides their connections to the tests; returns the teardown. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const engines = enginesFor[process.env.TEST_ENGINE ?? 'embedded']
  if (!engines) throw new Error(`TEST_ENGINE must be one of ${Object.keys(enginesFor).join(', ')}.`)
  if (engines.length > 0) removeStale()
  // Services of this run serve the application, and none of them should build it.
  const [started] = await Promise.all([
    Promise.all(engines.map((engine) => (engine === 'citus' ? startCitusCluster() : startCluster(engine)))),
    engines.length > 0 ? build() : undefined,
  ])
  project.provide(
    'clusters',
    started.map(({ cluster }) => cluster),
  )
  return async () => void (await Promise.all(started.map(({ stop }) => stop())))
}

async function build(): Promise<void> {
  const script = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))
  await promisify(execFile)(process.execPath, [script])
}

async function startCluster(engine: 'embedded' | 'debian'): Promise<StartedCluster> {
  const folder = await clusterFolder()
  const binaries = await binariesOf(engine)
  const [data, socketFolder, logFile] = [join(folder, 'data'), join(folder, 'socket'), join(folder, 'log')]
  await initializeCluster({ binaries, folder: data, sync: false })
  const server = await startPostgres({ binaries, folder: data, socketFolder, logFile, settings })
  const cleanUp = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  const stopAtExit = () => {
    process.kill(server.pid, 'SIGQUIT')
    cleanUp()
  }
  process.once('exit', stopAtExit)
  const connection = clusterConnection(socketFolder) as Pick<TestCluster, 'host' | 'port' | 'user'>
  await makeTemplate(connection)
  return {
    cluster: { ...connection, engine, template },
    stop: async () => {
      process.off('exit', stopAtExit)
      await server.stop('immediate')
      cleanUp()
    },
  }
}

async function startCitusCluster(): Promise<StartedCluster> {
  const folder = await clusterFolder()
  const citus = await startCitus(folder, { settings, template })
  const stop = async () => {
    await citus.stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  return { cluster: citus.cluster, stop }
}

/** A temporary folder that the next run removes if this one is killed. */
async function clusterFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix))
  await writeFile(join(folder, 'runner'), String(process.pid))
  // If the tests run as root, the server runs as another user, who must be able to enter this folder.
  await chmod(folder, 0o711)
  return folder
}

async function binariesOf(engine: 'embedded' | 'debian'): Promise<string> {
  if (engine === 'embedded') return findBinaries()
  const debian = debianBinaries()
  if (!debian) throw new Error('TEST_ENGINE=debian needs PostgreSQL 15 or newer under /usr/lib/postgresql.')
  return debian
}

async function makeTemplate(server: pg.ClientConfig): Promise<void> {
  const temporaryName = `${template}_${randomBytes(4).toString('hex')}`
  await administer(server, `create database ${temporaryName} template template0`)
  await migrate({ ...server, database: temporaryName }, { folder: migrationsFolder, log: () => undefined })
  await administer(server, `alter database ${temporaryName} rename to ${template}`)
}

async function administer(server: pg.ClientConfig, statement: string): Promise<void> {
  const client = new pg.Client({ ...server, database: 'postgres' })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

/** Stops servers left behind by killed runs of this user, and removes their folders. */
export function removeStale(): void {
  const leftovers = temporaryFolders().flatMap((parent) =>
    readdirSync(parent)
      .filter((name) => name.startsWith(prefix))
      .map((name) => join(parent, name)),
  )
  for (const folder of leftovers) {
    const runner = numberIn(join(folder, 'runner'))
    if (runner === undefined || isAlive(runner) || !isOwn(folder)) continue
    const server = numberIn(join(folder, 'data/postmaster.pid'))
    if (server !== undefined && serves(server, folder)) process.kill(server, 'SIGQUIT')
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

const isOwn = (folder: string): boolean => lstatSync(folder, { throwIfNoEntry: false })?.uid === process.getuid?.()

/** Whether the process is the server of that folder, not another process with the same id. */
function serves(pid: number, folder: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder)
  } catch {
    return readdirSync(folder).length > 0 && process.platform === 'darwin' && isAlive(pid)
  }
}

function numberIn(file: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(file, 'utf8'), 10) || undefined
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
