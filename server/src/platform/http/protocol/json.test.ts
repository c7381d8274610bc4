import fc from 'fast-check'
import { expect, test } from 'vitest'
import { processorTime } from '../../../../test/processor-time.ts'
import { ApiError } from '../../model/errors.ts'
import { parseJsonBytes, parseJsonWithLongNumbers } from './json.ts'

const read = (text: string) => parseJsonBytes(Buffer.from(text))

function refusal(body: string | Uint8Array): ApiError {
  try {
    parseJsonBytes(Buffer.from(body))
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('the body was taken')
}

function invalidFields(body: string): string[] {
  const error = refusal(body)
  expect(error.status).toBe(422)
  return (error.details ?? []).map(({ field }) => field)
}

const expectMalformed = (body: string | Uint8Array, description: string | RegExp) => {
  const error = refusal(body)
  expect(error.code).toBe('malformed_request')
  expect(error.description).toMatch(description)
}

/** JSON that the reader deliberately rejects is excluded. */
const isPlain = (text: string) => !text.includes('__proto__') && !text.includes('\\u0000')
const plainJson = fc
  .jsonValue({ maxDepth: 6, stringUnit: 'binary' })
  .map((value) => JSON.stringify(value))
  .filter(isPlain)

test('any ordinary JSON value is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(plainJson, fc.constantFrom(undefined, 1, '\t'), (text, indent) => {
      const spaced = JSON.stringify(JSON.parse(text), null, indent)
      expect(read(spaced)).toEqual(JSON.parse(spaced))
    }),
  )
})

test('text with one changed character is rejected with its position exactly when it is no longer JSON', () => {
  const position = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
  const character = fc.constantFrom(...'{}[]",:\\ue-+.0123abtfn \n\u0001é'.split(''), '')
  fc.assert(
    fc.property(plainJson, position, character, fc.boolean(), (text, where, inserted, replace) => {
      const at = Math.floor(where * (text.length + 1))
      const changed = text.slice(0, at) + inserted + text.slice(at + (replace ? 1 : 0))
      fc.pre(isPlain(changed) && changed !== '' && Buffer.from(changed).toString() === changed)
      let expected: unknown
      try {
        expected = JSON.parse(changed)
      } catch {
        expectMalformed(changed, /at line \d+, column \d+: ./)
        return
      }
      try {
        expect(read(changed)).toEqual(expected)
      } catch (error) {
        // A change may cause a duplicate name, too long a number or a lone surrogate.
        if (!(error instanceof ApiError)) throw error
        expect(error.details).toHaveLength(1)
      }
    }),
    { numRuns: 2000 },
  )
})

test('an empty body is rejected because a body is required', () => {
  expectMalformed('', 'a JSON body is required')
})

test.each([
  ['{"a":1,}', 'line 1, column 8: expected a name in double quotes'],
  ['{a:1}', 'line 1, column 2: expected a name in double quotes or "}"'],
  ['{"a" 1}', 'line 1, column 6: expected ":"'],
  ['{\n  "a": 1\n  "b": 2}', 'line 3, column 3: expected "," or "}"'],
  ['[1 2]', 'line 1, column 4: expected "," or "]"'],
  ['[1,]', 'line 1, column 4: expected a JSON value'],
  ['{} x', 'line 1, column 4: unexpected text after the value'],
  ['{"a":', 'line 1, column 6: the body is incomplete'],
  ['"abc', 'line 1, column 5: the body is incomplete'],
  ['   ', 'line 1, column 4: the body is incomplete'],
  ['"\\x"', 'line 1, column 2: invalid escape sequence'],
  ['"\\u12g4"', 'line 1, column 2: invalid escape sequence'],
  ['"a\u0000"', 'line 1, column 3: control characters must be escaped'],
  ['[01]', 'line 1, column 3: expected "," or "]"'],
  ['-', 'line 1, column 1: invalid number'],
  ['NaN', 'line 1, column 1: expected a JSON value'],
  ['[1}', 'line 1, column 3: expected "," or "]"'],
])('%j is rejected: %s', (body, description) => {
  expectMalformed(body, description)
})

test('invalid UTF-8 is rejected with the offset of its first byte', () => {
  expectMalformed(Buffer.from([0x22, 0x61, 0xff, 0x22]), 'not valid UTF-8 at byte 2')
  expectMalformed(Buffer.from([0x22, 0xc3, 0xa9, 0xc0, 0xaf, 0x22]), 'not valid UTF-8 at byte 3')
  expectMalformed(Buffer.from([0x22, 0xe2, 0x82]), 'not valid UTF-8 at byte 3')
  expectMalformed(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'not valid UTF-8 at byte 2')
})

test('a byte order mark is removed at the start and kept inside a string', () => {
  expect(read('\ufeff{"a":1}')).toEqual({ a: 1 })
  expect(read('"\ufeff"')).toBe('\ufeff')
  expectMalformed('\ufeff', 'The body is empty')
  expectMalformed('\ufeff\ufeff{}', 'not valid JSON')
})

