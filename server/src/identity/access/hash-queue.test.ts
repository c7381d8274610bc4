import { expect, test } from 'vitest'
import { ApiError } from '../../platform/model/errors.ts'
import { createHashQueue } from './hash-queue.ts'

/** Jobs that run until the test ends them. */
function blockedTasks() {
  const ends: (() => void)[] = []
  let [running, peak] = [0, 0]
  return {
    ends,
    peak: () => peak,
    work: async () => {
      peak = Math.max(peak, ++running)
      await new Promise<void>((resolve) => ends.push(resolve))
      running--
    },
  }
}

const isOverloaded = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 503 && Number(error.headers['retry-after']) >= 1

test('at most two jobs run, 32 wait, and the next ones get a 503 with Retry-After', async () => {
  const queue = createHashQueue({ concurrency: 2, waitMilliseconds: 60_000 })
  const { ends, work, peak } = blockedTasks()
  const accepted = Array.from({ length: 34 }, () => queue.run('unknown', 'a', work))
  for (let more = 0; more < 5; more++) {
    expect(isOverloaded(await queue.run('unknown', 'a', work).catch((error: unknown) => error))).toBe(true)
  }
  for (let done = 0; done < accepted.length; done++) {
    while (ends.length <= done) await new Promise((resolve) => setImmediate(resolve))
    ends[done]?.()
  }
  await Promise.all(accepted)
  expect(peak()).toBe(2)
})

test('a job that waited too long is rejected without being started, and its place becomes free', async () => {
  const queue = createHashQueue({ concurrency: 1, queue: 1, waitMilliseconds: 10 })
  const { ends, work } = blockedTasks()
  const first = queue.run('unknown', 'a', work)
  expect(isOverloaded(await queue.run('unknown', 'a', work).catch((error: unknown) => error))).toBe(true)
  expect(ends).toHaveLength(1)
  const next = queue.run('unknown', 'a', work)
  ends[0]?.()
  await first
  while (ends.length < 2) await new Promise((resolve) => setImmediate(resolve))
  ends[1]?.()
  await next
})

test('a failed job frees its slot', async () => {
  const queue = createHashQueue({ concurrency: 1 })
  await expect(queue.run('unknown', 'a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await queue.run('unknown', 'a', () => Promise.resolve('yes'))).toBe('yes')
})

test('a client that fills the queue delays only itself: another client is served next', async () => {
  const queue = createHashQueue({ concurrency: 1, queue: 4, waitMilliseconds: 60_000 })
  const { ends, work } = blockedTasks()
  const order: string[] = []
  const submit = (clientKey: string) =>
    queue.run('unknown', clientKey, work).then(
      () => order.push(clientKey),
      () => order.push(`${clientKey} rejected`),
    )
  const all = [...Array.from({ length: 5 }, () => submit('a')), submit('b')]
  for (let done = 0; done < 5; done++) {
    while (ends.length <= done) await new Promise((resolve) => setImmediate(resolve))
    ends[done]?.()
  }
  await Promise.all(all)
  expect(order).toEqual(['a rejected', 'a', 'a', 'b', 'a', 'a'])
})

test('known and unknown callers alternate, so neither can crowd out the other', async () => {
  const queue = createHashQueue({ concurrency: 1, queue: 4, waitMilliseconds: 60_000 })
  const { ends, work } = blockedTasks()
  const order: string[] = []
  const submit = (callerKind: 'known' | 'unknown', clientKey: string) =>
    queue.run(callerKind, clientKey, work).then(
      () => order.push(callerKind),
      () => order.push(`${callerKind} rejected`),
    )
  // With a different key each, so that none displaces another in the queue.
  const all = [
    ...Array.from({ length: 7 }, (_, index) => submit('unknown', `u${index}`)),
    ...Array.from({ length: 3 }, (_, index) => submit('known', `k${index}`)),
  ]
  for (let done = 0; done < 8; done++) {
    while (ends.length <= done) await new Promise((resolve) => setImmediate(resolve))
    ends[done]?.()
  }
  await Promise.all(all)
  const turns = order.filter((outcome) => !outcome.includes('rejected'))
  expect(turns).toEqual(['unknown', 'known', 'unknown', 'known', 'unknown', 'known', 'unknown', 'unknown'])
  expect(order.filter((outcome) => outcome.includes('rejected'))).toEqual(['unknown rejected', 'unknown rejected'])
})
