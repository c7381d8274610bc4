import fc from 'fast-check'
import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { Webhook } from 'standardwebhooks'
import { advance, breakerFailures, type Health, healthy, isBroken, type Outcome } from './health.ts'
import { composeMessage, maxMessageBytes, signedHeaders } from './message.ts'
import { maxAttempts, nextDelay, parseRetryAfter } from './schedule.ts'

const hour = 3600
const fraction = fc.double({ min: 0, max: 1, noNaN: true })

test('the attempts are spread over about 76 hours, each up to 20 % earlier or later', () => {
  const delays = (random: number) =>
    Array.from({ length: maxAttempts - 1 }, (_, index) => nextDelay(index + 1, 0, random) ?? Infinity)
  const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0)
  expect(sum(delays(0.5)) / hour).toBeCloseTo(75.6, 1)
  fc.assert(
    fc.property(fraction, (random) => {
      delays(random).forEach((delay, index) => {
        const middle = delays(0.5)[index] ?? 0
        expect(delay).toBeGreaterThanOrEqual(middle * 0.8 - 1e-6)
        expect(delay).toBeLessThanOrEqual(middle * 1.2 + 1e-6)
      })
    }),
  )
  expect(nextDelay(maxAttempts)).toBeUndefined()
})

test('Retry-After only makes an attempt later, and by a day at most', () => {
  const seconds = fc.integer({ min: 0, max: 1e7 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: maxAttempts - 1 }), seconds, fraction, (attempt, wanted, random) => {
      const without = nextDelay(attempt, 0, random) ?? 0
      expect(nextDelay(attempt, wanted, random)).toBe(Math.max(without, Math.min(wanted, 24 * hour)))
    }),
  )
})

test('Retry-After is a number of seconds or a date', () => {
  const now = Date.parse('2026-11-27T10:00:00Z')
  expect(parseRetryAfter('120', now)).toBe(120)
  expect(parseRetryAfter(' 120 ', now)).toBe(120)
  expect(parseRetryAfter('Fri, 27 Nov 2026 10:02:00 GMT', now)).toBe(120)
  expect(parseRetryAfter('Fri, 27 Nov 2026 09:00:00 GMT', now)).toBe(0)
  for (const other of [undefined, '', 'soon', '-5', '1.5', '99999999999'])
    expect(parseRetryAfter(other, now)).toBeUndefined()
})

/** Outcomes with the hours since the one before. */
const history = fc.array(
  fc.record({
    outcome: fc.constantFrom<Outcome>('failed', 'failed', 'failed', 'delivered'),
    hours: fc.integer({ min: 0, max: 30 }),
  }),
  { maxLength: 80 },
)

test('a receiver is given up only after five days of nothing but at least 20 failures, and reported once before', () => {
  fc.assert(
    fc.property(history, (steps) => {
      let health: Health = healthy
      let now = 0
      let failures: number[] = []
      let reports = 0
      for (const { outcome, hours } of steps) {
        now += hours * 3_600_000
        const next = advance(health, outcome, now)
        health = next.health
        if (outcome === 'delivered') {
          expect(next.signal).toBe(reports > 0 ? 'recovered' : undefined)
          ;[failures, reports] = [[], 0]
        } else failures.push(now)
        const days = (now - (failures[0] ?? now)) / 86_400_000
        expect(next.signal === 'disable').toBe(failures.length >= 20 && days >= 5)
        if (next.signal === 'failing') {
          expect(days).toBeGreaterThanOrEqual(2.5)
          expect(reports).toBe(0)
        }
        if (next.signal === 'failing' || next.signal === 'disable') reports += 1
        expect(isBroken(health)).toBe(failures.length >= breakerFailures)
      }
    }),
  )
})

test('410 gives a receiver up at once', () => {
  expect(advance(healthy, 'gone', 0)).toMatchObject({ signal: 'disable' })
})

test('every message is within the limit, is JSON, and is verified with each of its secrets', () => {
  const event = fc.record({
    id: fc.constant('chg_1'),
    type: fc.constant('contact.updated'),
    createdAt: fc.constant('2026-11-27T10:00:00.000Z'),
    values: fc.dictionary(fc.string(), fc.string({ unit: 'binary', maxLength: 500 })),
  })
  const object = fc.option(fc.string({ unit: 'binary', maxLength: 30_000 }), { nil: undefined })
  const secrets = fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 }), { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(event, object, secrets, (given, text, keys) => {
      const record = text === undefined ? undefined : JSON.stringify({ text })
      const message = composeMessage({ ...given }, record, 'https://example.com/v5/contacts/con_1')
      expect(Buffer.byteLength(message.body)).toBeLessThanOrEqual(maxMessageBytes)
      const headers = signedHeaders(message, keys, Date.now())
      for (const key of keys) {
        const verifier = new Webhook(Buffer.from(key).toString('base64'))
        expect(verifier.verify(message.body, headers)).toEqual(JSON.parse(message.body))
      }
      const [first] = keys
      const signed = `${message.id}.${headers['webhook-timestamp']}.${message.body}`
      expect(headers['webhook-signature']).toContain(
        createHmac('sha256', first ?? '')
          .update(signed)
          .digest('base64'),
      )
    }),
  )
})
