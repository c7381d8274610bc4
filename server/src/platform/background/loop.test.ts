import { expect, test } from 'vitest'
import { startLoop } from './loop.ts'
import { retryTransient } from './retry.ts'

const hour = 3_600_000

/** A loop that counts its runs; `run` decides what each returns. */
function startCountedLoop(run: (count: number, signal: AbortSignal) => Promise<number>, retryMilliseconds = hour) {
  const errors: unknown[] = []
  const counts = { runs: 0 }
  const loop = startLoop({
    ready: Promise.resolve(),
    retryMilliseconds,
    onError: (error) => errors.push(error),
    run: (signal) => run(++counts.runs, signal),
  })
  return { loop, errors, counts }
}

const flushEvents = async (count = 20) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('the loop runs again immediately after work and when woken, even during a run', async () => {
  const { loop, counts } = startCountedLoop(async (count) => {
    if (count === 3) loop.wake()
    return count < 2 ? 0 : hour
  })
  await flushEvents()
  expect(counts.runs).toBe(2)
  loop.wake()
  await flushEvents()
  expect(counts.runs).toBe(4)
  await loop.close()
  expect(counts.runs).toBe(4)
})

test('after a failed run the loop reports the error and waits, even if woken; close ends the wait', async () => {
  const unavailable = new Error('away')
  const { loop, errors, counts } = startCountedLoop(() => Promise.reject(unavailable))
  await flushEvents()
  loop.wake()
  await flushEvents()
  expect({ errors, ...counts }).toEqual({ errors: [unavailable], runs: 1 })
  await loop.close()
})

test('close aborts the current run and waits for it; a loop that never became ready does not run', async () => {
  let isOver = false
  const { loop } = startCountedLoop(async (_, signal) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    isOver = true
    return 0
  })
  await flushEvents()
  await loop.close()
  expect(isOver).toBe(true)
  let runs = 0
  const ready = Promise.reject(new Error('no database'))
  const run = async () => ++runs
  await startLoop({ ready, retryMilliseconds: 1, onError: () => undefined, run }).close()
  expect(runs).toBe(0)
})

const unavailable = new Error('away')
const isTransient = (error: unknown) => error === unavailable

/** Fails with these errors in turn, then succeeds; counts the calls. */
function failingOperation(errors: readonly Error[]) {
  let count = 0
  return {
    count: () => count,
    write: async () => {
      const error = errors[count++]
      if (error) throw error
    },
  }
}

test('transient errors are retried, others are thrown immediately', async () => {
  const options = { signal: new AbortController().signal, deadline: performance.now() + hour, isTransient }
  const worked = failingOperation([unavailable])
  expect(await retryTransient(options, worked.write)).toBeUndefined()
  expect(worked.count()).toBe(2)
  const broken = new Error('broken')
  await expect(retryTransient(options, failingOperation([broken]).write)).rejects.toBe(broken)
})

test('at the deadline the last error is returned; after an abort there is one more attempt', async () => {
  const closing = new AbortController()
  const { signal } = closing
  const [late, closed] = [
    failingOperation([unavailable, unavailable, unavailable]),
    failingOperation([unavailable, unavailable, unavailable]),
  ]
  expect(await retryTransient({ signal, deadline: performance.now(), isTransient }, late.write)).toEqual({
    lastError: unavailable,
  })
  expect(late.count()).toBe(1)
  const stored = retryTransient({ signal, deadline: performance.now() + hour, isTransient }, closed.write)
  closing.abort()
  await expect(stored).rejects.toBe(unavailable)
  expect(closed.count()).toBeLessThan(3)
})
