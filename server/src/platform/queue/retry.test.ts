import { expect, test } from 'vitest'
import { retryTransient } from './retry.ts'

const hour = 3_600_000
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
