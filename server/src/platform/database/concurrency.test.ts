import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { commonTenant } from './connection-queue.ts'
import { Database } from './database.ts'
import { until } from '../../../test/processes.ts'

const size = 2 * availableParallelism() + 3

/** No server listens here: the number of concurrent statements shows before the first one fails. */
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-turns-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function concurrentStatements(
  connection: { host: string; port: number } | { connectionString: string },
): Promise<number> {
  const database = new Database({ connection, size, limitConcurrency: true, deadline: 500 })
  const pings = Array.from({ length: size }, () => database.ping())
  const { total } = database.counts
  await Promise.allSettled(pings)
  await database.close()
  return total
}

test('over a Unix socket concurrent statements are limited, also when a connection string names the socket', async () => {
  expect(await concurrentStatements({ host: folder, port: 5432 })).toBe(size - 3)
  expect(await concurrentStatements({ connectionString: `postgres://somebody@/rapport?host=${folder}` })).toBe(size - 3)
})

test('statements to another machine are limited only by the connections, of which a quarter is for other tenants', async () => {
  const own = size - Math.floor(size / 4)
  expect(await concurrentStatements({ connectionString: 'postgres://somebody@127.0.0.1:1/rapport' })).toBe(own)
})

test('an unreadable connection string fails the statements, not the constructor', async () => {
  const connectionString = `postgres://somebody@localhost/rapport?sslrootcert=${join(folder, 'missing.pem')}`
  expect(await concurrentStatements({ connectionString })).toBe(0)
})

test('requests whose connection is being opened count once, and only more than twice the connections predict a wait', async () => {
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => void sockets.add(socket.on('error', () => undefined)))
  await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as AddressInfo
  const database = new Database({ connection: { host: '127.0.0.1', port, user: 'somebody' }, size })
  vi.useFakeTimers({ toFake: ['performance'] })
  const pingAll = () => Promise.allSettled(Array.from({ length: size }, () => database.ping()))
  const pings = [pingAll()]
  vi.advanceTimersByTime(2000)
  const asMany = database.longestWait(commonTenant)
  pings.push(pingAll())
  const twiceAsMany = database.longestWait(commonTenant)
  vi.useRealTimers()
  expect([asMany, twiceAsMany]).toEqual([0, 1000])
  await until('every connection is being opened', () => sockets.size === size)
  silent.close()
  for (const socket of sockets) socket.destroy()
  await Promise.all(pings)
  await database.close()
})
