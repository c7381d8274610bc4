import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seek } from './seek.ts'

const pageSize = 100
const day = 86_400_000

/** Seeks in a list with these times, which are sorted like the list. */
async function seekIn(times: readonly number[], index: number) {
  const isDescending = (times[0] ?? 0) > (times.at(-1) ?? 0)
  let counts = 0
  const found = await seek({
    index,
    from: { time: times[0] ?? 0, index: 0 },
    to: { time: times.at(-1) ?? 0, index: times.length - 1 },
    pageSize,
    countBefore: async (time) => {
      counts++
      const first = times.findIndex((one) => (isDescending ? one <= time : one >= time))
      return first < 0 ? times.length : first
    },
  })
  return { found, counts }
}

test('the page of a found time contains the row, in both orders and for any distribution of times', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.nat({ max: 1000 * day }), fc.nat({ max: 50 })), { minLength: 1000, maxLength: 3000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.boolean(),
      async (times, share, isDescending) => {
        times.sort((one, other) => (isDescending ? other - one : one - other))
        const index = Math.floor(share * (times.length - 1))
        const { found, counts } = await seekIn(times, index)
        expect(counts).toBeLessThanOrEqual(48)
        if (found) expect(index - found.index).toBeGreaterThanOrEqual(0)
        if (found) expect(index - found.index).toBeLessThan(pageSize)
      },
    ),
    { numRuns: 30 },
  ))

test('a list that grows steadily needs at most a dozen counts', async () => {
  const times = Array.from({ length: 200_000 }, (_, index) => Math.round(index ** 1.4) * 1000)
  for (const index of [5000, 70_000, 100_000, 199_000]) {
    const { found, counts } = await seekIn(times, index)
    expect(found).toBeDefined()
    expect(counts).toBeLessThanOrEqual(12)
  }
})

test('a run of equal times that is longer than a page is not found', async () => {
  const times = [...Array.from({ length: 50 }, (_, index) => index), ...Array<number>(5000).fill(1000), 2000]
  expect((await seekIn(times, 3000)).found).toBeUndefined()
})
