import { afterAll, beforeAll, expect, test } from 'vitest'
import { percentile, printLatencies, proveUnderKills } from '../../test/feed-crashes.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

const operations = Number(process.env.FEED_OPERATIONS ?? 2000)

test('the feed has each acknowledged change once, whatever is killed, and a reader that waits has it within seconds', async () => {
  const latencies = await proveUnderKills(database, { operations, betweenKills: operations / 20 })
  printLatencies(latencies)
  // A second on a machine that does nothing else.
  expect(percentile(latencies, 0.99)).toBeLessThan(5000)
}, 1_200_000)
