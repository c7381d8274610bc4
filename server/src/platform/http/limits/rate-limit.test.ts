import fc from 'fast-check'
import { expect, test } from 'vitest'
import { processorTime } from '../../../../test/processor-time.ts'
import { addressKey, createRateLimiter, type RateKind } from './rate-limit.ts'

function limiterWithClock(options: { perMinute?: number; maxKeys?: number } = {}) {
  const clock = { milliseconds: 1_000_000 }
  return { clock, limiter: createRateLimiter({ ...options, now: () => clock.milliseconds }) }
}

type Limiter = ReturnType<typeof createRateLimiter>

function allowedInARow(limiter: Limiter, kind: RateKind, key: string): number {
  for (let count = 0; ; count += 1) {
    if (!limiter.charge(kind, key).allowed) return count
    if (count > 100_000) throw new Error('no limit')
  }
}

test.each([
  ['read', 1000, 500],
  ['write', 2000, 200],
  ['push', 1000, 100],
  ['address', 300, 5],
  ['password', 20, 1 / 3],
  ['key', 300, 5],
] as const)('%s: a burst of %d, then %d per second', (kind, burst, perSecond) => {
  const { clock, limiter } = limiterWithClock()
  expect(allowedInARow(limiter, kind, 'a')).toBe(burst)
  clock.milliseconds += 30_000
  expect(allowedInARow(limiter, kind, 'a')).toBe(Math.min(burst, Math.floor(30 * perSecond)))
  expect(allowedInARow(limiter, kind, 'b')).toBe(burst)
  clock.milliseconds += 3_600_000
  expect(allowedInARow(limiter, kind, 'a')).toBe(burst)
})

test('each kind and each key has a separate bucket', () => {
  const { limiter } = limiterWithClock()
  allowedInARow(limiter, 'password', 'a')
  expect(limiter.charge('password', 'b').allowed).toBe(true)
  expect(limiter.charge('key', 'a').allowed).toBe(true)
  expect(limiter.charge('address', 'a').allowed).toBe(true)
})

test('the headers show the policy, the remaining tokens and the next refill', () => {
  const { clock, limiter } = limiterWithClock()
  const first = { allowed: true, policy: '"read";q=1000;w=2', state: '"read";r=999;t=1', retryAfterSeconds: 0 }
  expect(limiter.charge('read', 'a')).toEqual(first)
  for (let count = 0; count < 20; count += 1) limiter.charge('password', 'a')
  expect(limiter.charge('password', 'a')).toEqual({
    allowed: false,
    policy: '"password";q=20;w=60',
    state: '"password";r=0;t=3',
    retryAfterSeconds: 3,
  })
  clock.milliseconds += 2_999
  expect(limiter.charge('password', 'a')).toMatchObject({ allowed: false, retryAfterSeconds: 1 })
  clock.milliseconds += 1
  expect(limiter.charge('password', 'a')).toMatchObject({ allowed: true, state: '"password";r=0;t=60' })
})

test('a caller that waits as long as Retry-After says is allowed', () => {
  const kinds = fc.constantFrom<RateKind[]>('read', 'write', 'push', 'address', 'password', 'key')
  fc.assert(
    fc.property(kinds, fc.array(fc.nat(5000)), (kind, pauses) => {
      const { clock, limiter } = limiterWithClock()
      for (const pause of pauses) {
        allowedInARow(limiter, kind, 'a')
        const { retryAfterSeconds } = limiter.charge(kind, 'a')
        expect(retryAfterSeconds).toBeGreaterThanOrEqual(1)
        clock.milliseconds += retryAfterSeconds * 1000
        expect(limiter.charge(kind, 'a').allowed).toBe(true)
        clock.milliseconds += pause
      }
    }),
    { numRuns: 20 },
  )
})

