import type pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ConnectionQueue } from './connection-queue.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const client = () => ({ release: () => undefined }) as unknown as pg.PoolClient
const connect = async () => client()
const defaultDeadline = () => performance.now() + 4500

/** Requests a connection and returns its state. */
async function requestConnection(queue: ConnectionQueue, deadline = defaultDeadline()) {
  const place: { client?: pg.PoolClient; error?: unknown } = {}
  queue.acquire(connect, deadline).then(
    (given) => (place.client = given),
    (error: unknown) => (place.error = error),
  )
  await flush()
  return place
}

const flush = () => vi.advanceTimersByTimeAsync(0)

test('the number of connections in use is limited, and a release serves the next in line', async () => {
  const queue = new ConnectionQueue(2)
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
  const queue = new ConnectionQueue(1)
  const [first, second] = [await requestConnection(queue), await requestConnection(queue)]
  await vi.advanceTimersByTimeAsync(100)
  expect(second.client).toBeDefined()
  first.client?.release()
  const third = await requestConnection(queue)
  expect(third.client).toBeUndefined()
})

test('a connection that cannot be opened frees its slot', async () => {
  const queue = new ConnectionQueue(1)
  await expect(queue.acquire(() => Promise.reject(new Error('away')), defaultDeadline())).rejects.toThrow('away')
  expect((await requestConnection(queue)).client).toBeDefined()
})

test('a request past its deadline gets no connection', async () => {
  const queue = new ConnectionQueue(1)
  const first = await requestConnection(queue)
  const late = await requestConnection(queue, performance.now() + 50)
  const next = await requestConnection(queue)
  await vi.advanceTimersByTimeAsync(60)
  first.client?.release()
  await flush()
  expect([late.error, next.client]).toEqual([expect.any(Error), expect.anything()])
})

test('longestWait reports the longest waiter that is not past its deadline', async () => {
  const queue = new ConnectionQueue(1)
  await requestConnection(queue)
  await requestConnection(queue, performance.now() + 50)
  await vi.advanceTimersByTimeAsync(30)
  await requestConnection(queue)
  expect(queue.longestWait).toBe(30)
  await vi.advanceTimersByTimeAsync(40)
  expect(queue.longestWait).toBe(40)
})
