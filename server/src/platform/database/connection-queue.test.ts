import type pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ConnectionQueue } from './connection-queue.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const client = () => ({ release: () => undefined }) as unknown as pg.PoolClient
const connect = async () => client()
const defaultDeadline = () => performance.now() + 4500

/** Asks for a connection, and tells whether it has come. */
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

test('so many have a connection at a time, and a release is the turn of whoever came next', async () => {
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

test('whoever keeps a connection for long keeps nobody from a turn, and counts once', async () => {
  const queue = new ConnectionQueue(1)
  const [first, second] = [await requestConnection(queue), await requestConnection(queue)]
  await vi.advanceTimersByTimeAsync(100)
  expect(second.client).toBeDefined()
  first.client?.release()
  const third = await requestConnection(queue)
  expect(third.client).toBeUndefined()
})

test('a connection that could not be made ends the turn', async () => {
  const queue = new ConnectionQueue(1)
  await expect(queue.acquire(() => Promise.reject(new Error('away')), defaultDeadline())).rejects.toThrow('away')
  expect((await requestConnection(queue)).client).toBeDefined()
})

test('nobody has a turn whose time is over', async () => {
  const queue = new ConnectionQueue(1)
  const first = await requestConnection(queue)
  const late = await requestConnection(queue, performance.now() + 50)
  const next = await requestConnection(queue)
  await vi.advanceTimersByTimeAsync(60)
  first.client?.release()
  await flush()
  expect([late.error, next.client]).toEqual([expect.any(Error), expect.anything()])
})

test('the one who has waited longest says how long the line is, unless their time is over', async () => {
  const queue = new ConnectionQueue(1)
  await requestConnection(queue)
  await requestConnection(queue, performance.now() + 50)
  await vi.advanceTimersByTimeAsync(30)
  await requestConnection(queue)
  expect(queue.longestWait).toBe(30)
  await vi.advanceTimersByTimeAsync(40)
  expect(queue.longestWait).toBe(40)
})
