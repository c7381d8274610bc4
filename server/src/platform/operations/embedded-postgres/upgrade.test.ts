import { execFile } from 'node:child_process'
import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest'
import {
  type TestDataDirectory,
  newDataDirectory,
  query,
  startErrorOf,
  serversIn,
} from '../../../../test/data-directory.ts'
import { oldPostgres } from '../../../../test/old-postgres.ts'
import { type ProcessStarter, processStarter, until } from '../../../../test/processes.ts'
import { migrationsFolder, version } from '../../../release.ts'
import { usableBinaries } from './binaries.ts'
import { clusterConnection, initializeCluster, type PostgresServer, startPostgres } from './cluster.ts'
import { previousCluster, moveBackup, movedCluster, type DataPaths, prepareDataFolder } from './data-folder.ts'
import { openEmbedded } from './embedded.ts'
import { migrate } from '../../database/migrate.ts'

let processes: ProcessStarter
interface Template {
  cluster: string
  oldBinaries: string
}

let template: Template | undefined
const cleanups: (() => unknown)[] = []
beforeAll(async () => {
  processes = await processStarter()
  const packageFolder = await oldPostgres()
  if (packageFolder === undefined) return
  template = await makeTemplate(packageFolder, {
    onTestFinished: (clean) => void cleanups.push(clean as () => unknown),
  })
})
afterAll(async () => {
  await processes.close()
  for (const clean of cleanups) await clean()
})

interface OldPlace extends TestDataDirectory {
  paths: DataPaths
  upgrade: { migrationsFolder: string; version: string; oldBinaries: string }
  /** Starts the old server on a folder as Rapport does. */
  startOld(folder?: string): Promise<PostgresServer>
}

const settings = { fsync: 'off', shared_buffers: '16MB' }

const startOn = ({ sockets, log }: DataPaths, binaries: string, folder: string) =>
  startPostgres({ binaries, folder, socketFolder: sockets, logFile: log, settings })

/** A data folder with data of an older PostgreSQL; copied, because creating one takes long. */
async function oldPlace(context: TestContext): Promise<OldPlace> {
  if (template === undefined) return context.skip('npm could not bring the package of an older PostgreSQL')
  const { oldBinaries } = template
  const options = await newDataDirectory(context)
  const paths = await prepareDataFolder(options.dataFolder, options.rootsFolder)
  await promisify(execFile)('cp', ['-a', template.cluster, paths.cluster])
  const startOld = (folder = paths.cluster) => startOn(paths, oldBinaries, folder)
  return { ...options, paths, startOld, upgrade: { migrationsFolder, version: version(), oldBinaries } }
}

let moved: Promise<OldPlace> | undefined

/** A data folder whose database was moved, shared by all tests that need one. */
function movedPlace(context: TestContext): Promise<OldPlace> {
  if (template === undefined) return context.skip('npm could not bring the package of an older PostgreSQL')
  moved ??= makeMoved()
  return moved
}

async function makeMoved(): Promise<OldPlace> {
  const old = await oldPlace({ onTestFinished: (clean) => void cleanups.push(clean as () => unknown) } as TestContext)
  await (await openEmbedded(old)).close()
  return old
}

async function makeTemplate(packageFolder: string, context: Pick<TestContext, 'onTestFinished'>): Promise<Template> {
  const { dataFolder, rootsFolder } = await newDataDirectory(context)
  const oldBinaries = await usableBinaries(packageFolder, rootsFolder)
  const paths = await prepareDataFolder(dataFolder, rootsFolder)
  const { cluster, sockets } = paths
  await initializeCluster({ binaries: oldBinaries, folder: cluster, sync: false })
  const server = await startOn(paths, oldBinaries, cluster)
  await query(clusterConnection(sockets), 'create database rapport')
  const connection = clusterConnection(sockets, 'rapport')
  await migrate(connection, { folder: migrationsFolder, log: () => undefined })
  await query(
    connection,
    `insert into organizations (id, name, slug) select gen_random_uuid(), 'Ünïted ' || n || E'\\t\\n\\\\', 's' || n from generate_series(1, 2000) n;
     create table of_someone_else as select 1 as one`,
  )
  await server.stop()
  return { cluster, oldBinaries }
}

const majorOf = (connection: pg.ClientConfig) =>
  query(connection, `select current_setting('server_version_num')::int / 10000 as major`)

const contents = (connection: pg.ClientConfig) =>
  query(
    connection,
    `select count(*)::int as rows, md5(string_agg(o::text, '|' order by id)) as sum from organizations o`,
  )

/** The names in the data folder that belong to clusters. */
const namesIn = async ({ cluster, dataFolder }: DataPaths): Promise<string[]> =>
  [...(await readdir(dirname(cluster))), ...(await readdir(dataFolder))]
    .filter((name, index, all) => name.startsWith('postgres') && !name.endsWith('.log') && all.indexOf(name) === index)
    .sort()

const task = ({ dataFolder, rootsFolder, purpose, upgrade }: OldPlace) =>
  ({ kind: 'open', dataFolder, rootsFolder, purpose, settings, upgrade }) as const

