import { expect, test } from 'vitest'
import { newId, decodeId, encodeId } from './ids.ts'

test('new ids are UUIDv7s of the current time, strictly increasing and unique', () => {
  const began = Date.now()
  const ids = Array.from({ length: 100_000 }, () => newId())
  expect(ids.filter((id) => !/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))).toEqual(
    [],
  )
  expect(ids.filter((id, index) => index > 0 && id <= (ids[index - 1] ?? ''))).toEqual([])
  // The bits other than the time and the counter are random for each id.
  expect(new Set(ids.map((id) => id.slice(-12))).size).toBe(ids.length)
  const times = ids.map((id) => Number.parseInt(id.replace('-', '').slice(0, 12), 16))
  expect(times[0]).toBeGreaterThanOrEqual(began)
  expect(times.at(-1)).toBeLessThanOrEqual(Date.now())
})

test('decodeId accepts only the form that encodeId writes', () => {
  const id = newId()
  expect(decodeId('con', encodeId('con', id))).toBe(id)
  for (const text of [id, encodeId('com', id), `${encodeId('con', id)}0`, encodeId('con', id).toUpperCase(), '']) {
    expect(decodeId('con', text)).toBeUndefined()
  }
})