test('numbers that a double cannot represent can be read as strings', () => {
  const text = '{"id": 17841405822304915, "list": [1e400, 2, 0.1], "small": 12.50}'
  expect(() => read(text)).toThrow()
  const digits = '{"id": "17841405822304915", "list": ["1e400", 2, 0.1], "small": 12.50}'
  expect(parseJsonWithLongNumbers(Buffer.from(text))).toEqual({ value: JSON.parse(digits), text: digits })
  expect(parseJsonWithLongNumbers(Buffer.from('[1]'))).toEqual({ value: [1], text: '[1]' })
})

test('a duplicate name is rejected with its path, also with an identical value or another spelling', () => {
  expectMalformed('{"a":1,"a":1}', /^a: duplicate property; the second one is at line 1, column 8$/)
  expectMalformed('{"a":[{},{"b":{"c":1,"\\u0063":2}}]}', /^a\.1\.b\.c: duplicate property/)
  expect(refusal('{"x":{"a":1,"a":2}}').details).toEqual([
    { field: 'x.a', message: expect.stringMatching('duplicate property') },
  ])
  expect(read('{"a":{"a":1},"b":{"a":1},"c":[{"a":1},{"a":1}]}')).toEqual({
    a: { a: 1 },
    b: { a: 1 },
    c: [{ a: 1 }, { a: 1 }],
  })
})

test('any object with a duplicate name is rejected', () => {
  const names = fc.uniqueArray(fc.string({ unit: 'binary' }), { minLength: 1 })
  fc.assert(
    fc.property(names, fc.nat(), (all, chosen) => {
      const members = [...all, all[chosen % all.length]].map((name) => `${JSON.stringify(name)}:0`)
      expectMalformed(`{${members.join(',')}}`, 'duplicate property')
    }),
  )
})

test('32 levels are accepted and 33 are rejected, whether or not they are closed', () => {
  expect(read('['.repeat(32) + ']'.repeat(32))).toBeInstanceOf(Array)
  expect(read('{"a":'.repeat(31) + '[]' + '}'.repeat(31))).toHaveProperty('a.a.a')
  expectMalformed('['.repeat(33) + ']'.repeat(33), 'column 33: more than 32 levels of nesting')
  expectMalformed('[{"a":'.repeat(100_000), 'more than 32 levels of nesting')
  expect(read(`[${'[[]],'.repeat(1000)}[]]`)).toHaveLength(1001)
})

test('NUL and lone surrogates are rejected in values and names, each with its path', () => {
  expect(
    invalidFields('{"a":"x\\u0000","tags":["fine","\\ud800"],"b":"\\udc00\\ud800","pair":"\\ud83d\\ude00"}'),
  ).toEqual(['a', 'tags.1', 'b'])
  expect(invalidFields('{"customProperties":{"a\\u0000b":"\\u0000","c":{"\\ud800":1}}}')).toEqual([
    'customProperties.a\ufffdb',
    'customProperties.c.\ufffd',
  ])
  expect(invalidFields('"\\u0000"')).toEqual(['body'])
  expect(read('"\\u0001\\n"')).toBe('\u0001\n')
})

test('__proto__ is rejected as a name in any spelling, and changes no prototype', () => {
  expect(invalidFields('{"__proto__":{"admin":true}}')).toEqual(['__proto__'])
  expect(invalidFields('{"a":[{"\\u005f_proto__":null}]}')).toEqual(['a.0.__proto__'])
  expect(({} as Record<string, unknown>)['admin']).toBeUndefined()
  expect(read('{"constructor":"__proto__"}')).toEqual({ constructor: '__proto__' })
})

test.each([
  '12345678901234567890',
  '9007199254740993',
  '1e400',
  '-1e400',
  '1e-400',
  '3.141592653589793238',
  '0.1e-330',
])('the number %s cannot be stored exactly and is rejected', (number) => {
  expect(invalidFields(`{"a":{"b":[0,${number}]}}`)).toEqual(['a.b.1'])
})

test.each([
  '1.0',
  '0.10',
  '1e3',
  '1E+2',
  '-0',
  '0e999',
  '0.000',
  '1000000000000000000000',
  '9007199254740992',
  '5e-324',
])('the number %s can be stored exactly and is accepted', (number) => {
  expect(read(number)).toBe(JSON.parse(number))
})

test('every double is accepted in every spelling of its shortest decimal', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.nat(20), (value, zeros) => {
      const shortest = JSON.stringify(value)
      const [, mantissa = '', power = '0'] = /^([^e]*)(?:e(.*))?$/.exec(shortest) ?? []
      const padded = `${mantissa}${mantissa.includes('.') ? '' : '.'}${'0'.repeat(zeros + 1)}E${Number(power)}`
      expect(read(shortest)).toBe(JSON.parse(shortest))
      expect(read(padded)).toBe(JSON.parse(shortest))
    }),
  )
})

