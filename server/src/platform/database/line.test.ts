import type pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Line } from './line.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const client = () => ({ release: () => undefined }) as unknown as pg.PoolClient
const connect = async () => client()
const soon = () => performance.now() + 4500

/** Asks for a connection, and tells whether it has come. */
async function come(line: Line, deadline = soon()) {
  const place: { client?: pg.PoolClient; error?: unknown } = {}
  line.pass(connect, deadline).then(
    (given) => (place.client = given),
    (error: unknown) => (place.error = error),
  )
  await settle()
  return place
}

const settle = () => vi.advanceTimersByTimeAsync(0)

test('so many have a connection at a time, and a release is the turn of whoever came next', async () => {
  const line = new Line(2)
  const [first, , third, fourth] = [await come(line), await come(line), await come(line), await come(line)]
  expect([third.client, fourth.client, line.length]).toEqual([undefined, undefined, 2])
  first.client?.release()
  await settle()
  expect([third.client === undefined, fourth.client === undefined, line.length]).toEqual([false, true, 1])
})

test('whoever keeps a connection for long keeps nobody from a turn, and counts once', async () => {
  const line = new Line(1)
  const [first, second] = [await come(line), await come(line)]
  await vi.advanceTimersByTimeAsync(100)
  expect(second.client).toBeDefined()
  first.client?.release()
  const third = await come(line)
  expect(third.client).toBeUndefined()
})

test('a connection that could not be made ends the turn', async () => {
  const line = new Line(1)
  await expect(line.pass(() => Promise.reject(new Error('away')), soon())).rejects.toThrow('away')
  expect((await come(line)).client).toBeDefined()
})

test('nobody has a turn whose time is over', async () => {
  const line = new Line(1)
  const first = await come(line)
  const late = await come(line, performance.now() + 50)
  const next = await come(line)
  await vi.advanceTimersByTimeAsync(60)
  first.client?.release()
  await settle()
  expect([late.error, next.client]).toEqual([expect.any(Error), expect.anything()])
})

test('the one who has waited longest says how long the line is, unless their time is over', async () => {
  const line = new Line(1)
  await come(line)
  await come(line, performance.now() + 50)
  await vi.advanceTimersByTimeAsync(30)
  await come(line)
  expect(line.longestWait).toBe(30)
  await vi.advanceTimersByTimeAsync(40)
  expect(line.longestWait).toBe(40)
})
