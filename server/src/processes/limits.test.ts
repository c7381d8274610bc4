import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { ApiError } from '../platform/model/errors.ts'
import { createLimits, remoteLimits, serveLimits } from './limits.ts'
import { Link } from './link.ts'
import type { PrimaryFunctions } from './protocol.ts'

/** Two connected ends of a channel: what one sends arrives at the other as JSON. */
function channel() {
  const [one, other] = [new End(), new End()]
  one.peer = other
  other.peer = one
  return [one, other] as const
}

class End extends EventEmitter {
  peer: EventEmitter | undefined
  connected = true
  /** Messages held back while the other process is suspended. */
  heldMessages: unknown[] | undefined
  send = (message: unknown): boolean => {
    if (this.heldMessages) this.heldMessages.push(message)
    else setImmediate(() => this.peer?.emit('message', JSON.parse(JSON.stringify(message))))
    return true
  }
  disconnect(): void {
    this.connected = false
    this.emit('disconnect')
  }
}

/** The limits of two workers of one primary. */
function twoWorkers(config: Parameters<typeof createLimits>[0], timeout?: number) {
  const limits = createLimits(config)
  return [0, 1].map(() => {
    const [primary, worker] = channel()
    const { functions, end } = serveLimits(limits)
    new Link(primary, { functions })
    return { ...remoteLimits(new Link<PrimaryFunctions>(worker, { functions: {} }), timeout), end, primary, worker }
  }) as [Remote, Remote]
}
type Remote = ReturnType<typeof remoteLimits> & { end: () => void; primary: End; worker: End }

const config = { rateLimitPerMinute: 60, costlyQueries: 2 }

test('two workers share one rate limit', async () => {
  const [left, right] = twoWorkers(config)
  const charges = await Promise.all(
    Array.from({ length: 80 }, (_, index) => (index % 2 ? left : right).limiter.charge('read', 'one')),
  )
  expect(charges.filter(({ allowed }) => allowed).length).toBe(60)
  expect(charges.find(({ allowed }) => !allowed)?.retryAfterSeconds).toBe(1)
  expect((await left.limiter.charge('read', 'another')).state).toBe('"credential";r=59;t=1')
})

/** Tasks that finish on demand, and how many are running. */
function blockedTasks() {
  const ends: (() => void)[] = []
  let running = 0
  const task = async () => {
    running++
    await new Promise<void>((resolve) => ends.push(resolve))
    running--
  }
  return { work: task, endFirst: () => ends.shift()?.(), running: () => running }
}

const runPendingTasks = async () => {
  for (let round = 0; round < 20; round++) await new Promise((resolve) => setImmediate(resolve))
}

test('unindexed queries of two workers share the slots; those of an exited worker are released', async () => {
  const [left, right] = twoWorkers(config)
  const { work: task, endFirst, running } = blockedTasks()
  const first = [left, right, right].map(({ costlyQueries }) => costlyQueries.run('organization', task))
  await runPendingTasks()
  expect(running()).toBe(2)
  endFirst()
  await runPendingTasks()
  expect(running()).toBe(2)
  // Both running tasks belong to the right worker.
  right.end()
  const next = [left, left].map(({ costlyQueries }) => costlyQueries.run('organization', task))
  await runPendingTasks()
  expect(running()).toBe(4)
  for (let count = 0; count < 4; count++) endFirst()
  await Promise.all([...first, ...next])
})

test('a rejection arrives at the worker as the same error', async () => {
  const [left, right] = twoWorkers({ ...config, costlyQueries: 1 })
  const { work: task, endFirst } = blockedTasks()
  const first = left.costlyQueries.run('one', task)
  await runPendingTasks()
  const waiting = Array.from({ length: 64 }, () => right.costlyQueries.run('one', task))
  await runPendingTasks()
  const error = await left.costlyQueries.run('one', task).catch((refusal: unknown) => refusal)
  expect(error).toBeInstanceOf(ApiError)
  expect(error).toMatchObject({ code: 'overloaded', status: 503, headers: { 'retry-after': '3' } })
  for (let count = 0; count < 65; count++) {
    endFirst()
    await runPendingTasks()
  }
  await Promise.all([first, ...waiting])
})

test('without the primary, requests get 503: immediately if it has exited, after the timeout if it is suspended', async () => {
  const [left, right] = twoWorkers(config, 50)
  left.worker.disconnect()
  await expect(left.limiter.charge('read', 'one')).rejects.toMatchObject({ status: 503 })
  right.worker.heldMessages = []
  await expect(right.limiter.charge('read', 'one')).rejects.toMatchObject({ status: 503 })
})
