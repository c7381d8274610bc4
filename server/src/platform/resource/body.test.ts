import { expect, test } from 'vitest'
import { ApiError } from '../http/errors.ts'
import { readBody } from './body.ts'
import { text, words } from './fields.ts'

const shape = {
  fields: { name: text({ label: 'Name' }), tags: words({ label: 'Tags' }) },
  readOnly: [],
  mode: 'create' as const,
}

function faultsOf(body: unknown): readonly { field: string; message: string }[] {
  try {
    readBody(shape, body)
  } catch (error) {
    if (error instanceof ApiError) return error.details ?? []
    throw error
  }
  return []
}

test('a value of another type is one fault, beside those of other places', () => {
  expect(faultsOf({ name: 5, tags: [5, '', 'a'] })).toEqual([
    { field: 'name', message: 'must be a string' },
    { field: 'tags.0', message: 'must be a string' },
    { field: 'tags.1', message: 'must not be empty' },
  ])
})

test('a list of very many bad items is refused about as fast as it was read', () => {
  const began = performance.now()
  expect(faultsOf({ tags: Array<string>(300_000).fill('') })).toHaveLength(100)
  // Comparing each fault with each other one took a quarter of an hour.
  expect(performance.now() - began).toBeLessThan(10_000)
})
