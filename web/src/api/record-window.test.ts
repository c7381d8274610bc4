import { expect, test, vi } from 'vitest'
import { ApiError } from './error.ts'
import type { RecordFilter } from './record-filter.ts'
import { RecordWindow } from './record-window.ts'
import type { RecordData } from './schema.ts'

type Row = RecordData & { createdAt: string }
const rowsUpTo = (count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `con_${index}`,
    name: `Contact ${index}`,
    createdAt: new Date(1_000_000 + index * 1000).toISOString(),
  }))

/** Simulates the API's list of these rows, which are in ascending order. */
function listOf(rows: Row[], requests: string[] = []): RecordFilter {
  const compared: Record<string, (one: string, other: string) => boolean> = {
    gt: (one, other) => one > other,
    lte: (one, other) => one <= other,
    lt: (one, other) => one < other,
    gte: (one, other) => one >= other,
  }
  const filter = {
    key: 'all',
    tests: () => false,
    count: async () => rows.length,
    with: (_: string, operator: string, value: string) =>
      listOf(
        rows.filter(({ createdAt }) => compared[operator]?.(createdAt, value)),
        requests,
      ),
    async page(_: string, query: URLSearchParams) {
      requests.push(query.toString())
      const ordered = query.get('sort') === 'desc' ? [...rows].reverse() : rows
      const limit = Number(query.get('limit'))
      const placeOf = (name: string) => {
        const found = ordered.findIndex(({ id }) => id === query.get(name))
        if (found === -1) throw new ApiError(404, undefined, undefined)
        return found
      }
      const end = query.has('endingBefore') ? placeOf('endingBefore') : undefined
      const start = query.has('startingAfter') ? placeOf('startingAfter') + 1 : 0
      const found =
        end === undefined ? ordered.slice(start, start + limit) : ordered.slice(Math.max(0, end - limit), end)
      const fields = query.getAll('select[]')
      return found.map((row) => Object.fromEntries(fields.map((name) => [name, row[name]])))
    },
  }
  return filter as unknown as RecordFilter
}

const fields = ['id', 'name']
const orders = ['createdAt', 'name'].flatMap((orderBy) => ['asc', 'desc'].map((sort) => ({ orderBy, sort })))

async function windowOf(filter: RecordFilter, order: Record<string, string> = orders[0] ?? {}) {
  const shown = new RecordWindow('/v5/contacts', filter, new URLSearchParams(order), fields)
  await shown.reload()
  return shown
}

const isLoaded = (shown: RecordWindow, first: number, last: number) =>
  vi.waitFor(() => {
    for (let index = first; index <= last; index++) expect(shown.rowAt(index)?.name, `row ${index}`).toBeDefined()
  })

test.each([0, 1, 99, 100, 101, 160, 200, 201, 301])('each of %i rows loads, including the last one', async (count) => {
  for (const order of orders) {
    const rows = rowsUpTo(count)
    const shown = await windowOf(listOf(rows), order)
    shown.need(0, count - 1)
    await isLoaded(shown, 0, count - 1)
    const expected = order.sort === 'desc' ? rows.reverse() : rows
    expect(shown.total).toBe(count)
    expect(shown.loaded().map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
  }
})

test.each(orders)('rows anywhere in the list load with few requests: $orderBy $sort', async (order) => {
  const rows = rowsUpTo(3001)
  const requests: string[] = []
  const shown = await windowOf(listOf(rows, requests), order)
  const expected = order.sort === 'desc' ? [...rows].reverse() : rows
  for (const [first, last] of [
    [2990, 3000],
    [1500, 1520],
    [700, 900],
  ] as const) {
    shown.need(first, last)
    await isLoaded(shown, first, last)
    for (let index = first; index <= last; index++) expect(shown.rowAt(index)?.id).toBe(expected[index]?.id)
  }
  expect(shown.rowAt(2000)).toBeUndefined()
  expect(requests.length).toBeLessThan(45)
})

test('a change shows at once and survives an answer that was requested before it', async () => {
  const rows = rowsUpTo(150)
  const filter = listOf(rows)
  const shown = await windowOf(filter)
  const version = shown.version
  const reloading = shown.reload()
  shown.put({ id: 'con_3', name: 'Changed' })
  expect([shown.rowAt(3)?.name, shown.version > version]).toEqual(['Changed', true])
  await reloading
  expect(shown.rowAt(3)).toMatchObject({ id: 'con_3', name: 'Changed' })
  expect(shown.indexOf('con_3')).toBe(3)
  shown.put({ id: 'con_140', name: 'Not loaded' })
  expect(shown.indexOf('con_140')).toBe(-1)
})

test('a change survives rows that were requested again before it', async () => {
  const rows = rowsUpTo(3)
  const filter = listOf(rows)
  let answer: (found: RecordData[]) => void = () => undefined
  filter.only = () => ({ page: () => new Promise((resolve) => (answer = resolve)) }) as unknown as RecordFilter
  const shown = await windowOf(filter)
  const patched = shown.patch(['con_1'])
  shown.put({ id: 'con_1', name: 'Typed' })
  answer([{ id: 'con_1', name: 'Contact 1' }])
  await patched
  expect(shown.rowAt(1)?.name).toBe('Typed')
})

test('rows move up when others are removed, and the next rows load', async () => {
  const rows = rowsUpTo(130)
  const shown = await windowOf(listOf(rows))
  shown.need(0, 20)
  rows.splice(3, 2)
  shown.remove(new Set(['con_3', 'con_4']))
  expect([shown.total, shown.rowAt(3)?.id, shown.indexOf('con_5')]).toEqual([128, 'con_5', 3])
  shown.need(0, 127)
  await isLoaded(shown, 0, 127)
  expect(shown.rowAt(127)?.id).toBe('con_129')
})

test('a list that has changed meanwhile is loaded again', async () => {
  const rows = rowsUpTo(250)
  const shown = await windowOf(listOf(rows))
  // The row before the next page is gone.
  rows.splice(99, 1)
  shown.need(100, 180)
  await vi.waitFor(() => expect(shown.total).toBe(249))
  await isLoaded(shown, 100, 180)
  expect(shown.rowAt(100)?.id).toBe('con_101')
})

test('a failure shows, and the next attempt clears it', async () => {
  const filter = listOf(rowsUpTo(3))
  const { page } = filter
  filter.page = async () => {
    throw new TypeError('no connection')
  }
  const shown = await windowOf(filter)
  expect([shown.isReady, String(shown.error)]).toEqual([true, 'TypeError: no connection'])
  filter.page = page
  await shown.reload()
  expect([shown.isReady, shown.error, shown.rowAt(2)?.id]).toEqual([true, undefined, 'con_2'])
})
