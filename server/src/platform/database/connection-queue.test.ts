import type pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ConnectionQueue } from './connection-queue.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const client = () => ({ release: () => undefined }) as unknown as pg.PoolClient
const connect = async () => client()
const defaultDeadline = () => performance.now() + 4500

const queueOf = (statements: number, connections = 8) =>
  new ConnectionQueue({ connections, statements, isShared: true })

/** Requests a connection and returns its state. */
async function requestConnection(queue: ConnectionQueue, { tenant = 'one', deadline = defaultDeadline() } = {}) {
  const place: { client?: pg.PoolClient; error?: unknown } = {}
  queue.acquire(tenant, connect, deadline).then(
    (given) => (place.client = given),
    (error: unknown) => (place.error = error),
  )
  await flush()
  return place
}

const flush = () => vi.advanceTimersByTimeAsync(0)

test('the number of connections in use is limited, and a release serves the next in line', async () => {
  const queue = queueOf(2)
  const [first, , third, fourth] = [
    await requestConnection(queue),
    await requestConnection(queue),
    await requestConnection(queue),
    await requestConnection(queue),
  ]
  expect([third.client, fourth.client, queue.length]).toEqual([undefined, undefined, 2])
  first.client?.release()
  await flush()
  expect([third.client === undefined, fourth.client === undefined, queue.length]).toEqual([false, true, 1])
})

test('a connection in use for long frees its slot for others, and only once', async () => {
  const queue = queueOf(1)
  const [first, second] = [await requestConnection(queue), await requestConnection(queue)]
  await vi.advanceTimersByTimeAsync(100)
  expect(second.client).toBeDefined()
  first.client?.release()
  const third = await requestConnection(queue)
  expect(third.client).toBeUndefined()
})

test('a connection that cannot be opened frees its slot', async () => {
  const queue = queueOf(1)
  await expect(queue.acquire('one', () => Promise.reject(new Error('away')), defaultDeadline())).rejects.toThrow('away')
  expect((await requestConnection(queue)).client).toBeDefined()
})

test('a request past its deadline gets no connection', async () => {
  const queue = queueOf(1)
  const first = await requestConnection(queue)
  const late = await requestConnection(queue, { deadline: performance.now() + 50 })
  const next = await requestConnection(queue)
  await vi.advanceTimersByTimeAsync(60)
  first.client?.release()
  await flush()
  expect([late.error, next.client]).toEqual([expect.any(Error), expect.anything()])
})

test('longestWait reports the tenant’s longest waiter that is not past its deadline, if there are many', async () => {
  const queue = queueOf(1, 2)
  await requestConnection(queue)
  await requestConnection(queue, { deadline: performance.now() + 50 })
  await vi.advanceTimersByTimeAsync(30)
  await requestConnection(queue)
  expect(queue.longestWait('one', 0)).toBe(30)
  await vi.advanceTimersByTimeAsync(40)
  // One of the two is past its deadline.
  expect(queue.longestWait('one', 0)).toBe(0)
  await requestConnection(queue)
  expect(queue.longestWait('one', 0)).toBe(40)
  expect(queue.longestWait('two', 0)).toBe(0)
})

test('statements that wait for locks leave a quarter of the connections to other tenants', async () => {
  const queue = queueOf(Infinity)
  const greedy = []
  for (let count = 0; count < 10; count++) greedy.push(await requestConnection(queue))
  expect(greedy.filter(({ client: given }) => given).length).toBe(6)
  const others = [await requestConnection(queue, { tenant: 'two' }), await requestConnection(queue, { tenant: 'two' })]
  const third = await requestConnection(queue, { tenant: 'three' })
  // One for each of them; the second one waits for the first.
  expect([...others, third].map(({ client: given }) => given !== undefined)).toEqual([true, false, true])
  others[0]?.client?.release()
  await flush()
  expect(others[1]?.client).toBeDefined()
  expect(greedy.filter(({ client: given }) => given).length).toBe(6)
})

test('a tenant without a running statement starts one, however many another tenant has running and waiting', async () => {
  const queue = queueOf(2)
  for (let count = 0; count < 6; count++) await requestConnection(queue)
  const other = await requestConnection(queue, { tenant: 'two' })
  expect(other.client).toBeDefined()
})

test('a full queue rejects those with the largest share of it', async () => {
  const queue = queueOf(1, 2)
  for (let count = 0; count < 35; count++) await requestConnection(queue)
  for (let count = 0; count < 4; count++) await requestConnection(queue, { tenant: 'two' })
  expect([queue.longestWait('one', 0), queue.longestWait('two', 0), queue.longestWait('three', 0)]).toEqual([
    Infinity,
    0,
    0,
  ])
})
