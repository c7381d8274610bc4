import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { databaseUrlOf } from '../../test/command-line.ts'
import { query } from '../../test/data-directory.ts'
import { createEmptyDatabase, type TestDatabase } from '../../test/postgres.ts'
import { parseConfig } from '../config.ts'
import { connect } from '../platform/database/connect.ts'
import { examineDatabase } from './examine-database.ts'
import { checkTransactions } from './examine-maintenance.ts'

let database: TestDatabase
let folder: string
beforeAll(async () => {
  database = await createEmptyDatabase()
  folder = await mkdtemp(join(tmpdir(), 'rapport-examine-'))
})
afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true })
})

test('a failing check is a finding, also with DATABASE_URL', async () => {
  await query(database.connection, 'create table schema_migrations as select 1 as odd')
  const config = parseConfig({ DATABASE_URL: databaseUrlOf(database), DATA_DIR: folder })
  expect(await examineDatabase(config)).toContainEqual({
    name: 'schema',
    state: 'wrong',
    message: expect.stringContaining('column "name" does not exist'),
  })
})

test('a long-running backup is a note without the advice to end it; an unknown transaction is a problem', async () => {
  const begin = async (name: string) => {
    const client = await connect({ ...database.connection, application_name: name })
    await client.query('begin; select')
    return client
  }
  const watcher = await connect(database.connection)
  // The clock of this client is 61 minutes ahead, because a test cannot wait until a transaction is old.
  const queryLater = (text: string, values: unknown[]) =>
    watcher.query(text.replaceAll('now()', `(clock_timestamp() + interval '61 minutes')`), values)
  const later = { query: queryLater } as unknown as pg.Client
  const backup = await begin('rapport backup')
  const found = await checkTransactions(later)
  expect(found).toMatchObject({ state: 'note', message: expect.stringContaining('rapport backup') })
  expect(found.advice).not.toContain('pg_terminate_backend')
  const report = await begin('report')
  const both = await checkTransactions(later)
  expect(both).toMatchObject({
    state: 'wrong',
    message: expect.stringMatching(/rapport backup[^]*report|report[^]*rapport backup/),
  })
  expect(both.advice?.match(/pg_terminate_backend/g)).toHaveLength(1)
  for (const client of [backup, report, watcher]) await client.end()
})
