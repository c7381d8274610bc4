import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isDistributed } from './engines.ts'
import { printLatencies, proveUnderKills } from './feed-crashes.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'

describe.skipIf(!isDistributed())('on Citus', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createDatabase()
  })
  afterAll(() => database?.drop())

  test('the feed has each acknowledged change once, whatever is killed, and a copy that is made of it is complete', async () => {
    const latencies = await proveUnderKills(database, { operations: 300, betweenKills: 60 })
    printLatencies(latencies)
    expect(latencies.at(-1)).toBeLessThan(Infinity)
  }, 300_000)
})
