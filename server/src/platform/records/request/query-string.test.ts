import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ApiError } from '../../model/errors.ts'
import { ListError, parseQuery, splitList } from './query-string.ts'

function errors(read: () => unknown): string[] {
  try {
    read()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    expect(error.code).toBe('invalid_parameters')
    return (error.details ?? []).map(({ field }) => field)
  }
  throw new Error('nothing was refused')
}

const plainText = fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0'))

test('parameters are decoded in order, including repeated ones', () => {
  expect(parseQuery('/contacts?select[]=id&select%5B%5D=email&query=a+b%2Bc%26d&x=1=2&flag&empty=')).toEqual([
    { name: 'select[]', value: 'id' },
    { name: 'select[]', value: 'email' },
    { name: 'query', value: 'a b+c&d' },
    { name: 'x', value: '1=2' },
    { name: 'flag', value: '' },
    { name: 'empty', value: '' },
  ])
})

test('an empty query or empty pieces yield no parameters', () => {
  expect(parseQuery('/contacts')).toEqual([])
  expect(parseQuery('/contacts?')).toEqual([])
  expect(parseQuery('/contacts?&a=1&&b=2&')).toEqual([
    { name: 'a', value: '1' },
    { name: 'b', value: '2' },
  ])
  expect(parseQuery('/contacts?=1')).toEqual([{ name: '', value: '1' }])
})

test('the output of URLSearchParams and encodeURIComponent is read back unchanged', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(plainText, plainText)), (pairs) => {
      const expected = pairs.map(([name, value]) => ({ name, value }))
      expect(parseQuery(`/?${new URLSearchParams(pairs).toString()}`)).toEqual(expected)
      const encoded = pairs.map((pair) => pair.map(encodeURIComponent).join('='))
      expect(parseQuery(`/?${encoded.join('&')}`)).toEqual(expected)
    }),
  )
})

test.each(['%', '%4', '%zz', '100%', '%ff', '%c0%af', '%ed%a0%80', '%f0%9f%98', '%00', 'é', '\u0001'])(
  'the value %j is rejected with its parameter, the name %j as an error of the query',
  (bad) => {
    expect(errors(() => parseQuery(`/?a=1&b=${bad}`))).toEqual(['b'])
    expect(errors(() => parseQuery(`/?a=1&${bad}=x`))).toEqual(['query'])
  },
)

test('all errors of a query are reported at once, at most a hundred', () => {
  expect(errors(() => parseQuery('/?a=%&ok=1&%=2&b=%00'))).toEqual(['a', 'query', 'b'])
  expect(errors(() => parseQuery(`/?${'a=%&'.repeat(2000)}`))).toHaveLength(100)
})

test('a list is split at commas, and a backslash escapes a comma or a backslash', () => {
  expect(splitList('a,b c, d')).toEqual(['a', 'b c', ' d'])
  expect(splitList('a\\,b,c')).toEqual(['a,b', 'c'])
  expect(splitList('a\\\\,b')).toEqual(['a\\', 'b'])
  expect(splitList('C:\\temp,\\n,x\\')).toEqual(['C:\\temp', '\\n', 'x\\'])
})

test.each(['', ',', 'a,', ',a', 'a,,b', 'a\\,b,'])('the list %j contains an empty value and is rejected', (value) => {
  expect(() => splitList(value)).toThrow(ListError)
})

test('escaped and joined values are split into the same values', () => {
  const items = fc.array(fc.string({ unit: fc.constantFrom('a', ',', '\\', 'é'), minLength: 1 }), { minLength: 1 })
  fc.assert(
    fc.property(items, (values) => {
      const joined = values.map((value) => value.replace(/[\\,]/g, '\\$&')).join(',')
      expect(splitList(joined)).toEqual(values)
    }),
  )
})
