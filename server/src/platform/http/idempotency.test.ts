import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ApiError } from './errors.ts'
import { checkIdempotencyKey, idempotencyKeyHash, openAnswer, requestHash, sealAnswer } from './idempotency.ts'

const secret = randomBytes(32)
const answer = { status: 201, headers: { etag: '"1-x"' }, body: '{"apiKey":"very secret"}' }

test('visible ASCII of 1 to 255 characters is an Idempotency-Key', () => {
  for (const key of ['a', '"8e03978e-40d5-43e8-bc93-6894a57f9324"', '~'.repeat(255)]) {
    expect(checkIdempotencyKey(key)).toBe(key)
  }
})

test.each(['', ' ', 'a b', 'a, b', 'é', 'a\u0000', 'a\n', 'x'.repeat(256)])('%j is no Idempotency-Key', (key) => {
  try {
    checkIdempotencyKey(key)
    expect.unreachable()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    expect(error.code).toBe('invalid_parameters')
    expect(error.details?.[0]?.field).toBe('Idempotency-Key')
  }
})

test('any answer opens again with the key and the secret that sealed it', () => {
  const answers = fc.record({
    status: fc.integer({ min: 200, max: 599 }),
    headers: fc.constantFrom({}, { location: '/v5/contacts/con_1' }),
    body: fc.string({ unit: 'binary' }),
  })
  fc.assert(
    fc.property(answers, fc.string({ minLength: 1 }), (stored, key) => {
      expect(openAnswer(secret, key, sealAnswer(secret, key, stored))).toEqual(stored)
    }),
  )
})

test('another Idempotency-Key or another secret opens nothing', () => {
  const sealed = sealAnswer(secret, 'key', answer)
  expect(() => openAnswer(secret, 'kez', sealed)).toThrow()
  expect(() => openAnswer(randomBytes(32), 'key', sealed)).toThrow()
})

test('a changed bit and a cut end are noticed', () => {
  const sealed = sealAnswer(secret, 'key', answer)
  for (let position = 0; position < sealed.length; position += 1) {
    const changed = Buffer.from(sealed)
    changed[position] = (changed[position] ?? 0) ^ 1
    expect(() => openAnswer(secret, 'key', changed)).toThrow()
    expect(() => openAnswer(secret, 'key', sealed.subarray(0, position))).toThrow()
  }
})

test('what is kept shows neither the answer nor the key, and is never the same twice', () => {
  const sealed = sealAnswer(secret, 'idempotency key', answer)
  expect(sealed.includes('secret')).toBe(false)
  expect(sealed.includes('idempotency')).toBe(false)
  expect(sealAnswer(secret, 'idempotency key', answer).equals(sealed)).toBe(false)
  expect(idempotencyKeyHash('idempotency key')).toHaveLength(32)
  expect(idempotencyKeyHash('idempotency key').equals(idempotencyKeyHash('idempotency kez'))).toBe(false)
})

test('requests have one hash only if method, path and body are the same', () => {
  const request = fc.tuple(
    fc.constantFrom('POST', 'PATCH'),
    fc.string({ unit: fc.constantFrom('/', 'a', '?') }),
    fc.string({ unit: fc.constantFrom('/', 'a', '\n', 'POST') }),
  )
  fc.assert(
    fc.property(request, request, (one, other) => {
      const [first, second] = [one, other].map(([method, path, body]) => requestHash(method, path, Buffer.from(body)))
      expect(first?.equals(second ?? Buffer.alloc(0))).toBe(one.join('\0') === other.join('\0'))
    }),
  )
})
