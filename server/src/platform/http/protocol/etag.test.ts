import fc from 'fast-check'
import { expect, test } from 'vitest'
import { processorTime } from '../../../../test/processor-time.ts'
import { ApiError } from '../../model/errors.ts'
import { listTag, matchesNone, recordTag, revisionsOf } from './etag.ts'

function invalidHeader(read: () => unknown): string | undefined {
  try {
    read()
  } catch (error) {
    if (error instanceof ApiError && error.code === 'invalid_parameters') return error.details?.[0]?.field
    throw error
  }
  return undefined
}

test('a record tag is strong and changes with the revision and with the text', () => {
  expect(recordTag(7, '{"a":1}')).toMatch(/^"7-[\w-]{16}"$/)
  expect(recordTag(7, '{"a":1}')).toBe(recordTag(7, '{"a":1}'))
  expect(recordTag(7, '{"a":2}')).not.toBe(recordTag(7, '{"a":1}'))
  expect(recordTag(8, '{"a":1}')).not.toBe(recordTag(7, '{"a":1}'))
})

test('a list tag is weak and changes with the text', () => {
  expect(listTag('[]')).toMatch(/^W\/"[\w-]{16}"$/)
  expect(listTag('[1]')).not.toBe(listTag('[]'))
})

test('If-None-Match compares weakly, also in a list', () => {
  const tag = recordTag(3, 'text')
  const list = listTag('text')
  expect(matchesNone(tag, tag)).toBe(false)
  expect(matchesNone(`W/${tag}`, tag)).toBe(false)
  expect(matchesNone(`"x" ,, W/"a,b",${tag}`, tag)).toBe(false)
  expect(matchesNone(list, list)).toBe(false)
  expect(matchesNone(list.slice(2), list)).toBe(false)
  expect(matchesNone('*', tag)).toBe(false)
  expect(matchesNone('"x", "y"', tag)).toBe(true)
  expect(matchesNone(recordTag(4, 'text'), tag)).toBe(true)
  expect(matchesNone(`"x,${tag.slice(1)}`, tag)).toBe(true)
})

test('If-Match returns the revisions of the tags, also of weakened ones', () => {
  expect(revisionsOf('*')).toBe('any')
  expect(revisionsOf(' * ')).toBe('any')
  expect(revisionsOf(recordTag(12, 'a'))).toEqual([12])
  expect(revisionsOf(`W/${recordTag(1, 'a')}, ${recordTag(2, 'b')}`)).toEqual([1, 2])
  // Apache's compression adds to the tag.
  expect(revisionsOf(recordTag(5, 'a').replace(/"$/, '-gzip"'))).toEqual([5])
  expect(revisionsOf('"7", "x", "-1-abcdefghijklmnop", ""')).toEqual([])
})

test('the tag of a list never contains a revision', () => {
  fc.assert(fc.property(fc.string(), (text) => revisionsOf(listTag(text)).length === 0))
  expect(revisionsOf('W/"12-abcdefghijklm"')).toEqual([])
})

test.each([
  '',
  ' ',
  ',',
  'abc',
  '"abc',
  'abc"',
  '"a" "b"',
  '"a";',
  'w/"a"',
  'W/ "a"',
  '*, "a"',
  '"a", *',
  '"a b"',
  "'a'",
])('the header %j is rejected by name', (header) => {
  expect(invalidHeader(() => matchesNone(header, recordTag(1, '')))).toBe('If-None-Match')
  expect(invalidHeader(() => revisionsOf(header))).toBe('If-Match')
})

test('every tag is found in any list that contains it', () => {
  const opaque = fc.string({ unit: fc.constantFrom(...'ab,*/W-!~'.split('')) })
  const separator = fc.constantFrom(',', ' , ', ',,', ', \t,')
  fc.assert(
    fc.property(fc.array(fc.tuple(opaque, fc.boolean()), { minLength: 1 }), separator, opaque, (tags, comma, other) => {
      const header = tags.map(([text, weak]) => `${weak ? 'W/' : ''}"${text}"`).join(comma)
      const texts = tags.map(([text]) => text)
      for (const text of texts) expect(matchesNone(header, `"${text}"`)).toBe(false)
      expect(matchesNone(header, `"${other}"`)).toBe(!texts.includes(other))
    }),
  )
})

test('a header of 16 KiB is parsed quickly', () => {
  const took = processorTime(() => {
    for (const header of ['"a",'.repeat(4096), ', '.repeat(8192), ' '.repeat(16384), `"a"${' ,'.repeat(8000)}x`]) {
      invalidHeader(() => revisionsOf(header))
    }
  })
  expect(took).toBeLessThan(200)
})
