import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { seed } from '../../../test/seed.ts'
import { Database } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { type Attempt, createThrottle, type Throttle, remainingWait } from './throttle.ts'

let testDatabase: TestDatabase
let databases: Database[]
beforeAll(async () => {
  testDatabase = await createDatabase()
  databases = [1, 2].map(() => new Database({ connection: testDatabase.connection, size: 10 }))
})
afterAll(async () => {
  await Promise.all(databases.map((database) => database.close()))
  await testDatabase.drop()
})

const secret = createSecretKey(randomBytes(32))
const minute = 60_000
const hour = 60 * minute

/** Two processes on one database, with a clock that the test controls. */
function processes() {
  const clock = { now: Date.now() }
  const [one, two] = databases.map((database) => createThrottle({ database, secret, clock: () => clock.now }))
  if (!one || !two) throw new Error('two processes')
  return { clock, one, two }
}

let addresses = 0
const newAddress = () => `2001:db8:${(addresses += 1).toString(16)}::1`
const someone = (): Attempt => ({
  account: `${randomUUID()}@example.com`,
  address: newAddress(),
  source: 'stranger' as const,
})

const wrong = () => Promise.resolve(undefined)
const right = () => Promise.resolve('in')

/** Seconds to wait, or undefined if the attempt was allowed. */
async function wait(throttle: Throttle, attempt: Attempt, verify: () => Promise<unknown> = wrong) {
  try {
    await throttle.attempt(attempt, verify)
    return undefined
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 429)) throw error
    return Number(error.headers['retry-after'])
  }
}

test('after ten failures for an account from any addresses, unknown devices must wait in every process', async () => {
  const { clock, one, two } = processes()
  const { account } = someone()
  for (let failure = 0; failure < 10; failure++) {
    const attempt = { account, address: newAddress(), source: 'stranger' as const }
    expect(await wait(failure % 2 ? one : two, attempt)).toBeUndefined()
  }
  for (const throttle of [one, two]) {
    const attempt = { account, address: newAddress(), source: 'stranger' as const }
    expect(await wait(throttle, attempt, right)).toBe(15 * 60)
    expect(await wait(throttle, someone(), right)).toBeUndefined()
  }
  clock.now += 15 * minute
  expect(await wait(one, { account, address: newAddress(), source: 'stranger' as const }, right)).toBeUndefined()
})

test('deliberate failures do not lock out known devices, which have a separate limit', async () => {
  const { one, two } = processes()
  const { account } = someone()
  for (let failure = 0; failure < 30; failure++) {
    await wait(one, { account, address: newAddress(), source: 'stranger' as const })
  }
  const own = { account, address: newAddress(), source: 'device' as const }
  for (let failure = 0; failure < 9; failure++) expect(await wait(two, own)).toBeUndefined()
  expect(await wait(two, own, right)).toBeUndefined()
  for (let failure = 0; failure < 10; failure++) expect(await wait(two, own)).toBeUndefined()
  expect(await wait(one, own, right)).toBe(15 * 60)
})

test('a login on a known device does not clear the failures of unknown devices', async () => {
  const { one } = processes()
  const { account } = someone()
  for (let failure = 0; failure < 10; failure++) {
    await wait(one, { account, address: newAddress(), source: 'stranger' as const })
  }
  expect(await wait(one, { account, address: newAddress(), source: 'device' as const }, right)).toBeUndefined()
  expect(await wait(one, { account, address: newAddress(), source: 'stranger' as const }, right)).toBe(15 * 60)
})

test('a success clears the earlier failures from that address only', async () => {
  const { one } = processes()
  const { account, ...here } = someone()
  const elsewhere = { account, address: newAddress(), source: 'stranger' as const }
  for (let failure = 0; failure < 5; failure++) await wait(one, elsewhere)
  for (let failure = 0; failure < 4; failure++) await wait(one, { account, ...here })
  expect(await wait(one, { account, ...here }, right)).toBeUndefined()
  for (let failure = 0; failure < 5; failure++) expect(await wait(one, { account, ...here })).toBeUndefined()
  expect(await wait(one, { account, ...here })).toBe(15 * 60)
})

test('an address must wait after 20 failures in a minute and 100 in an hour, over all accounts', async () => {
  const { clock, one, two } = processes()
  const { address } = someone()
  const next = (throttle: Throttle) => wait(throttle, { ...someone(), address })
  for (let round = 0; round < 5; round++) {
    for (let failure = 0; failure < 20; failure++) expect(await next(failure % 2 ? one : two)).toBeUndefined()
    const seconds = await next(one)
    expect(seconds).toBe(round < 4 ? 60 : 3600 - 4 * 61)
    clock.now += 61_000
  }
  expect(await next(two)).toBe(3600 - 5 * 61)
  // For IPv6, the whole /64 counts.
  expect(await wait(one, { ...someone(), address: `${address}:2:3:4` }, right)).toBeGreaterThan(0)
  expect(await wait(one, someone(), right)).toBeUndefined()
})

