import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { expect, type TestContext, test } from 'vitest'
import { createEmptyDatabase } from '../../../test/postgres.ts'
import { processStarter, until } from '../../../test/processes.ts'
import { connect } from './connect.ts'
import { migrate } from './migrate.ts'
import { StartError } from './start-error.ts'

async function createTestMigrations({ onTestFinished }: TestContext, files: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), 'migrations-'))
  const { connection, drop } = await createEmptyDatabase()
  const client = await connect(connection)
  onTestFinished(async () => {
    await client.end()
    await drop()
    await rm(folder, { recursive: true })
  })
  const write = async (more: Record<string, string>) => {
    for (const [name, text] of Object.entries(more)) await writeFile(join(folder, name), text)
  }
  await write(files)
  const logged: string[] = []
  const run = () => migrate(connection, { folder, log: (message) => logged.push(message) })
  return { folder, connection, client, write, run, logged, recorded: () => recordedIn(client) }
}

const recordedIn = async (client: pg.Client): Promise<string[]> =>
  (await client.query<{ name: string }>('select name from schema_migrations order by version')).rows.map(
    ({ name }) => name,
  )

const tables = async (client: pg.Client): Promise<string[]> =>
  (
    await client.query<{ name: string }>(
      `select tablename::text as name from pg_tables where schemaname = 'public' order by 1`,
    )
  ).rows.map(({ name }) => name)

const refusal = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(StartError)
  return (error as StartError).message
}

test('migrations are applied once, in the order of their numbers', async (context) => {
  const { run, write, recorded } = await createTestMigrations(context, {
    '0002_second.sql': 'alter table one add column more text;',
    '0001_first.sql': 'create table one (id integer);\ncreate table other ();',
  })
  expect(await run()).toEqual({ applied: ['0001_first.sql', '0002_second.sql'] })
  expect(await run()).toEqual({ applied: [] })
  await write({ '0003_third.sql': 'drop table other;' })
  expect(await run()).toEqual({ applied: ['0003_third.sql'] })
  expect(await recorded()).toEqual(['0001_first.sql', '0002_second.sql', '0003_third.sql'])
})

test('a failing migration leaves nothing behind and names its file and line; earlier ones stay applied', async (context) => {
  const { run, client, write, recorded } = await createTestMigrations(context, {
    '0001_first.sql': 'create table one (id integer);',
    '0002_bad.sql': 'create table two (id integer);\n\nselect nonsense from one;\n',
  })
  const message = await refusal(run())
  expect(message).toContain('0002_bad.sql failed, line 3')
  expect(message).toContain('column "nonsense" does not exist')
  expect(await tables(client)).toEqual(['one', 'schema_migrations'])
  await write({ '0002_bad.sql': 'create table two (id integer);' })
  expect(await run()).toEqual({ applied: ['0002_bad.sql'] })
  expect(await recorded()).toHaveLength(2)
})

test('a schema newer than the code is rejected and left unchanged', async (context) => {
  const { run, folder, client, write } = await createTestMigrations(context, {
    '0001_first.sql': 'create table one ();',
    '0002_newer.sql': 'create table newer ();',
  })
  await run()
  await rm(join(folder, '0002_newer.sql'))
  await write({ '0003_other.sql': 'drop table newer;' })
  expect(await refusal(run())).toMatch(/newer schema than this code: it includes 0002_newer\.sql/)
  expect(await tables(client)).toContain('newer')
})

test('an applied file that was edited is rejected, unless only its line ends differ', async (context) => {
  const { run, write } = await createTestMigrations(context, { '0001_first.sql': 'create table one ();\n-- end\n' })
  await run()
  await write({ '0001_first.sql': 'create table one ();\r\n-- end\r\n' })
  expect(await run()).toEqual({ applied: [] })
  await write({ '0001_first.sql': 'create table one (id integer);\n-- end\n' })
  expect(await refusal(run())).toContain('0001_first.sql was edited after it was applied')
})

test('a file numbered before an applied one is rejected', async (context) => {
  const { run, write } = await createTestMigrations(context, {
    '0001_first.sql': 'create table one ();',
    '0003_third.sql': 'create table three ();',
  })
  await run()
  await write({ '0002_late.sql': 'create table two ();' })
  expect(await refusal(run())).toContain('0002_late.sql has a lower number than one that is already applied')
})

