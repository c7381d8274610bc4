import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import pg from 'pg'
import { least, timeOf } from '../../../../test/least.ts'
import { createDatabase, type TestDatabase } from '../../../../test/postgres.ts'
import { until } from '../../../../test/processes.ts'
import type { ApiError } from '../../model/errors.ts'
import { Database } from '../../database/database.ts'
import type { Allowance, RateKind } from './rate-limit.ts'
import { deleteFullBuckets } from './shared-rate-limit-store.ts'
import { SharedRateLimiter } from './shared-rate-limit.ts'

let testDatabase: TestDatabase
let client: pg.Client
const databases: Database[] = []
beforeAll(async () => {
  testDatabase = await createDatabase()
  client = new pg.Client(testDatabase.connection)
  await client.connect()
})
afterAll(async () => {
  await Promise.all(databases.map((database) => database.close()))
  await client.end()
  await testDatabase.drop()
})

/** Limiters of as many services, each with connections of its own. */
const limitersOf = (services: number, perMinute?: number): SharedRateLimiter[] =>
  Array.from({ length: services }, () => {
    const database = new Database({ connection: testDatabase.connection, size: 2, limitConcurrency: true })
    databases.push(database)
    return new SharedRateLimiter({ database, perMinute })
  })

/** How many of concurrent charges, sent to the services in turn, are allowed. */
async function allowedOf(limiters: readonly SharedRateLimiter[], count: number, kind: RateKind, key: string) {
  const charges = await Promise.all(
    Array.from({ length: count }, (_, index) => limiters[index % limiters.length]?.charge(kind, key)),
  )
  return charges.filter((charge) => charge?.allowed).length
}

/** Expects that a full bucket of twenty is charged, and what is added meanwhile: a token in three seconds. */
async function expectFullBucket(charge: () => Promise<number>): Promise<void> {
  const began = performance.now()
  const allowed = await charge()
  expect(allowed).toBeGreaterThanOrEqual(20)
  expect(allowed).toBeLessThanOrEqual(20 + Math.floor((performance.now() - began) / 3000))
}

test('four services together allow what one would, to concurrent requests and to one after the other', async () => {
  const limiters = limitersOf(4, 20)
  await expectFullBucket(() => allowedOf(limiters, 200, 'read', 'concurrent'))
  let answers: (Allowance | undefined)[] = []
  // Within three seconds, because a token is added then.
  await least(3000, () =>
    timeOf(async () => {
      answers = []
      const key = `one by one ${randomUUID()}`
      for (let index = 0; index < 24; index++) answers.push(await limiters[index % 4]?.charge('read', key))
    }),
  )
  expect(answers.map((answer) => answer?.allowed)).toEqual(answers.map((_, index) => index < 20))
  expect(answers[0]).toMatchObject({ policy: '"credential";q=20;w=60', state: '"credential";r=19;t=3' })
  expect(answers[7]?.state).toMatch(/^"credential";r=12;/)
  expect(answers[20]).toMatchObject({ state: '"credential";r=0;t=3', retryAfterSeconds: 3 })
  // One service gets all of it, too: nothing is divided in advance.
  const [only] = limiters
  await expectFullBucket(() => allowedOf(only ? [only] : [], 50, 'read', 'one service'))
})

test('however long nobody asks, services together allow no more than a full bucket', async () => {
  await expectFullBucket(() => allowedOf(limitersOf(4, 20), 80, 'read', 'idle'))
  // Ten times as many tokens have been added as the bucket holds.
  await client.query(`update rate_limits set used_at = now() - interval '10 minutes'`)
  const later = limitersOf(4, 20)
  await expectFullBucket(() => allowedOf(later, 80, 'read', 'idle'))
  // Tokens that were taken and come back do not fill it beyond that either.
  await client.query(`update rate_limits set used_at = now() - interval '10 minutes'`)
  await Promise.all(later.map((limiter) => limiter.refund('read', 'idle')))
  await Promise.all(later.map((limiter) => limiter.close()))
  await expectFullBucket(() => allowedOf(limitersOf(4, 20), 80, 'read', 'idle'))
})

test('a large bucket is charged in batches, and its unused tokens are available to other services a moment later', async () => {
  const [left, right] = limitersOf(2) as [SharedRateLimiter, SharedRateLimiter]
  // 20 per minute do not refill within this test.
  const tokens = async () =>
    (await client.query<{ tokens: number }>('select sum(tokens) as tokens from rate_limits')).rows[0]?.tokens ?? 0
  let [began, key] = [0, '']
  let found: number[] = []
  // Within a second, because unused tokens are given back then.
  await least(1000, () =>
    timeOf(async () => {
      await client.query('delete from rate_limits')
      began = performance.now()
      key = `batches ${randomUUID()}`
      found = []
      for (const count of [1, 17]) found.push(await allowedOf([left], count, 'address', key), await tokens())
    }),
  )
  expect(found).toEqual([1, 300 - 18, 17, 300 - 18])
  expect(await allowedOf([left], 1, 'address', key)).toBe(1)
  await until('the unused tokens are given back', async () => (await tokens()) > 300 - 18 - 2)
  const allowed = await allowedOf([left, right], 600, 'address', key)
  // Nineteen were used before, and five per second are added.
  expect(allowed).toBeGreaterThanOrEqual(280)
  expect(allowed).toBeLessThanOrEqual(300 - 19 + Math.ceil((5 * (performance.now() - began)) / 1000))
  expect(await allowedOf([right], 1, 'password', 'refunded')).toBe(1)
  await right.refund('password', 'refunded')
  expect((await right.charge('password', 'refunded')).state).toMatch(/r=19;/)
})

test('a service that stops gives back what it has not used, and buckets that have refilled are deleted', async () => {
  const [stopping] = limitersOf(1) as [SharedRateLimiter]
  await client.query('delete from rate_limits')
  await stopping.charge('key', 'stopping')
  await stopping.close()
  const { rows } = await client.query<{ tokens: number }>('select tokens from rate_limits')
  expect(rows).toEqual([{ tokens: 299 }])
  await client.query(
    `insert into rate_limits values ('\\x00', 1, 1, now() - interval '121 seconds'), ('\\x01', 1, 1, now() - interval '60 seconds')`,
  )
  const [database] = databases
  if (database) await deleteFullBuckets(database)
  const { rowCount } = await client.query(`select from rate_limits where id <> '\\x00'`)
  expect([rowCount, (await client.query('select from rate_limits')).rowCount]).toEqual([2, 2])
})

test('while the database does not answer, credentials get 503, and public requests are limited by the own count', async () => {
  const [limiter] = limitersOf(1, 20) as [SharedRateLimiter]
  const begun = performance.now()
  expect(await allowedOf([limiter], 5, 'address', 'outage')).toBe(5)
  await client.query('begin')
  await client.query('lock table rate_limits')
  const began = performance.now()
  const allowed = await allowedOf([limiter], 50, 'address', 'outage')
  // Twenty per minute are added.
  expect(allowed).toBeGreaterThanOrEqual(15)
  expect(allowed).toBeLessThanOrEqual(15 + Math.floor((performance.now() - begun) / 3000))
  expect(performance.now() - began).toBeLessThan(3000)
  const refused = await Promise.allSettled([1, 2, 3].map(() => limiter.charge('read', 'outage')))
  expect(refused.map((one) => one.status === 'rejected' && (one.reason as ApiError).status)).toEqual([503, 503, 503])
  expect(performance.now() - began).toBeLessThan(8000)
  await client.query('rollback')
  expect((await limiter.charge('read', 'outage')).allowed).toBe(true)
})
