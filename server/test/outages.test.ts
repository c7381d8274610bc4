import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { findBinaries } from '../src/platform/operations/embedded-postgres/binaries.ts'
import {
  clusterConnection,
  initializeCluster,
  type PostgresServer,
  startPostgres,
} from '../src/platform/operations/embedded-postgres/cluster.ts'
import { migrate } from '../src/platform/database/migrate.ts'
import { migrationsFolder } from '../src/release.ts'
import { least } from './least.ts'
import { until } from './processes.ts'
import { startTestService, type TestOrganization, type TestService } from './service.ts'

// A separate server, because these tests stop and freeze it.
const settings = { fsync: 'off', max_connections: 14 }
/** The maximum time of a response while the database is unavailable. */
const maxMilliseconds = 5000

let folder: string
let binaries: string
let server: PostgresServer
let service: TestService
let organization: TestOrganization

const start = () =>
  startPostgres({
    binaries,
    folder: join(folder, 'data'),
    socketFolder: join(folder, 'socket'),
    logFile: join(folder, 'log'),
    settings,
  })

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-outage-'))
  // If the tests run as root, PostgreSQL runs as another account, which must be able to enter this folder.
  await chmod(folder, 0o711)
  binaries = await findBinaries()
  await initializeCluster({ binaries, folder: join(folder, 'data'), sync: false })
  server = await start()
  const connection = clusterConnection(join(folder, 'socket'))
  await migrate(connection, { folder: migrationsFolder, log: () => undefined })
  service = await startTestService({}, { connection, drop: async () => undefined })
  organization = await service.newOrganization()
})

afterEach(async () => {
  process.kill(server.pid, 'SIGCONT')
  await until('the service answers again', async () => (await organization.call('GET', '/v5/contacts')).status === 200)
})

afterAll(async () => {
  await service.close()
  await server.stop('immediate')
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

/** Calls the API and measures the time of the response. */
async function timedCall(method: string, path: string, body?: unknown) {
  const began = performance.now()
  const response = await organization.call(method, path, body === undefined ? {} : { body })
  return { ...response, milliseconds: performance.now() - began }
}

type Timed = Awaited<ReturnType<typeof timedCall>>

function expectRefused(response: Timed): void {
  expect(response.status).toBe(503)
  expect(['overloaded', 'timeout']).toContain(response.body.code)
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
}

function expectUnavailable(response: Timed): void {
  expectRefused(response)
  expect(response.milliseconds).toBeLessThan(maxMilliseconds)
}

test('without a database every request gets 503 with Retry-After, and the first one after its return succeeds', async () => {
  await server.stop('immediate')
  expectUnavailable(await timedCall('GET', '/v5/contacts'))
  expectUnavailable(await timedCall('POST', '/v5/contacts', { email: 'away@example.com' }))
  expectUnavailable(await timedCall('GET', '/v5/me'))
  expect((await service.anonymous('GET', '/readyz')).status).toBe(503)
  expect((await service.anonymous('GET', '/healthz')).status).toBe(200)
  server = await start()
  expect((await organization.call('POST', '/v5/contacts', { body: { email: 'back@example.com' } })).status).toBe(201)
  expect((await service.anonymous('GET', '/readyz')).status).toBe(200)
})

test('a database restart under load causes 503s but loses no acknowledged write', async () => {
  const acknowledged: string[] = []
  const statuses = new Set<number>()
  let isDone = false
  const senders = Array.from({ length: 8 }, async (_, sender) => {
    for (let count = 0; !isDone; count++) {
      const email = `load-${sender}-${count}@example.com`
      const response = await organization.call('POST', '/v5/contacts', { body: { email } })
      statuses.add(response.status)
      if (response.status === 201) acknowledged.push(email)
    }
  })
  await until('some are acknowledged', () => acknowledged.length > 20)
  await server.stop('fast')
  await until('some are refused', () => statuses.has(503))
  server = await start()
  const before = acknowledged.length
  await until('some more are acknowledged', () => acknowledged.length > before + 20)
  isDone = true
  await Promise.all(senders)
  expect([...statuses].sort()).toEqual([201, 503])
  for (const email of acknowledged) {
    const found = await organization.call('GET', `/v5/contacts?filter.email.equals=${encodeURIComponent(email)}`)
    expect(found.body).toHaveLength(1)
  }
})

test('a frozen database causes 503 within five seconds for reads and writes, however many wait', async () => {
  const slowest = await least(
    maxMilliseconds,
    async () => {
      // The backends must freeze too, because they would still respond.
      const client = new pg.Client(clusterConnection(join(folder, 'socket')))
      await client.connect()
      const { rows } = await client.query<{ pid: number }>(
        `select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
      )
      await client.end()
      const pids = [server.pid, ...rows.map(({ pid }) => pid)]
      for (const pid of pids) process.kill(pid, 'SIGSTOP')
      try {
        const responses = await Promise.all([
          ...Array.from({ length: 20 }, () => timedCall('GET', '/v5/contacts')),
          ...Array.from({ length: 5 }, (_, index) =>
            timedCall('POST', '/v5/contacts', { email: `frozen-${index}@example.com` }),
          ),
        ])
        responses.forEach(expectRefused)
        return Math.max(...responses.map(({ milliseconds }) => milliseconds))
      } finally {
        for (const pid of pids) process.kill(pid, 'SIGCONT')
      }
    },
    3,
  )
  expect(slowest).toBeLessThan(maxMilliseconds)
  expect((await organization.call('GET', '/v5/contacts')).status).toBe(200)
}, 30_000)

test('a database without free connections causes 503, and the service recovers once there are some', async () => {
  const connection = clusterConnection(join(folder, 'socket'))
  const occupiers: pg.Client[] = []
  const occupyFree = async () => {
    for (;;) {
      const occupier = new pg.Client({ ...connection, application_name: 'occupier' })
      const isConnected = await occupier.connect().then(
        () => true,
        () => false,
      )
      if (!isConnected) return
      occupiers.push(occupier)
    }
  }
  await occupyFree()
  // The service may be as fast in taking those that become free.
  await until('the service has no connection, and none is free', async () => {
    await occupiers[0]?.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where backend_type = 'client backend' and application_name <> 'occupier'`)
    await occupyFree()
    return service.database.counts.total === 0
  })
  expectUnavailable(await timedCall('GET', '/v5/contacts'))
  for (const occupier of occupiers) await occupier.end()
  await until('there are connections', async () => (await organization.call('GET', '/v5/contacts')).status === 200)
})

test('the web application is served while the database does not respond', async () => {
  process.kill(server.pid, 'SIGSTOP')
  const page = await service.anonymous('GET', '/contacts', { headers: { accept: 'text/html' } })
  expect(page.status).toBe(200)
  const script = /src="(\/assets\/[^"]+)"/.exec(page.text)?.[1] ?? ''
  expect((await service.anonymous('GET', script)).headers.get('content-type')).toMatch(/^text\/javascript/)
})
