import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { run, runProcess, databaseUrlOf } from '../../test/command-line.ts'
import { createDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'
import { type StartedService, startIn, statusOf } from '../../test/started-service.ts'
import { findBinaries } from '../platform/operations/embedded-postgres/binaries.ts'
import {
  initializeCluster,
  type PostgresServer,
  startPostgres,
} from '../platform/operations/embedded-postgres/cluster.ts'

let folder: string
const clean: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-start-'))
  await chmod(folder, 0o755)
})
afterEach(async () => {
  for (const step of clean.splice(0).reverse()) await step()
  await rm(folder, { recursive: true, force: true })
})

const start = (environment: Record<string, string>): Promise<StartedService> =>
  startIn({ folder, cleanUps: clean }, environment)

const setUpToken = (printed: string): string | undefined => /\/account#set-up=(\S+)/.exec(printed)?.[1]

test('a set-up link that cannot be created is logged with advice', async () => {
  const database = await createDatabase()
  clean.unshift(() => database.drop())
  const client = new pg.Client(database.connection)
  await client.connect()
  await client.query(`create function fault() returns trigger language plpgsql as $$ begin raise 'full'; end $$;
    create trigger fault before insert on one_time_tokens for each row execute function fault()`)
  await client.end()
  const service = await start({ DATABASE_URL: databaseUrlOf(database) })
  await until('it has said where it is', () => service.printed().includes('Rapport listens on'))
  service.signal('SIGTERM')
  const { code, output, errors } = await service.ended
  expect(code).toBe(0)
  expect(setUpToken(output)).toBeUndefined()
  expect(errors).toMatch(/could not be created\. .*start again.*bootstrap/)
  expect(errors).toContain('full')
})

test('a second service on the same data folder refuses to start, and the first keeps running', async () => {
  const first = await start({})
  // Until then, it may not have the folder yet.
  await until('it is ready', async () => (await statusOf(`${first.url}/readyz`)) === 200)
  const second = await runProcess(['start'], { environment: { PORT: '0', DATA_DIR: join(folder, 'data') } })
  expect(second.code).toBe(3)
  expect(second.errors).toContain('Only one service can run on it')
  expect(await statusOf(`${first.url}/readyz`)).toBe(200)
})

test('a service whose database is unavailable at the start returns 503, then migrates it and becomes ready', async () => {
  const sockets = join(folder, 'sockets')
  const service = await start({ DATABASE_URL: `postgres://rapport@/postgres?host=${sockets}&port=5432` })
  expect(await statusOf(`${service.url}/readyz`)).toBe(503)
  await startDatabase(sockets)
  await until('it is ready', async () => (await statusOf(`${service.url}/readyz`)) === 200)
  service.signal('SIGTERM')
  expect((await service.ended).code).toBe(0)
})

async function startDatabase(socketFolder: string): Promise<PostgresServer> {
  const binaries = await findBinaries()
  const cluster = join(folder, 'cluster')
  await initializeCluster({ binaries, folder: cluster, sync: false })
  const options = { binaries, folder: cluster, socketFolder, logFile: join(folder, 'log'), settings: { fsync: 'off' } }
  const server = await startPostgres(options)
  clean.unshift(() => server.stop('immediate'))
  return server
}

test('a service stops on request while its database is unavailable', async () => {
  const service = await start({ DATABASE_URL: `postgres://rapport@/postgres?host=${join(folder, 'nowhere')}` })
  service.signal('SIGINT')
  const { code, errors } = await service.ended
  expect(code).toBe(0)
  expect(errors).toContain('Stopped.')
  expect(errors).not.toContain('did not finish in time')
})

test('a stop waits for requests in progress; a later second signal ends the process immediately', async () => {
  const service = await start({})
  await until('it is ready', async () => (await statusOf(`${service.url}/readyz`)) === 200)
  const slow = connect(Number(new URL(service.url).port), '127.0.0.1')
  clean.push(async () => slow.destroy())
  slow.on('error', () => undefined)
  slow.write('POST /auth HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{')
  await until('the slow request has arrived', async () => (await statusOf(`${service.url}/healthz`)) === 200)
  const began = performance.now()
  let code: number | null | undefined
  void service.ended.then((end) => {
    code = end.code
  })
  await until('repeated signals end it', () => {
    service.signal('SIGINT')
    return code !== undefined
  })
  expect(code).toBe(1)
  expect(performance.now() - began).toBeGreaterThan(1000)
  // The next process takes over the database and stops it at its end.
  expect((await run(['migrate'], { environment: { DATA_DIR: join(folder, 'data') } })).code).toBe(0)
  await expect(stat(join(folder, 'data/postgres/postmaster.pid'))).rejects.toThrow('ENOENT')
})
