import { expect, test } from 'vitest'
import { joinLoops, startLoop } from './loop.ts'

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

test('joined loops are woken and closed together', async () => {
  const [first, second] = [startCountedLoop(async () => hour), startCountedLoop(async () => hour)]
  const joined = joinLoops([first.loop, second.loop])
  await flushEvents()
  joined.wake()
  await flushEvents()
  await joined.close()
  joined.wake()
  await flushEvents()
  expect([first.counts.runs, second.counts.runs]).toEqual([2, 2])
})
