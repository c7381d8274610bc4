import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from './postgres.ts'

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await createDatabase()
  client = new pg.Client(database.connection)
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

// A restore builds indexes without a search path, and so does the maintenance of newer versions of PostgreSQL.
test('functions of indexes find other functions without a search path', async () => {
  const { rows: own } = await client.query<{ name: string }>(
    `select proname as name from pg_proc where pronamespace = 'public'::regnamespace`,
  )
  const { rows: used } = await client.query<{ name: string; source: string; isBound: boolean }>(
    `select distinct proname as name, prosrc as source, prosqlbody is not null as "isBound"
      from pg_index
      join pg_depend on pg_depend.classid = 'pg_class'::regclass and pg_depend.objid = indexrelid
        and pg_depend.refclassid = 'pg_proc'::regclass
      join pg_proc on pg_proc.oid = pg_depend.refobjid and pronamespace = 'public'::regnamespace`,
  )
  expect(used.map(({ name }) => name)).toEqual(expect.arrayContaining(['fold', 'sort_key', 'further_text']))
  const calls = new RegExp(`\\b(?:${own.map(({ name }) => name).join('|')})\\(`)
  expect(used.filter(({ source, isBound }) => !isBound && calls.test(source)).map(({ name }) => name)).toEqual([])
})
