import { expect, test } from 'vitest'
import { ApiError } from '../../platform/model/errors.ts'
import { createHashQueue } from './hash-queue.ts'

/** Works that stay until they are told to end. */
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

test('two run at a time at most, 32 wait, and the next is told to come back', async () => {
  const queue = createHashQueue({ concurrency: 2, waitMilliseconds: 60_000 })
  const { ends, work, peak } = blockedTasks()
  const accepted = Array.from({ length: 34 }, () => queue.run('stranger', 'a', work))
  for (let more = 0; more < 5; more++) {
    expect(isOverloaded(await queue.run('stranger', 'a', work).catch((error: unknown) => error))).toBe(true)
  }
  for (let done = 0; done < accepted.length; done++) {
    while (ends.length <= done) await new Promise((resolve) => setImmediate(resolve))
    ends[done]?.()
  }
  await Promise.all(accepted)
  expect(peak()).toBe(2)
})

test('one that waited too long is refused, was never started, and leaves its place to others', async () => {
  const queue = createHashQueue({ concurrency: 1, queue: 1, waitMilliseconds: 10 })
  const { ends, work } = blockedTasks()
  const first = queue.run('stranger', 'a', work)
  expect(isOverloaded(await queue.run('stranger', 'a', work).catch((error: unknown) => error))).toBe(true)
  expect(ends).toHaveLength(1)
  const next = queue.run('stranger', 'a', work)
  ends[0]?.()
  await first
  while (ends.length < 2) await new Promise((resolve) => setImmediate(resolve))
  ends[1]?.()
  await next
})

test('a work that fails gives its turn back', async () => {
  const queue = createHashQueue({ concurrency: 1 })
  await expect(queue.run('stranger', 'a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await queue.run('stranger', 'a', () => Promise.resolve('yes'))).toBe('yes')
})

test('whoever fills the queue waits for themselves: another is let in, a turn later', async () => {
  const queue = createHashQueue({ concurrency: 1, queue: 4, waitMilliseconds: 60_000 })
  const { ends, work } = blockedTasks()
  const order: string[] = []
  const submit = (clientKey: string) =>
    queue.run('stranger', clientKey, work).then(
      () => order.push(clientKey),
      () => order.push(`${clientKey} refused`),
    )
  const all = [...Array.from({ length: 5 }, () => submit('a')), submit('b')]
  for (let done = 0; done < 5; done++) {
    while (ends.length <= done) await new Promise((resolve) => setImmediate(resolve))
    ends[done]?.()
  }
  await Promise.all(all)
  expect(order).toEqual(['a refused', 'a', 'a', 'b', 'a', 'a'])
})

test('known callers and strangers take turns: neither number keeps the other out', async () => {
  const queue = createHashQueue({ concurrency: 1, queue: 4, waitMilliseconds: 60_000 })
  const { ends, work } = blockedTasks()
  const order: string[] = []
  const submit = (callerKind: 'known' | 'stranger', clientKey: string) =>
    queue.run(callerKind, clientKey, work).then(
      () => order.push(callerKind),
      () => order.push(`${callerKind} refused`),
    )
  // From an address each, so that none takes another's place in the queue.
  const all = [
    ...Array.from({ length: 7 }, (_, index) => submit('stranger', `s${index}`)),
    ...Array.from({ length: 3 }, (_, index) => submit('known', `k${index}`)),
  ]
  for (let done = 0; done < 8; done++) {
    while (ends.length <= done) await new Promise((resolve) => setImmediate(resolve))
    ends[done]?.()
  }
  await Promise.all(all)
  const turns = order.filter((outcome) => !outcome.includes('refused'))
  expect(turns).toEqual(['stranger', 'known', 'stranger', 'known', 'stranger', 'known', 'stranger', 'stranger'])
  expect(order.filter((outcome) => outcome.includes('refused'))).toEqual(['stranger refused', 'stranger refused'])
})
