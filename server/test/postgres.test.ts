import pg from 'pg'
import { expect, test } from 'vitest'
import { createDatabase, createEmptyDatabase, testCluster } from './postgres.ts'

test('each test gets a separate database on the requested engine', async () => {
  const databases = await Promise.all([createDatabase(), createDatabase(), createEmptyDatabase()])
  expect(new Set(databases.map(({ connection }) => connection.database)).size).toBe(3)
  const client = new pg.Client(databases[0].connection)
  await client.connect()
  const { rows } = await client.query<{ major: number }>(
    `select current_setting('server_version_num')::int / 10000 as major`,
  )
  await client.end()
  if (testCluster().engine === 'embedded') expect(rows[0]?.major).toBe(18)
  else expect(rows[0]?.major).toBeGreaterThanOrEqual(15)
  await Promise.all(databases.map((database) => database.drop()))
  await expect(new pg.Client(databases[0].connection).connect()).rejects.toThrow(/does not exist/)
})
