import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ApiError } from '../model/errors.ts'
import { ListError, readQuery, splitList } from './query-string.ts'

function faults(read: () => unknown): string[] {
  try {
    read()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    expect(error.code).toBe('invalid_parameters')
    return (error.details ?? []).map((fault) => fault.field)
  }
  throw new Error('nothing was refused')
}

const plainText = fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0'))

test('parameters come decoded and in their order, repeated ones too', () => {
  expect(readQuery('/contacts?select[]=id&select%5B%5D=email&query=a+b%2Bc%26d&x=1=2&flag&empty=')).toEqual([
    { name: 'select[]', value: 'id' },
    { name: 'select[]', value: 'email' },
    { name: 'query', value: 'a b+c&d' },
    { name: 'x', value: '1=2' },
    { name: 'flag', value: '' },
    { name: 'empty', value: '' },
  ])
})

test('no query and empty pieces give no parameters', () => {
  expect(readQuery('/contacts')).toEqual([])
  expect(readQuery('/contacts?')).toEqual([])
  expect(readQuery('/contacts?&a=1&&b=2&')).toEqual([
    { name: 'a', value: '1' },
    { name: 'b', value: '2' },
  ])
  expect(readQuery('/contacts?=1')).toEqual([{ name: '', value: '1' }])
})

test('what URLSearchParams or encodeURIComponent wrote is read back', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(plainText, plainText)), (pairs) => {
      const expected = pairs.map(([name, value]) => ({ name, value }))
      expect(readQuery(`/?${new URLSearchParams(pairs).toString()}`)).toEqual(expected)
      const encoded = pairs.map((pair) => pair.map(encodeURIComponent).join('='))
      expect(readQuery(`/?${encoded.join('&')}`)).toEqual(expected)
    }),
  )
})

test.each(['%', '%4', '%zz', '100%', '%ff', '%c0%af', '%ed%a0%80', '%f0%9f%98', '%00', 'é', '\u0001'])(
  'the value %j is refused with its parameter, the name %j as a fault of the query',
  (bad) => {
    expect(faults(() => readQuery(`/?a=1&b=${bad}`))).toEqual(['b'])
    expect(faults(() => readQuery(`/?a=1&${bad}=x`))).toEqual(['query'])
  },
)

test('all faults of a query are told at once, a hundred at most', () => {
  expect(faults(() => readQuery('/?a=%&ok=1&%=2&b=%00'))).toEqual(['a', 'query', 'b'])
  expect(faults(() => readQuery(`/?${'a=%&'.repeat(2000)}`))).toHaveLength(100)
})

test('a list splits on commas; a backslash takes a comma or a backslash literally', () => {
  expect(splitList('a,b c, d')).toEqual(['a', 'b c', ' d'])
  expect(splitList('a\\,b,c')).toEqual(['a,b', 'c'])
  expect(splitList('a\\\\,b')).toEqual(['a\\', 'b'])
  expect(splitList('C:\\temp,\\n,x\\')).toEqual(['C:\\temp', '\\n', 'x\\'])
})

test.each(['', ',', 'a,', ',a', 'a,,b', 'a\\,b,'])('the list %j holds an empty value and is refused', (value) => {
  expect(() => splitList(value)).toThrow(ListError)
})

test('values that were escaped and joined split into themselves', () => {
  const items = fc.array(fc.string({ unit: fc.constantFrom('a', ',', '\\', 'é'), minLength: 1 }), { minLength: 1 })
  fc.assert(
    fc.property(items, (values) => {
      const joined = values.map((value) => value.replace(/[\\,]/g, '\\$&')).join(',')
      expect(splitList(joined)).toEqual(values)
    }),
  )
})
