import { expect, test } from 'vitest'
import { startLoop } from './loop.ts'
import { retryTransient } from './retry.ts'

const hour = 3_600_000

/** A loop whose runs are counted, and what `run` says of each. */
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

test('it runs again at once after work, and when it is woken; a wake during a run is not missed', async () => {
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

test('a failed run is reported and waited for, whoever wakes it; the close ends the wait', async () => {
  const unavailable = new Error('away')
  const { loop, errors, counts } = startCountedLoop(() => Promise.reject(unavailable))
  await flushEvents()
  loop.wake()
  await flushEvents()
  expect({ errors, ...counts }).toEqual({ errors: [unavailable], runs: 1 })
  await loop.close()
})

test('the close waits for the run under way, which sees the signal; what never became ready does nothing', async () => {
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

/** Fails with these errors, one after the other, and works then; counts. */
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

test('what passes by itself is retried, what does not is an error at once', async () => {
  const options = { signal: new AbortController().signal, deadline: performance.now() + hour, isTransient }
  const worked = failingOperation([unavailable])
  expect(await retryTransient(options, worked.write)).toBeUndefined()
  expect(worked.count()).toBe(2)
  const broken = new Error('broken')
  await expect(retryTransient(options, failingOperation([broken]).write)).rejects.toBe(broken)
})

test('at the end the last error is given, and after the abort it is tried once more alone', async () => {
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
