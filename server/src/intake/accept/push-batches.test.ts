import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ApiError } from '../../platform/model/errors.ts'
import { until } from '../../../test/processes.ts'
import { Batches, type BatchLimits } from './push-batches.ts'

const limits: BatchLimits = {
  items: 10,
  bytes: 1000,
  maxConcurrent: 2,
  waitingItems: 1000,
  waitingBytes: 100_000,
  waitMilliseconds: 60_000,
}

/** Batches that are sent when released, and what was sent. */
function heldBatches(given: Partial<BatchLimits> = {}) {
  const sent: number[][] = []
  const held: (() => void)[] = []
  const batches = new Batches<number, number>({ ...limits, ...given }, async (items) => {
    sent.push([...items])
    await new Promise<void>((resolve) => held.push(resolve))
    return items.map((item) => item * 2)
  })
  const releaseAll = async () => {
    let isDone = false
    const done = batches.idle().then(() => (isDone = true))
    await until('all is sent', () => {
      held.splice(0).forEach((release) => release())
      return isDone
    })
    await done
  }
  return { batches, sent, releaseAll }
}

const overloaded = expect.objectContaining({ code: 'overloaded', headers: { 'retry-after': expect.any(String) } })

test('simultaneous items are sent in one batch, in order; later ones wait for the next batch', async () => {
  const { batches, sent, releaseAll } = heldBatches({ maxConcurrent: 1 })
  const first = [1, 2, 3].map((item) => batches.add(item, 1))
  await until('the first batch is sent', () => sent.length === 1)
  const second = [4, 5].map((item) => batches.add(item, 1))
  await releaseAll()
  expect(await Promise.all([...first, ...second])).toEqual([2, 4, 6, 8, 10])
  expect(sent).toEqual([
    [1, 2, 3],
    [4, 5],
  ])
})

test('concurrency, items and bytes of batches stay within their limits', async () => {
  const { batches, sent, releaseAll } = heldBatches()
  const results = [
    ...Array.from({ length: 25 }, (_, item) => batches.add(item, 1)),
    ...Array.from({ length: 5 }, (_, item) => batches.add(item, 400)),
    batches.add(0, 5000),
  ]
  await until('two batches are sent', () => sent.length === 2)
  expect(sent.map(({ length }) => length)).toEqual([10, 10])
  await releaseAll()
  await Promise.all(results)
  // Five small and two large items, two large ones, one, and the largest, which exceeds the limit of a batch and is
  // sent alone.
  expect(sent.map(({ length }) => length)).toEqual([10, 10, 7, 2, 1, 1])
})

test('an item that cannot be sent fails alone', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }), async (poisonous) => {
      const stored: number[] = []
      const batches = new Batches<number, number>({ ...limits, items: 40 }, async (items) => {
        if (items.some((item) => poisonous[item])) throw new Error('the database refuses a row')
        stored.push(...items)
        return [...items]
      })
      const outcomes = await Promise.allSettled(poisonous.map((_, item) => batches.add(item, 1)))
      expect(outcomes.map(({ status }) => status)).toEqual(poisonous.map((is) => (is ? 'rejected' : 'fulfilled')))
      expect(stored.sort((left, right) => left - right)).toEqual(poisonous.flatMap((is, item) => (is ? [] : [item])))
    }),
  )
})

test('an error of the service fails the whole batch without sending its halves', async () => {
  let sent = 0
  const batches = new Batches<number, number>(limits, async () => {
    sent += 1
    throw new ApiError('timeout', 'The database did not answer in time.')
  })
  const outcomes = await Promise.allSettled([1, 2, 3].map((item) => batches.add(item, 1)))
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(sent).toBe(1)
})

test('an error of one item does not affect the others', async () => {
  const refusal = new Error('not this one')
  const batches = new Batches<number, number>(limits, async (items) =>
    items.map((item) => (item === 2 ? refusal : item)),
  )
  const outcomes = await Promise.allSettled([1, 2, 3].map((item) => batches.add(item, 1)))
  expect(outcomes).toEqual([
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: refusal },
    { status: 'fulfilled', value: 3 },
  ])
})

test('when the queue is full, only the next item is rejected', async () => {
  const { batches, sent, releaseAll } = heldBatches({ waitingItems: 20, waitingBytes: 1000 })
  const early = Array.from({ length: 20 }, (_, item) => batches.add(item, 1))
  await expect(batches.add(20, 1)).rejects.toEqual(overloaded)
  await until('two batches are sent', () => sent.length === 2)
  const large = batches.add(21, 1000)
  await expect(batches.add(22, 1)).rejects.toEqual(overloaded)
  await releaseAll()
  expect(await Promise.all([...early, large])).toHaveLength(21)
  expect(sent.flat()).toHaveLength(21)
})

test('an item that waits too long is rejected and never sent', async () => {
  const { batches, sent, releaseAll } = heldBatches({ maxConcurrent: 1, waitMilliseconds: 50 })
  const first = batches.add(1, 1)
  await until('the first batch is sent', () => sent.length === 1)
  await expect(Promise.allSettled([2, 3].map((item) => batches.add(item, 1)))).resolves.toEqual([
    { status: 'rejected', reason: overloaded },
    { status: 'rejected', reason: overloaded },
  ])
  const last = batches.add(4, 1)
  await releaseAll()
  expect(await Promise.all([first, last])).toEqual([2, 8])
  expect(sent).toEqual([[1], [4]])
})

test('a tenant may fill the queue, but loses its latest items to others that have less in it', async () => {
  const { batches, sent, releaseAll } = heldBatches({ maxConcurrent: 1, items: 4, waitingItems: 8, waitingBytes: 800 })
  const first = batches.add(0, 1, 'large')
  await until('the first batch is sent', () => sent.length === 1)
  const large = Array.from({ length: 8 }, (_, index) => batches.add(index, 1, 'large').catch((error) => error))
  expect(await batches.add(8, 1, 'large').catch((error) => error)).toEqual(overloaded)
  const small = [10, 11, 12, 13].map((item) => batches.add(item, 1, 'small'))
  // The two have the same share now.
  expect(await batches.add(14, 1, 'small').catch((error) => error)).toEqual(overloaded)
  await releaseAll()
  expect(await first).toBe(0)
  expect(await Promise.all(small)).toEqual([20, 22, 24, 26])
  expect(await Promise.all(large)).toEqual([0, 2, 4, 6, ...Array.from({ length: 4 }, () => overloaded)])
})

test('what counts is the larger one of the shares of items and of bytes', async () => {
  const { batches, sent, releaseAll } = heldBatches({ maxConcurrent: 1, waitingItems: 8, waitingBytes: 100 })
  const first = batches.add(0, 1, 'large')
  await until('the first batch is sent', () => sent.length === 1)
  const large = [1, 2].map((item) => batches.add(item, 50, 'large').catch((error) => error))
  const small = batches.add(3, 20, 'small')
  expect(await large[1]).toEqual(overloaded)
  await releaseAll()
  expect([await first, await large[0], await small]).toEqual([0, 2, 6])
})
