import { expect, test } from 'vitest'
import { ApiError } from '../../model/errors.ts'
import { parseBody } from './body.ts'
import { country, month, stringList, text } from '../declare/fields.ts'

const shape = {
  fields: {
    name: text({ label: 'Name' }),
    tags: stringList({ label: 'Tags' }),
    country: country({ label: 'Country' }),
    start: month({ label: 'Start' }),
  },
  readOnly: [],
  mode: 'create' as const,
}

function errorsOf(body: unknown): readonly { field: string; message: string }[] {
  try {
    parseBody(shape, body)
  } catch (error) {
    if (error instanceof ApiError) return error.details ?? []
    throw error
  }
  return []
}

test('a value of the wrong type is one error, next to errors in other values', () => {
  expect(errorsOf({ name: 5, tags: [5, '', 'a'] })).toEqual([
    { field: 'name', message: 'expected a string' },
    { field: 'tags.0', message: 'expected a string' },
    { field: 'tags.1', message: 'must not be empty' },
  ])
})

test('the items of a list that is far too long are not examined', () => {
  expect(errorsOf({ tags: Array<string>(300_000).fill('') })).toEqual([
    { field: 'tags', message: 'expected at most 100 items' },
  ])
})

test('a text that is far too long is not examined, and one of the maximum length is accepted', () => {
  expect(errorsOf({ name: ' '.repeat(500_000) })).toEqual([
    { field: 'name', message: 'expected at most 200 characters' },
  ])
  expect(errorsOf({ name: '😀'.repeat(200) })).toEqual([])
  expect(errorsOf({ name: '😀'.repeat(201) })).toEqual([{ field: 'name', message: 'expected at most 200 characters' }])
})

test('a short text of the wrong form is refused for its form, not its length', () => {
  expect(errorsOf({ country: 'Germany', start: '03/04/2020' })).toMatchObject([
    { field: 'country', message: expect.stringContaining('DE') },
    { field: 'start', message: expect.stringContaining('2024-05') },
  ])
})
