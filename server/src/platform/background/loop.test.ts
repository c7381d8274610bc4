import { expect, test } from 'vitest'
import { startLoop } from './loop.ts'
import { retryTransient } from './retry.ts'

const long = 3_600_000

/** A loop whose runs are counted, and what `run` says of each. */
function counted(run: (count: number, signal: AbortSignal) => Promise<number>, retryMilliseconds = long) {
  const errors: unknown[] = []
  const counts = { runs: 0 }
  const loop = startLoop({
    ready: Promise.resolve(),
    retryMilliseconds,
    failed: (error) => errors.push(error),
    run: (signal) => run(++counts.runs, signal),
  })
  return { loop, errors, counts }
}

const turns = async (count = 20) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('it runs again at once after work, and when it is woken; a wake during a run is not missed', async () => {
  const { loop, counts } = counted(async (count) => {
    if (count === 3) loop.wake()
    return count < 2 ? 0 : long
  })
  await turns()
  expect(counts.runs).toBe(2)
  loop.wake()
  await turns()
  expect(counts.runs).toBe(4)
  await loop.close()
  expect(counts.runs).toBe(4)
})

test('a failed run is reported and waited for, whoever wakes it; the close ends the wait', async () => {
  const away = new Error('away')
  const { loop, errors, counts } = counted(() => Promise.reject(away))
  await turns()
  loop.wake()
  await turns()
  expect({ errors, ...counts }).toEqual({ errors: [away], runs: 1 })
  await loop.close()
})

test('the close waits for the run under way, which sees the signal; what never became ready does nothing', async () => {
  let isOver = false
  const { loop } = counted(async (_, signal) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    isOver = true
    return 0
  })
  await turns()
  await loop.close()
  expect(isOver).toBe(true)
  let runs = 0
  const ready = Promise.reject(new Error('no database'))
  const run = async () => ++runs
  await startLoop({ ready, retryMilliseconds: 1, failed: () => undefined, run }).close()
  expect(runs).toBe(0)
})

const away = new Error('away')
const isTransient = (error: unknown) => error === away

/** Fails with these errors, one after the other, and works then; counts. */
function failing(errors: readonly Error[]) {
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
  const options = { signal: new AbortController().signal, end: performance.now() + long, isTransient }
  const worked = failing([away])
  expect(await retryTransient(options, worked.write)).toBeUndefined()
  expect(worked.count()).toBe(2)
  const broken = new Error('broken')
  await expect(retryTransient(options, failing([broken]).write)).rejects.toBe(broken)
})

test('at the end the last error is given, and after the abort it is tried once more alone', async () => {
  const closing = new AbortController()
  const { signal } = closing
  const [late, closed] = [failing([away, away, away]), failing([away, away, away])]
  expect(await retryTransient({ signal, end: performance.now(), isTransient }, late.write)).toEqual({ failed: away })
  expect(late.count()).toBe(1)
  const stored = retryTransient({ signal, end: performance.now() + long, isTransient }, closed.write)
  closing.abort()
  await expect(stored).rejects.toBe(away)
  expect(closed.count()).toBeLessThan(3)
})