test('a refund returns one token and never exceeds the burst', () => {
  const { limiter } = limiterWithClock()
  expect(allowedInARow(limiter, 'read', 'a')).toBe(1000)
  expect(limiter.refund('read', 'a')).toMatchObject({ allowed: true, state: '"read";r=1;t=2', retryAfterSeconds: 0 })
  expect(allowedInARow(limiter, 'read', 'a')).toBe(1)
  limiter.refund('read', 'b')
  expect(allowedInARow(limiter, 'read', 'b')).toBe(1000)
})

test('perMinute replaces all limits with one bucket per credential, trigger or address', () => {
  const { clock, limiter } = limiterWithClock({ perMinute: 60 })
  for (let count = 0; count < 30; count += 1) {
    expect(limiter.charge('read', 'a').allowed).toBe(true)
    expect(limiter.charge('write', 'a').allowed).toBe(true)
  }
  const refused = {
    allowed: false,
    policy: '"credential";q=60;w=60',
    state: '"credential";r=0;t=1',
    retryAfterSeconds: 1,
  }
  expect(limiter.charge('read', 'a')).toEqual(refused)
  expect(allowedInARow(limiter, 'push', 'a')).toBe(60)
  expect(allowedInARow(limiter, 'key', 'a')).toBe(60)
  expect(limiter.charge('address', 'a').policy).toBe('"address";q=60;w=60')
  expect(limiter.charge('password', 'a').allowed).toBe(false)
  clock.milliseconds += 5000
  expect(allowedInARow(limiter, 'read', 'a')).toBe(5)
})

test('a forgotten key starts with no more tokens than it had', () => {
  const { clock, limiter } = limiterWithClock({ maxKeys: 10 })
  allowedInARow(limiter, 'password', 'a')
  for (let other = 0; other < 100; other += 1) limiter.charge('password', `other ${other}`)
  expect(limiter.charge('password', 'a').allowed).toBe(false)
  clock.milliseconds += 60_000
  expect(allowedInARow(limiter, 'password', 'newcomer')).toBe(20)
})

test('a limiter with little memory never allows more than the burst plus the refill', () => {
  const keys = fc.constantFrom('a', 'b', 'c', 'd', 'e')
  const steps = fc.array(fc.tuple(keys, fc.constantFrom(0, 0, 0, 500, 4000)), { minLength: 20, maxLength: 200 })
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 4 }), (sequence, remembered) => {
      const [burst, perMillisecond] = [4, 4 / 60_000]
      const { clock, limiter } = limiterWithClock({ perMinute: burst, maxKeys: remembered })
      const allowed = new Map<string, number[]>()
      for (const [key, pause] of sequence) {
        clock.milliseconds += pause
        if (!limiter.charge('push', key).allowed) continue
        const times = allowed.get(key) ?? []
        allowed.set(key, times)
        times.push(clock.milliseconds)
        times.forEach((since, index) => {
          const most = burst + (clock.milliseconds - since) * perMillisecond
          expect(times.length - index).toBeLessThanOrEqual(most + 1e-6)
        })
      }
    }),
  )
})

test('an IPv4 address counts as itself, an IPv6 address as its /64', () => {
  expect(addressKey('192.0.2.1')).toBe('192.0.2.1')
  expect(addressKey('::ffff:192.0.2.1')).toBe('192.0.2.1')
  expect(addressKey('2001:db8:0:7:1:2:3:4')).toBe('2001:db8:0:7::/64')
  expect(addressKey('2001:0DB8::7:1:2:3:4')).toBe('2001:db8:0:7::/64')
  expect(addressKey('2001:db8::1')).toBe('2001:db8:0:0::/64')
  expect(addressKey('::1')).toBe('0:0:0:0::/64')
  expect(addressKey('fe80::1%eth0')).toBe('fe80:0:0:0::/64')
})

test('a decision takes about a microsecond', () => {
  const limiter = createRateLimiter()
  const count = 100_000
  const took = processorTime(() => {
    for (let index = 0; index < count; index += 1) limiter.charge('read', `key ${index % 1000}`)
  })
  // Ten times the usual duration, for a slow machine.
  expect(took).toBeLessThan((count / 1000) * 10)
})
