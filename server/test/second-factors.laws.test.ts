import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '../src/platform/database/database.ts'
import { sql } from '../src/platform/model/sql.ts'
import { newId } from '../src/platform/model/ids.ts'
import { beginTotp, insertPasskey, recordPasskeyUse, consumeTotpStep } from '../src/identity/second-factors/store.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { seed } from './seed.ts'

let made: TestDatabase
let database: Database
const userId = newId()

beforeAll(async () => {
  made = await createDatabase()
  database = new Database({ connection: made.connection, size: 10 })
  await database.crossTenantQuery(
    'check the database',
    sql`insert into users (id, email, email_key, name) values (${userId}, 'a@example.com', 'a@example.com', 'Ada')`,
  )
})
afterAll(async () => {
  await database.close()
  await made.drop()
})

const within = <Result>(work: Parameters<typeof database.crossTenantTransaction<Result>>[1]): Promise<Result> =>
  database.crossTenantTransaction('manage an account', work)

/** Each at once, or one after another. */
const offered = (most: number) =>
  fc.record({
    values: fc.array(fc.integer({ min: 0, max: most }), { minLength: 1, maxLength: 12 }),
    atOnce: fc.boolean(),
  })

async function offer<Value>(
  { values, atOnce }: { values: readonly Value[]; atOnce: boolean },
  take: (value: Value) => Promise<boolean>,
): Promise<boolean[]> {
  if (atOnce) return Promise.all(values.map(take))
  const taken: boolean[] = []
  for (const value of values) taken.push(await take(value))
  return taken
}

/** Of what is offered one after another, that which is higher than all that was taken before. */
function risingOf(values: readonly number[], isTaken: (value: number, last: number | undefined) => boolean): boolean[] {
  let last: number | undefined
  return values.map((value) => {
    if (!isTaken(value, last)) return false
    last = value
    return true
  })
}

test('of the time steps of codes, each is taken once, and none after a later one', async () => {
  await fc.assert(
    fc.asyncProperty(offered(8), async (steps) => {
      await database.crossTenantQuery('check the database', sql`delete from totp_secrets`)
      await within((db) => beginTotp(db, userId, Buffer.alloc(48)))
      const taken = await offer(steps, (step) => within((db) => consumeTotpStep(db, userId, step)))
      const accepted = steps.values.filter((_, index) => taken[index])
      expect(new Set(accepted).size).toBe(accepted.length)
      // Whatever came first, the highest one is taken.
      expect(accepted).toContain(Math.max(...steps.values))
      if (!steps.atOnce) expect(taken).toEqual(risingOf(steps.values, (step, last) => step > (last ?? -1)))
    }),
    { numRuns: 60, seed },
  )
})

test('a passkey’s counter only rises, but for one that never counts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 3 }), offered(6), async (first, counters) => {
      const id = await within((db) =>
        insertPasskey(db, {
          userId,
          credentialId: Buffer.from(newId()),
          publicKey: Buffer.alloc(1),
          counter: first,
          transports: [],
          name: 'Any',
          isSynced: false,
        }),
      )
      const use = (counter: number) => within((db) => recordPasskeyUse(db, id ?? '', { counter, isSynced: false }))
      const taken = await offer(counters, use)
      const accepted = counters.values.filter((value, index) => taken[index] && value > 0)
      expect(new Set(accepted).size).toBe(accepted.length)
      for (const counter of accepted) expect(counter).toBeGreaterThan(first)
      if (counters.atOnce) return
      const isTaken = (counter: number, last = first) => counter > last || (counter === 0 && last === 0)
      expect(taken).toEqual(risingOf(counters.values, isTaken))
    }),
    { numRuns: 60, seed },
  )
})
