import { afterAll, beforeAll, expect, test } from 'vitest'
import { percentile, proveUnderKills } from '../../test/feed-crashes.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

const operations = Number(process.env.FEED_OPERATIONS ?? 2000)

test('the feed has each acknowledged change once, whatever is killed, and a reader that waits has it within seconds', async () => {
  const latencies = await proveUnderKills(database, { operations, betweenKills: operations / 20 })
  const shown = [0.5, 0.99, 1].map((part) => `${Math.round(percentile(latencies, part))} ms`)
  console.log(`${latencies.length} changes visible after: median ${shown[0]}, p99 ${shown[1]}, max ${shown[2]}`)
  // A second on a machine that does nothing else.
  expect(percentile(latencies, 0.99)).toBeLessThan(5000)
}, 1_200_000)