test('of a hundred concurrent attempts in two processes, at most ten are tried', async () => {
  const { one, two } = processes()
  const { account } = someone()
  let tried = 0
  const waits = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      wait(index % 2 ? one : two, { account, address: newAddress(), source: 'stranger' as const }, async () => {
        tried++
        await new Promise((resolve) => setTimeout(resolve, 5))
        return undefined
      }),
    ),
  )
  expect(tried).toBeLessThanOrEqual(10)
  // An attempt that was tried has to wait if the failures of others were stored before its own.
  const withResult = waits.filter((seconds) => seconds === undefined).length
  expect(withResult).toBeGreaterThan(0)
  expect(withResult).toBeLessThanOrEqual(tried)
})

test('of twenty concurrent attempts with the right password, each succeeds', async () => {
  const { one, two } = processes()
  const { account } = someone()
  const own = { account, address: newAddress(), source: 'device' as const }
  const slowlyRight = () => new Promise<string>((resolve) => setTimeout(() => resolve('in'), 20))
  const waits = await Promise.all(
    Array.from({ length: 20 }, (_, index) => wait(index % 2 ? one : two, own, slowlyRight)),
  )
  expect(waits).toEqual(waits.map(() => undefined))
})

test('of fifty attempts from one address at once, at most twenty wrong ones get a result, and the right one afterwards none', async () => {
  const { one, two } = processes()
  const { address } = someone()
  let turn = Promise.resolve()
  const queued = () => {
    const mine = turn.then(() => undefined)
    turn = mine.then(() => new Promise((resolve) => setTimeout(resolve, 10)))
    return mine
  }
  const others = () =>
    Promise.all(
      Array.from({ length: 49 }, (_, index) => wait(index % 2 ? one : two, { ...someone(), address }, queued)),
    )
  let waits: (number | undefined)[] = []
  const last = await wait(one, { ...someone(), address }, async () => {
    waits = await others()
    return 'in'
  })
  expect(last).toBeGreaterThan(0)
  const completed = waits.filter((seconds) => seconds === undefined)
  expect(completed.length).toBeLessThanOrEqual(20)
  expect(completed.length).toBeGreaterThan(10)
})

test('an attempt whose check throws does not count, and the caller gets the error', async () => {
  const { one } = processes()
  const attempt = someone()
  const overloaded = new ApiError('overloaded', 'Try again.')
  for (let time = 0; time < 25; time++) {
    await expect(one.attempt(attempt, () => Promise.reject(overloaded))).rejects.toBe(overloaded)
  }
  expect(await wait(one, attempt, right)).toBeUndefined()
})

test('a rejected attempt does not extend the wait', async () => {
  const { clock, one } = processes()
  const { account } = someone()
  const next = () => wait(one, { account, address: newAddress(), source: 'stranger' as const })
  for (let failure = 0; failure < 10; failure++) await next()
  for (let refusal = 0; refusal < 20; refusal++) expect(await next()).toBe(15 * 60)
  clock.now += 15 * minute
  expect(await next()).toBeUndefined()
})

test('the database stores neither an account’s address nor a plain hash of it', async () => {
  const { one } = processes()
  const attempt = someone()
  await wait(one, attempt)
  const [database] = databases
  const rows = await database?.crossTenantQuery<{ text: string }>(
    'log in',
    sql`select t::text as text from login_failures t`,
  )
  const dump = (rows ?? []).map(({ text }) => text).join('\n')
  expect(dump).toContain('2001:db8:')
  expect(dump).not.toContain(attempt.account)
  const { hash } = await import('node:crypto')
  expect(dump).not.toContain(hash('sha256', attempt.account))
})

test('an account is tried at most ten times in 15 minutes and a hundred times in a day, however failures are spread', () => {
  const pauses = fc.array(fc.integer({ min: 0, max: 30 * minute }), { minLength: 1, maxLength: 300 })
  fc.assert(
    fc.property(pauses, (given) => {
      let now = 0
      const failed: number[] = []
      for (const pause of given) {
        now += pause
        const recent = failed.filter((at) => at > now - 24 * hour).toReversed()
        const milliseconds = remainingWait({ ofAccount: recent.slice(0, 50), ofAddress: [] }, now)
        expect(milliseconds).toBeLessThanOrEqual(4 * hour)
        if (milliseconds === 0) failed.push(now)
      }
      const maxWithin = (span: number) =>
        Math.max(0, ...failed.map((at) => failed.filter((other) => other >= at && other < at + span).length))
      expect(maxWithin(15 * minute)).toBeLessThanOrEqual(10)
      expect(maxWithin(24 * hour)).toBeLessThanOrEqual(100)
    }),
    { seed },
  )
})
