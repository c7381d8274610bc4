// The suite runs on Debian's PostgreSQL, the oldest supported version. Files whose result depends on the engine, because
// collation, plans, statistics or dumps differ, run here on the embedded one too.
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from './data-directory.ts'
import { createDatabase, useEngine } from './postgres.ts'

const files = [
  'src/cli/examine-database',
  'src/platform/database/migrate',
  'src/platform/operations/backup/backup',
  'src/platform/operations/maintenance/maintenance-plans',
  'src/platform/operations/maintenance/statistics',
  'src/platform/records/filter/filters',
  'src/platform/records/filter/fold',
  'src/platform/records/page/lists',
  'src/platform/records/page/lists.laws',
  'src/platform/records/page/plans',
  'src/platform/records/page/prepared-plans',
  'src/platform/records/rendering/rendered',
  'src/intake/rows/rows-plans',
  'test/columns',
  'test/postgres',
]

beforeAll(() => useEngine('embedded'))
afterAll(() => useEngine(undefined))

test('these tests use the embedded PostgreSQL', async () => {
  const database = await createDatabase()
  expect(
    await query(database.connection, `select current_setting('server_version_num')::int / 10000 as major`),
  ).toEqual([{ major: 18 }])
  await database.drop()
})

// With the parameter, a file that this worker has run on the other engine is loaded again.
describe.each(files)('%s', async (file) => {
  await import(/* @vite-ignore */ `${fileURLToPath(new URL(`../${file}.test.ts`, import.meta.url))}?engine=embedded`)
})
