import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ApiError } from '../model/errors.ts'
import {
  createConcurrencyLimiter,
  type ConcurrencyLimiter,
  createFairSemaphore,
  createKeyedLimiter,
  type Release,
} from './concurrency-limiter.ts'

/** Tasks that end when the test says so, listed in the order in which they started. */
function controlledTasks(limiter: ConcurrencyLimiter) {
  const started: string[] = []
  const endings = new Map<string, () => void>()
  const outcomes = new Map<string, Promise<unknown>>()
  return {
    started,
    run(organization: string, name: string): Promise<unknown> {
      const outcome = limiter
        .run(organization, () => {
          started.push(name)
          return new Promise<string>((resolve) => endings.set(name, () => resolve(name)))
        })
        .catch((error: unknown) => error)
      outcomes.set(name, outcome)
      return outcome
    },
    /** Ends a task and lets the next one start. */
    async end(name: string): Promise<void> {
      endings.get(name)?.()
      await outcomes.get(name)
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

const overloaded = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'overloaded' && Number(error.headers['retry-after']) >= 1

const baseOptions = { concurrency: 2, queue: 64, waitMilliseconds: 10_000 }

test('no more tasks run at once than allowed, and the others run in order', async () => {
  const { started, run, end } = controlledTasks(createConcurrencyLimiter(baseOptions))
  for (const name of ['1', '2', '3', '4']) void run('a', name)
  expect(started).toEqual(['1', '2'])
  await end('2')
  expect(started).toEqual(['1', '2', '3'])
  await end('3')
  expect(started).toEqual(['1', '2', '3', '4'])
  await end('1')
  await end('4')
})

test('run resolves to the result of the task', async () => {
  expect(await createConcurrencyLimiter(baseOptions).run('a', () => Promise.resolve(42))).toBe(42)
})

test('fifty waiting tasks of one organization do not delay the task of another', async () => {
  const { started, run, end } = controlledTasks(createConcurrencyLimiter(baseOptions))
  for (let index = 0; index < 52; index += 1) void run('a', `a${index}`)
  void run('b', 'b')
  await end('a0')
  expect(started).toEqual(['a0', 'a1', 'b'])
  for (let index = 1; index < 52; index += 1) await end(`a${index}`)
  await end('b')
  expect(started).toHaveLength(53)
})

test('reserved slots are only for organizations that hold none', async () => {
  const createError = (reason: string) => new Error(reason)
  const semaphore = createFairSemaphore({ concurrency: 2, reserved: 1, queue: 64, createError })
  const started: string[] = []
  const releases: Release[] = []
  const acquire = async (organization: string) => {
    releases.push(await semaphore.acquire(organization, 10_000))
    started.push(organization)
  }
  const all = Promise.all(['a', 'a', 'a', 'b', 'c', 'b'].map(acquire))
  await new Promise((resolve) => setImmediate(resolve))
  expect(started).toEqual(['a', 'a', 'b'])
  releases.shift()?.()
  await new Promise((resolve) => setImmediate(resolve))
  expect(started).toEqual(['a', 'a', 'b', 'c'])
  while (started.length < 6) {
    releases.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await all
})

test('next to others, an organization holds no more than its share, and a second after them all again', async () => {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const createError = (reason: string) => new Error(reason)
  const semaphore = createFairSemaphore({ concurrency: 4, share: 2, queue: 64, createError })
  const releases: Release[] = []
  let started = ''
  const acquire = async (organization: string) => {
    const release = await semaphore.acquire(organization, 10_000)
    started += organization
    if (organization === 'a') releases.push(release)
    else release()
  }
  const flush = () => new Promise((resolve) => setImmediate(resolve))
  for (const organization of 'aaa') void acquire(organization)
  await flush()
  expect(started).toBe('aaa')
  for (const organization of 'baaa') void acquire(organization)
  await flush()
  expect(started).toBe('aaab')
  releases.shift()?.()
  await flush()
  expect(started).toBe('aaab')
  releases.shift()?.()
  await flush()
  expect(started).toBe('aaaba')
  now += 1001
  releases.shift()?.()
  await flush()
  expect(started).toBe('aaabaaa')
})

test('organizations take turns when one task runs at a time', async () => {
  const { started, run, end } = controlledTasks(createConcurrencyLimiter({ ...baseOptions, concurrency: 1 }))
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void run(name.charAt(0), name)
  for (let index = 0; index < 6; index += 1) await end(started.at(-1) ?? '')
  expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2'])
})

test('a keyed limiter limits the tasks of each key, and a full key delays no other', async () => {
  const { started, run, end } = controlledTasks(createKeyedLimiter({ ...baseOptions, concurrency: 1, queue: 1 }))
  for (const name of ['a1', 'a2', 'b1']) void run(name.charAt(0), name)
  expect(overloaded(await run('a', 'a3'))).toBe(true)
  expect(started).toEqual(['a1', 'b1'])
  for (const name of ['a1', 'a2', 'b1']) await end(name)
  expect(started).toEqual(['a1', 'b1', 'a2'])
})

test('a full queue rejects a task immediately and does not start it', async () => {
  const { started, run, end } = controlledTasks(createConcurrencyLimiter({ ...baseOptions, concurrency: 1, queue: 2 }))
  for (const name of ['1', '2', '3']) void run('a', name)
  expect(overloaded(await run('a', '4'))).toBe(true)
  for (const name of ['1', '2', '3']) await end(name)
  expect(started).toEqual(['1', '2', '3'])
})

test('a newcomer replaces the newest waiter of the organization that fills the queue', async () => {
  const { started, run, end } = controlledTasks(createConcurrencyLimiter({ ...baseOptions, concurrency: 1, queue: 4 }))
  for (const name of ['a1', 'a2', 'a3', 'a4']) void run('a', name)
  const newest = run('a', 'a5')
  void run('b', 'b1')
  expect(overloaded(await newest)).toBe(true)
  void run('b', 'b2')
  // Both have two waiters now, so neither may take more.
  expect(overloaded(await run('b', 'b3'))).toBe(true)
  expect(overloaded(await run('a', 'a6'))).toBe(true)
  for (let index = 0; index < 5; index += 1) await end(started.at(-1) ?? '')
  expect(started).toEqual(['a1', 'a2', 'b1', 'a3', 'b2'])
})

test('a task that waits too long is rejected and frees its place in the queue', async () => {
  const { started, run, end } = controlledTasks(
    createConcurrencyLimiter({ concurrency: 1, queue: 1, waitMilliseconds: 20 }),
  )
  void run('a', '1')
  expect(overloaded(await run('a', '2'))).toBe(true)
  const third = run('b', '3')
  await end('1')
  expect(started).toEqual(['1', '3'])
  await end('3')
  expect(await third).toBe('3')
})

test('tasks that throw, synchronously or later, release their slot', async () => {
  const limiter = createConcurrencyLimiter({ ...baseOptions, concurrency: 1 })
  const thrown = new Error('thrown')
  for (let round = 0; round < 3; round += 1) {
    await expect(limiter.run('a', () => Promise.reject(thrown))).rejects.toBe(thrown)
    await expect(
      limiter.run('a', () => {
        throw thrown
      }),
    ).rejects.toBe(thrown)
  }
  expect(await limiter.run('b', () => Promise.resolve('still open'))).toBe('still open')
})

test('in any order of events, no more tasks run than allowed, and each one runs or is rejected', async () => {
  const steps = fc.array(fc.oneof(fc.constantFrom('a', 'b', 'c'), fc.constant('end')), { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 0, max: 4 }),
      async (sequence, concurrency, queue) => {
        const { started, run, end } = controlledTasks(createConcurrencyLimiter({ ...baseOptions, concurrency, queue }))
        const outcomes: Promise<unknown>[] = []
        let ended = 0
        const endOne = async () => {
          const name = started[ended]
          if (name === undefined) return
          ended += 1
          await end(name)
        }
        for (const step of sequence) {
          if (step === 'end') await endOne()
          else outcomes.push(run(step, `${step}${outcomes.length}`))
          expect(started.length - ended).toBeLessThanOrEqual(concurrency)
        }
        while (ended < started.length) await endOne()
        const settled = await Promise.all(outcomes)
        expect(settled.filter((outcome) => overloaded(outcome))).toHaveLength(outcomes.length - started.length)
      },
    ),
  )
})
