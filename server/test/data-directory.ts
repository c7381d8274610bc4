import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { expect, type TestContext } from 'vitest'
import { connect } from '../src/platform/database/connect.ts'
import { prepareDataFolder } from '../src/platform/operations/embedded-postgres/data-folder.ts'
import { type EmbeddedOptions, openEmbedded } from '../src/platform/operations/embedded-postgres/embedded.ts'
import { livePostmaster } from '../src/platform/operations/embedded-postgres/postmaster.ts'
import { StartError } from '../src/platform/database/start-error.ts'
import type { DatabaseTask } from './processes.ts'

export interface TestDataDirectory extends EmbeddedOptions {
  rootsFolder: string
  /** Contains everything else; any account may enter. */
  home: string
  logged: string[]
}

/** The data must survive killed processes, not a power failure. */
const settings = { fsync: 'off', shared_buffers: '16MB' }

/** Options for a service on a new data folder; servers that run there are killed after the test. */
export async function newDataDirectory({
  onTestFinished,
}: Pick<TestContext, 'onTestFinished'>): Promise<TestDataDirectory> {
  const home = await mkdtemp(join(tmpdir(), 'embedded-'))
  await chmod(home, 0o755)
  onTestFinished(async () => {
    for (const pid of await serversIn(home)) process.kill(pid, 'SIGKILL')
    await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  })
  const logged: string[] = []
  return {
    dataFolder: join(home, 'data'),
    rootsFolder: join(home, 'roots'),
    purpose: 'service',
    log: (message) => logged.push(message),
    settings,
    logged,
    home,
  }
}

/** The same options, as a task for another process. */
export const openTask = ({ dataFolder, rootsFolder, purpose }: TestDataDirectory): DatabaseTask => ({
  kind: 'open',
  dataFolder,
  rootsFolder,
  purpose,
  settings,
})

/** The process ids of the PostgreSQL servers whose clusters are below a folder. */
export async function serversIn(folder: string): Promise<number[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  const clusters = names.filter((name) => name.endsWith('postmaster.pid')).map((name) => join(folder, name, '..'))
  return (await Promise.all(clusters.map(livePostmaster))).filter((pid) => pid !== undefined)
}

/** The process id of the server of a data folder. */
export async function serverOf({ dataFolder, rootsFolder }: TestDataDirectory): Promise<number> {
  const { cluster } = await prepareDataFolder(dataFolder, rootsFolder)
  const pid = await livePostmaster(cluster)
  if (pid === undefined) throw new Error('no server is running')
  return pid
}

/** Sends one statement over a new connection. */
export async function query(connection: pg.ClientConfig | undefined, text: string): Promise<Record<string, unknown>[]> {
  if (!connection) throw new Error('no connection')
  const client = await connect(connection)
  return (await client.query(text).finally(() => client.end())).rows
}

/** The message with which opening fails; fails the test if it succeeds. */
export async function startErrorOf(options: EmbeddedOptions): Promise<string> {
  const error = await openEmbedded(options).then(
    (embedded) => embedded.close().then(() => undefined),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(StartError)
  return (error as StartError).message
}
