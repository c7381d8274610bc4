import { afterAll, beforeAll, expect, test } from 'vitest'
import pg from 'pg'
import { tablesByPlace } from '../src/places.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'

const places = Object.entries(tablesByPlace)
const placeOf = (table: string) => places.find(([, tables]) => (tables as readonly string[]).includes(table))?.[0]

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

const read = async <Row extends object>(statement: string): Promise<Row[]> => (await client.query<Row>(statement)).rows

test('every table has exactly one place', async () => {
  const stored = await read<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public'`)
  expect(places.flatMap(([, tables]) => [...tables]).sort()).toEqual(stored.map(({ name }) => name).sort())
})

test('no foreign key crosses the places', async () => {
  const keys = await read<{ name: string; from: string; to: string }>(
    `select conname as name, conrelid::regclass::text as "from", confrelid::regclass::text as "to"
    from pg_constraint where contype = 'f'`,
  )
  expect(keys.length).toBeGreaterThan(50)
  expect(keys.filter(({ from, to }) => placeOf(from) !== placeOf(to))).toEqual([])
})

test('no view and no function uses tables of both places', async () => {
  const sources = await read<{ name: string; text: string }>(
    `select viewname as name, definition as text from pg_views where schemaname = 'public'
    union all select proname, coalesce(pg_get_function_sqlbody(oid), prosrc) from pg_proc
    where pronamespace = 'public'::regnamespace and prolang <> (select oid from pg_language where lanname = 'c')
    -- Code of this release does not depend on triggers (CONTRIBUTING.md).
    and prorettype <> 'trigger'::regtype`,
  )
  expect(sources.length).toBeGreaterThan(15)
  const placesOf = (text: string) =>
    places.filter(([, tables]) => new RegExp(`\\b(from|join|into|update)\\s+(${tables.join('|')})\\b`, 'i').test(text))
  expect(sources.filter(({ text }) => placesOf(text).length > 1).map(({ name }) => name)).toEqual([])
})

test('every key of an organization’s table starts with its organization', async () => {
  const indexes = await read<{ name: string; first: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid, 1, false) as first from pg_index
    where indisunique and indrelid = any(array['${tablesByPlace.organization.join(`','`)}']::regclass[])`,
  )
  expect(indexes.length).toBeGreaterThan(40)
  expect(indexes.filter(({ first }) => first !== 'organization_id')).toEqual([])
})