test('a large integer is accepted only if it is printed the same again', () => {
  fc.assert(
    fc.property(fc.bigInt(2n ** 53n, 2n ** 69n), (integer) => {
      const survives = BigInt(String(Number(integer)).includes('e') ? 0 : String(Number(integer))) === integer
      if (survives) expect(read(String(integer))).toBe(Number(integer))
      else expect(invalidFields(String(integer))).toEqual(['body'])
    }),
  )
})

test('at most a hundred errors are reported, with long names truncated', () => {
  expect(invalidFields(`[${Array(500).fill('1e999').join(',')}]`)).toHaveLength(100)
  expect(refusal(`[${Array(500).fill('1e999').join(',')}]`).description).toContain('and more')
  const body = refusal(`{"${'a'.repeat(500_000)}":[1e999,1e999]}`)
  expect(JSON.stringify(body.body()).length).toBeLessThan(1000)
})

test('a body can have ten thousand property names of 256 characters each, at any depth', () => {
  const members = (count: number) => Array.from({ length: count }, (_, index) => `"n${index}":0`).join(',')
  expect(read(`[{${members(5000)}},{${members(5000)}}]`)).toHaveLength(2)
  expect(refusal(`[{${members(5000)}},{${members(5001)}}]`).details).toEqual([
    { field: 'body', message: 'a body can have at most 10000 property names in total' },
  ])
  expect(read(`{"a":{"${'x'.repeat(256)}":1}}`)).toHaveProperty('a')
  expect(read(`{"a":{"${'\\u00e9'.repeat(256)}":1}}`)).toHaveProperty('a')
  const long = refusal(`{"a":{"${'x'.repeat(257)}":1},"${'y'.repeat(100_000)}":2}`)
  expect(long.details?.map(({ message }) => message)).toEqual(
    Array(2).fill('a property name can have at most 256 characters'),
  )
  expect(invalidFields(`{"a":{"${'\\u00e9'.repeat(257)}":1}}`)).toHaveLength(1)
})

test('four thousand numbers with many digits are accepted, more are rejected', () => {
  const numbers = (count: number) => `[${Array<string>(count).fill('0.1234567890123456').join(',')}]`
  expect(read(numbers(4000))).toHaveLength(4000)
  expect(invalidFields(numbers(4001))).toEqual(['body'])
  expect(read(`[${Array<string>(50_000).fill('0.12345').join(',')}]`)).toHaveLength(50_000)
})

test.each(['1e400', '123456789012345678', '0.1234567890123457'])(
  'at most four thousand numbers like %s are kept as strings',
  (number) => {
    const numbers = (count: number) => Buffer.from(`[${Array<string>(count).fill(number).join(',')}]`)
    expect(parseJsonWithLongNumbers(numbers(4000)).value).toHaveLength(4000)
    expect(() => parseJsonWithLongNumbers(numbers(4001))).toThrow(ApiError)
  },
)

const mebibyte = 1024 * 1024
const filled = (piece: (index: number) => string, open = '[', close = ']') => {
  const pieces: string[] = []
  for (let length = 0; length < mebibyte - 20; length += (pieces.at(-1)?.length ?? 0) + 1)
    pieces.push(piece(pieces.length))
  return open + pieces.join(',') + close
}
const shapes: [string, string][] = [
  ['names', filled((index) => `"${index.toString(36)}":0`, '{', '}')],
  ['empty objects', filled(() => '{}')],
  ['small objects', filled((index) => `{"a":${index}}`)],
  ['empty arrays', filled(() => '[]')],
  ['open brackets', '['.repeat(mebibyte)],
  ['open objects', '{"a":'.repeat(mebibyte / 5)],
  ['one long string', `"${'x'.repeat(mebibyte)}"`],
  ['one string of escapes', `"${'\\u00e9'.repeat(mebibyte / 6)}"`],
  ['one string of lone surrogates', `"${'\\ud800'.repeat(mebibyte / 6)}"`],
  ['one string of backslashes without end', `"${'\\\\'.repeat(mebibyte / 2)}`],
  ['strings of one escape', filled(() => '"\\n"')],
  ['one long number', '1'.repeat(mebibyte)],
  ['one long number of zeros', `0.${'0'.repeat(mebibyte)}1`],
  ['zeros and ones', `1.${'0'.repeat(mebibyte / 2)}1${'0'.repeat(mebibyte / 2)}`],
  ['one long exponent', `1e${'9'.repeat(mebibyte)}`],
  ['long numbers', filled(() => '0.12345678901234567')],
  ['refused numbers', filled(() => '1e999')],
  ['line feeds', '\n'.repeat(mebibyte)],
  ['errors at the end of many lines', `${'\n'.repeat(mebibyte)}x`],
  ['invalid UTF-8 at the end', '"' + 'é'.repeat(mebibyte / 2)],
]

test.each(shapes)('a mebibyte of %s is read or rejected quickly', (_name, text) => {
  const bytes = Buffer.from(text)
  const took = processorTime(() => {
    try {
      parseJsonBytes(bytes)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      expect(JSON.stringify(error.body()).length).toBeLessThan(20_000)
    }
  })
  // Takes 10 to 60 ms; anything quadratic takes minutes.
  expect(took).toBeLessThan(1000)
})
