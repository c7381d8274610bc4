import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { newId } from '../../platform/model/ids.ts'
import { beginTotp, insertPasskey, recordPasskeyUse, consumeTotpStep } from './store.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { runsOf, seed } from '../../../test/seed.ts'

let testDatabase: TestDatabase
let database: Database
const userId = newId()

beforeAll(async () => {
  testDatabase = await createDatabase()
  database = new Database({ connection: testDatabase.connection, size: 10 })
  await database.crossTenantQuery(
    'check the database',
    sql`insert into users (id, email, email_key, name) values (${userId}, 'a@example.com', 'a@example.com', 'Ada')`,
  )
})
afterAll(async () => {
  await database.close()
  await testDatabase.drop()
})

const transact = <Result>(work: Parameters<typeof database.crossTenantTransaction<Result>>[1]): Promise<Result> =>
  database.crossTenantTransaction('manage an account', work)

/** Values that are taken concurrently or one after another. */
const arbitraryValues = (max: number) =>
  fc.record({
    values: fc.array(fc.integer({ min: 0, max }), { minLength: 1, maxLength: 12 }),
    concurrently: fc.boolean(),
  })

async function takeEach<Value>(
  { values, concurrently }: { values: readonly Value[]; concurrently: boolean },
  takeValue: (value: Value) => Promise<boolean>,
): Promise<boolean[]> {
  if (concurrently) return Promise.all(values.map(takeValue))
  const taken: boolean[] = []
  for (const value of values) taken.push(await takeValue(value))
  return taken
}

/** For values that are taken one after another: whether each is accepted after the last accepted one. */
function expectedIncreasing(
  values: readonly number[],
  isTaken: (value: number, last: number | undefined) => boolean,
): boolean[] {
  let last: number | undefined
  return values.map((value) => {
    if (!isTaken(value, last)) return false
    last = value
    return true
  })
}

test('each time step of codes is accepted once, and none after a later one', async () => {
  await fc.assert(
    fc.asyncProperty(arbitraryValues(8), async (steps) => {
      await database.crossTenantQuery('check the database', sql`delete from totp_secrets`)
      await transact((db) => beginTotp(db, userId, Buffer.alloc(48)))
      const taken = await takeEach(steps, (step) => transact((db) => consumeTotpStep(db, userId, step)))
      const accepted = steps.values.filter((_, index) => taken[index])
      expect(new Set(accepted).size).toBe(accepted.length)
      // The highest step is always accepted.
      expect(accepted).toContain(Math.max(...steps.values))
      if (!steps.concurrently)
        expect(taken).toEqual(expectedIncreasing(steps.values, (step, last) => step > (last ?? -1)))
    }),
    { numRuns: runsOf(60), seed },
  )
})

test('a passkey’s counter must increase, unless the authenticator always sends 0', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 3 }), arbitraryValues(6), async (initial, counters) => {
      const id = await transact((db) =>
        insertPasskey(db, {
          userId,
          credentialId: Buffer.from(newId()),
          publicKey: Buffer.alloc(1),
          counter: initial,
          transports: [],
          name: 'Any',
          isSynced: false,
        }),
      )
      const use = (counter: number) => transact((db) => recordPasskeyUse(db, id ?? '', { counter, isSynced: false }))
      const taken = await takeEach(counters, use)
      const accepted = counters.values.filter((value, index) => taken[index] && value > 0)
      expect(new Set(accepted).size).toBe(accepted.length)
      for (const counter of accepted) expect(counter).toBeGreaterThan(initial)
      if (counters.concurrently) return
      const isTaken = (counter: number, last = initial) => counter > last || (counter === 0 && last === 0)
      expect(taken).toEqual(expectedIncreasing(counters.values, isTaken))
    }),
    { numRuns: runsOf(60), seed },
  )
})
