import { expect, test } from 'vitest'
import { Bell } from './bell.ts'
import { untilKept } from './keep.ts'

const long = 3_600_000

test('a ring wakes those who sleep, all of them, and the close those who rest as well', async () => {
  const bell = new Bell()
  let isRested = false
  const resting = bell.rest(long).then(() => (isRested = true))
  const sleeping = [bell.sleep(long), bell.sleep(long)]
  bell.ring()
  await Promise.all(sleeping)
  expect(isRested).toBe(false)
  const later = bell.sleep(long)
  bell.close()
  await Promise.all([resting, later])
  await Promise.all([bell.sleep(long), bell.rest(long)])
})

const away = new Error('away')
const isPassing = (error: unknown) => error === away

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

test('what passes by itself is waited for, what does not is an error at once', async () => {
  const patience = { bell: new Bell(), end: performance.now() + long, isPassing }
  const worked = failing([away])
  expect(await untilKept(patience, worked.write)).toBeUndefined()
  expect(worked.count()).toBe(2)
  const broken = new Error('broken')
  await expect(untilKept(patience, failing([broken]).write)).rejects.toBe(broken)
})

test('at the end the last error is given, and after the close it is tried once more alone', async () => {
  const bell = new Bell()
  const [late, closed] = [failing([away, away, away]), failing([away, away, away])]
  expect(await untilKept({ bell, end: performance.now(), isPassing }, late.write)).toEqual({ unkept: away })
  expect(late.count()).toBe(1)
  const kept = untilKept({ bell, end: performance.now() + long, isPassing }, closed.write)
  bell.close()
  await expect(kept).rejects.toBe(away)
  expect(closed.count()).toBeLessThan(3)
})