test('a database of an older PostgreSQL is moved completely, once, and the old one is kept', async (context) => {
  const old = await movedPlace(context)
  const { cluster, sockets } = old.paths
  expect(await namesIn(old.paths)).toEqual(['postgres', 'postgres-17'])
  expect(old.logged.join('\n')).toMatch(/created by PostgreSQL 17; moving it to PostgreSQL 18/)
  expect(old.logged.join('\n')).toContain('of_someone_else')
  expect(old.logged.join('\n')).toContain(`is in ${cluster}-17`)
  expect(await serversIn(old.home)).toEqual([])
  const back = await old.startOld(`${cluster}-17`)
  const before = await contents(clusterConnection(sockets, 'rapport'))
  expect(before).toMatchObject([{ rows: 2000 }])
  await back.stop()

  old.logged.length = 0
  const second = await openEmbedded(old)
  expect(await majorOf(second.connection)).toEqual([{ major: 18 }])
  expect(await contents(second.connection)).toEqual(before)
  expect(old.logged).toEqual([])
  expect(await serversIn(old.home)).toHaveLength(1)
  await second.close()
})

test('without the right older PostgreSQL the database is rejected with an explanation and left unchanged', async (context) => {
  const old = await oldPlace(context)
  const { oldBinaries, ...without } = old.upgrade
  expect(await startErrorOf({ ...old, upgrade: without })).toMatch(
    /created by PostgreSQL 17.*upgrade-database --old-binaries/,
  )
  const empty = { ...without, oldBinaries: old.home }
  expect(await startErrorOf({ ...old, upgrade: empty })).toContain(`There is no PostgreSQL in ${old.home}`)
  expect(await namesIn(old.paths)).toEqual(['postgres'])
  expect(await readFile(join(old.paths.cluster, 'PG_VERSION'), 'utf8')).toBe('17\n')
  expect(oldBinaries).toBeDefined()
})

test('a command that needs no upgrade uses the older PostgreSQL and moves nothing', async (context) => {
  const old = await oldPlace(context)
  const bare = await openEmbedded({ ...old, purpose: 'rapport backup', withoutUpgrade: true })
  expect(await majorOf(bare.connection)).toEqual([{ major: 17 }])
  expect(await contents(bare.connection)).toMatchObject([{ rows: 2000 }])
  await bare.close()
  expect(await namesIn(old.paths)).toEqual(['postgres'])
})

/** Starts a move and kills it once it reports this step. */
async function killAt(old: OldPlace, step: string): Promise<void> {
  const killed = processes.start(task(old))
  killed.outcome.catch(() => undefined)
  await until(`it is at "${step}"`, () => killed.events.some(({ message }) => message?.includes(step)), 40_000)
  killed.child.kill('SIGKILL')
  await killed.exited
}

test('a move killed or interrupted at any step keeps the old database, and one of two later starts repeats it', async (context) => {
  const old = await oldPlace(context)
  for (const step of ['moving it', 'Exported', 'Building']) {
    await killAt(old, step)
    expect(await namesIn(old.paths)).toContain('postgres')
    expect(await readFile(join(old.paths.cluster, 'PG_VERSION'), 'utf8')).toBe('17\n')
  }
  const controller = new AbortController()
  const log = (message: string) => {
    if (message.startsWith('Comparing')) controller.abort()
  }
  await expect(openEmbedded({ ...old, log, signal: controller.signal })).rejects.toThrow('Interrupted')
  expect(await namesIn(old.paths)).toEqual(['postgres'])
  expect(await serversIn(old.home)).toEqual([])

  let waiting = [1, 2].map(() => processes.start({ ...task(old), purpose: 'rapport migrate' }))
  // Whichever process gets the database first passes it on to the next.
  while (waiting.length > 0) {
    const first = await Promise.race(waiting.map(async (one) => ({ one, outcome: await one.outcome })))
    expect(first.outcome.event, JSON.stringify(first.one.events)).toBe('open')
    expect(await majorOf(first.outcome.connection ?? {})).toEqual([{ major: 18 }])
    expect(await contents(first.outcome.connection ?? {})).toMatchObject([{ rows: 2000 }])
    expect(await serversIn(old.home)).toHaveLength(1)
    first.one.child.kill('SIGTERM')
    await first.one.exited
    waiting = waiting.filter((one) => one !== first.one)
  }
  expect(await namesIn(old.paths)).toEqual(['postgres', 'postgres-17'])
}, 120_000)

for (const between of ['before the old one is renamed', 'after that'] as const) {
  test(`a move killed when the new cluster is complete, ${between}, is finished by the next start`, async (context) => {
    const old = await movedPlace(context)
    const { cluster, dataFolder } = old.paths
    await rename(cluster, movedCluster(cluster))
    await writeFile(moveBackup(dataFolder, 17), 'all personal data')
    if (between === 'before the old one is renamed') await rename(previousCluster(cluster, 17), cluster)
    const next = await openEmbedded(old)
    expect(await majorOf(next.connection)).toEqual([{ major: 18 }])
    expect(await contents(next.connection)).toMatchObject([{ rows: 2000 }])
    expect(await namesIn(old.paths)).toEqual(['postgres', 'postgres-17'])
    await next.close()
  })
}