test('a database that does not begin with the first file is refused and left unchanged', async (context) => {
  const { run, folder, client, write } = await createTestMigrations(context, { '0001_old.sql': 'create table one ();' })
  await run()
  await rm(join(folder, '0001_old.sql'))
  await write({ '0001_first.sql': 'create table one ();', '0002_second.sql': 'drop table one;' })
  expect(await refusal(run())).toContain('was made by a Rapport from before 0.1.0')
  expect(await tables(client)).toEqual(['one', 'schema_migrations'])
})

test('a non-transactional file that was interrupted is sent again', async (context) => {
  const { run, client, recorded } = await createTestMigrations(context, {
    '0001_first.sql': 'create table one (id integer); insert into one values (1), (1);',
    '0002_index.sql': [
      '-- rapport: no transaction',
      'drop index concurrently if exists one_id;',
      'create unique index concurrently one_id on one (id);',
      '',
    ].join('\n'),
  })
  expect(await refusal(run())).toContain('0002_index.sql failed')
  const invalid = `select indisvalid as valid from pg_index where indexrelid = 'one_id'::regclass`
  expect((await client.query(invalid)).rows).toEqual([{ valid: false }])
  expect(await recorded()).toEqual(['0001_first.sql'])
  await client.query('delete from one where ctid = (select max(ctid) from one)')
  expect(await run()).toEqual({ applied: ['0002_index.sql'] })
  expect((await client.query(invalid)).rows).toEqual([{ valid: true }])
})

test('an error in a non-transactional file is reported with its line', async (context) => {
  const { run } = await createTestMigrations(context, {
    '0001_first.sql': '-- rapport: no transaction\ncreate table one ();\n\ncreate table two (\n  id nonsense\n);\n',
  })
  expect(await refusal(run())).toContain('0001_first.sql failed, line 5')
})

test('a migration waits for a table that others use, without blocking them, and then continues', async (context) => {
  const { run, client, write, logged } = await createTestMigrations(context, {
    '0001_first.sql': 'create table one (id integer);',
  })
  await run()
  await write({ '0002_second.sql': 'alter table one add column more text;' })
  await client.query('begin; lock table one in access share mode')
  const migrating = run()
  await until('it waits', () => logged.some((line) => line.startsWith('0002_second.sql is waiting')))
  await client.query('commit')
  expect(await migrating).toEqual({ applied: ['0002_second.sql'] })
})

test('a migration that holds the table a request waits for gives way, so that the request does not fail', async (context) => {
  const { run, client, write, logged } = await createTestMigrations(context, {
    '0001_first.sql': 'create table one (id integer); create table two (id integer);',
  })
  await run()
  const second = 'alter table two add column more text; select pg_sleep(0.3); alter table one add column more text;'
  await write({ '0002_second.sql': second })
  await client.query('begin; lock table one in access share mode')
  const migrating = run()
  const held = `select from pg_locks where relation = 'two'::regclass and mode = 'AccessExclusiveLock' and granted`
  await until('it holds the second table', async () => (await client.query(held)).rows.length > 0)
  await client.query('select from two')
  await client.query('commit')
  expect(await migrating).toEqual({ applied: ['0002_second.sql'] })
  expect(logged.filter((line) => line.includes('is waiting for tables in use'))).toHaveLength(1)
})

test('four processes that migrate at once apply each file exactly once', async (context) => {
  const files = Object.fromEntries(
    Array.from({ length: 8 }, (_, index) => [
      `000${index + 1}_step.sql`,
      index === 4
        ? '-- rapport: no transaction\ndrop index concurrently if exists step_index;\ncreate index concurrently step_index on step_1 (id);\n'
        : `select pg_sleep(0.05); create table step_${index + 1} (id integer);`,
    ]),
  )
  const { folder, connection, client, recorded } = await createTestMigrations(context, files)
  const processes = await processStarter()
  context.onTestFinished(() => processes.close())
  const started = [1, 2, 3, 4].map(() => processes.start({ kind: 'migrate', connection, folder }))
  const outcomes = await Promise.all(started.map(({ outcome }) => outcome))
  expect(outcomes.map(({ event }) => event)).toEqual(Array(4).fill('migrated'))
  expect(outcomes.flatMap(({ applied = [] }) => applied).sort()).toEqual(Object.keys(files))
  expect(await recorded()).toEqual(Object.keys(files))
  expect(await tables(client)).toHaveLength(8)
})

test('a file name without a sequence number is rejected', async (context) => {
  const { run } = await createTestMigrations(context, { '1_first.sql': 'select 1' })
  await expect(run()).rejects.toThrow('0001_lower_case.sql; found 1_first.sql')
})
