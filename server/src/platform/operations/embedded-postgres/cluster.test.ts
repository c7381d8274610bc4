import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { debianBinaries } from '../../../../test/debian.ts'
import { findBinaries } from './binaries.ts'
import { clusterConnection, initializeCluster, startPostgres } from './cluster.ts'
import { connect } from '../../database/connect.ts'
import { StartError } from '../../database/start-error.ts'

const settings = { fsync: 'off', shared_buffers: '16MB' }

async function place({ onTestFinished }: TestContext) {
  const home = await mkdtemp(join(tmpdir(), 'cluster-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  await chmod(home, 0o755)
  return { home, folder: join(home, 'cluster'), socketFolder: join(home, 'sockets'), logFile: join(home, 'log') }
}

async function readLocaleBehavior(binaries: string, context: TestContext): Promise<unknown> {
  const { folder, socketFolder, logFile } = await place(context)
  await initializeCluster({ binaries, folder, sync: false })
  const server = await startPostgres({ binaries, folder, socketFolder, logFile, settings })
  try {
    expect((await stat(socketFolder)).mode & 0o777).toBe(0o700)
    const client = await connect(clusterConnection(socketFolder))
    await client.query('create extension pg_trgm')
    const { rows } = await client.query(
      `select current_setting('listen_addresses') as addresses, 'a' > 'B' as bytewise,
         cardinality(show_trgm('Жы')) > 0 as letters, current_setting('server_encoding') as encoding`,
    )
    await client.end()
    return rows[0]
  } finally {
    await server.stop()
  }
}

const expectedLocale = { addresses: '', bytewise: true, letters: true, encoding: 'UTF8' }

test('a cluster listens only on its socket, sorts bytewise and handles letters of any script', async (context) => {
  expect(await readLocaleBehavior(await findBinaries(), context)).toEqual(expectedLocale)
})

test("so does a cluster of Debian's PostgreSQL, which has no builtin locales", async (context) => {
  const binaries = debianBinaries()
  if (binaries === undefined) {
    if (process.env.CI) throw new Error('PostgreSQL is not installed.')
    return context.skip("Debian's PostgreSQL is not installed")
  }
  expect(await readLocaleBehavior(binaries, context)).toEqual(expectedLocale)
})

test('two clusters created in the same place at once result in one, with nothing left over', async (context) => {
  const { home, folder } = await place(context)
  const binaries = await findBinaries()
  await Promise.all([1, 2].map(() => initializeCluster({ binaries, folder, sync: false })))
  expect(await readdir(home)).toEqual(['cluster'])
})

test('a server that does not start throws an error with the end of its log', async (context) => {
  const { folder, socketFolder, logFile } = await place(context)
  const binaries = await findBinaries()
  await initializeCluster({ binaries, folder, sync: false })
  const start = startPostgres({ binaries, folder, socketFolder, logFile, settings: { shared_buffers: 'plenty' } })
  await expect(start).rejects.toThrow(StartError)
  await expect(start).rejects.toThrow(/invalid value for parameter "shared_buffers": "plenty"/)
})
