import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sha256 } from '../../secret/encryption.ts'
import { ApiError } from '../../model/errors.ts'
import { checkIdempotencyKey, openResponse, requestHash, sealResponse } from './idempotency.ts'
import type { JsonValue } from '../../model/json.ts'

const secret = randomBytes(32)
const answer = { status: 201, headers: { etag: '"1-x"' }, body: '{"apiKey":"very secret"}' }

test('1 to 255 visible ASCII characters are a valid Idempotency-Key', () => {
  for (const key of ['a', '"8e03978e-40d5-43e8-bc93-6894a57f9324"', '~'.repeat(255)]) {
    expect(checkIdempotencyKey(key)).toBe(key)
  }
})

test.each(['', ' ', 'a b', 'a, b', 'é', 'a\u0000', 'a\n', 'x'.repeat(256)])(
  '%j is not a valid Idempotency-Key',
  (key) => {
    try {
      checkIdempotencyKey(key)
      expect.unreachable()
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      expect(error.code).toBe('invalid_parameters')
      expect(error.details?.[0]?.field).toBe('Idempotency-Key')
    }
  },
)

test('any sealed response can be opened with its key and secret', () => {
  const answers = fc.record({
    status: fc.integer({ min: 200, max: 599 }),
    headers: fc.constantFrom({}, { location: '/v5/contacts/con_1' }),
    body: fc.string({ unit: 'binary' }),
  })
  fc.assert(
    fc.property(answers, fc.string({ minLength: 1 }), (stored, key) => {
      expect(openResponse(secret, key, sealResponse(secret, key, stored))).toEqual(stored)
    }),
  )
})

test('a different Idempotency-Key or secret opens nothing', () => {
  const sealed = sealResponse(secret, 'key', answer)
  expect(() => openResponse(secret, 'kez', sealed)).toThrow()
  expect(() => openResponse(randomBytes(32), 'key', sealed)).toThrow()
})

test('a changed bit or a truncation is detected', () => {
  const sealed = sealResponse(secret, 'key', answer)
  for (let position = 0; position < sealed.length; position += 1) {
    const changed = Buffer.from(sealed)
    changed[position] = (changed[position] ?? 0) ^ 1
    expect(() => openResponse(secret, 'key', changed)).toThrow()
    expect(() => openResponse(secret, 'key', sealed.subarray(0, position))).toThrow()
  }
})

test('a sealed response reveals neither the response nor the key, and is different each time', () => {
  const sealed = sealResponse(secret, 'idempotency key', answer)
  expect(sealed.includes('secret')).toBe(false)
  expect(sealed.includes('idempotency')).toBe(false)
  expect(sealResponse(secret, 'idempotency key', answer).equals(sealed)).toBe(false)
  expect(sha256('idempotency key')).toHaveLength(32)
  expect(sha256('idempotency key').equals(sha256('idempotency kez'))).toBe(false)
})

const hashOf = (body: JsonValue, method = 'POST', path = '/') => requestHash(method, path, body).toString('hex')

test('requests have the same hash only if method, path and body are the same', () => {
  const request = fc.tuple(
    fc.constantFrom('POST', 'PATCH'),
    fc.string({ unit: fc.constantFrom('/', 'a', '?') }),
    fc.string({ unit: fc.constantFrom('/', 'a', '\n', 'POST') }),
  )
  fc.assert(
    fc.property(request, request, (one, other) => {
      const [first, second] = [one, other].map(([method, path, body]) => hashOf(body, method, path))
      expect(first === second).toBe(one.join('\0') === other.join('\0'))
    }),
  )
})

test('bodies have the same hash exactly if they are equal, whatever the order of their properties', () => {
  // Negative zero equals zero; JSON has no text for its sign.
  const body = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as JsonValue)
  const reversed = (value: JsonValue): JsonValue => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(reversed)
    return Object.fromEntries(
      Object.entries(value)
        .toReversed()
        .map(([name, inner]) => [name, reversed(inner)]),
    )
  }
  const small = fc.constantFrom<JsonValue>([], {}, [1], { 0: 1 }, [null], { a: null }, 'null', null, [1, 2], [2, 1])
  fc.assert(fc.property(body, (one) => hashOf(reversed(one)) === hashOf(one)))
  fc.assert(
    fc.property(fc.oneof(body, small), fc.oneof(body, small), (one, other) => {
      expect(hashOf(one) === hashOf(other)).toBe(isDeepStrictEqual(one, other))
    }),
  )
})
