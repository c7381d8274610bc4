import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, test, type TestContext } from 'vitest'
import { tablesByPlace } from '../src/places.ts'
import { type DistributionState, distributionState } from '../src/platform/database/distribution/distribute.ts'
import { migrate } from '../src/platform/database/migrate.ts'
import { contentsOf, createBackupFixture, schemaOf } from './backups.ts'
import { createCitusDatabase } from './citus-database.ts'
import { waitForExit } from './command-line.ts'
import { query } from './data-directory.ts'
import { isDistributed } from './engines.ts'
import type { TestDatabase } from './postgres.ts'
import { until } from './processes.ts'

const notDistributed = 'Citus is available, but the records are not distributed. To distribute them, stop all services'

describe.skipIf(!isDistributed())('on Citus (TEST_ENGINE=citus and CITUS_FILES)', () => {
  test('`migrate` distributes an empty database and finds nothing to do afterwards', async (context) => {
    const { database, rapport } = await citusDatabase(context)
    const first = await rapport('migrate')
    expect(first).toMatchObject({ code: 0, output: 'The database is up to date.\n' })
    expect(first.errors).toContain(
      `Distributed ${tablesByPlace.organization[0]} (1 of ${tablesByPlace.organization.length}).`,
    )
    expect(await distributed(database)).toEqual(tablesByPlace.organization.toSorted())
    expect(await rapport('migrate')).toEqual({ code: 0, output: 'The database is up to date.\n', errors: '' })
  }, 120_000)

  test('the owner of the database needs no other privileges', async (context) => {
    const database = await createCitusDatabase()
    const fixture = await createBackupFixture()
    const user = `owner_${randomBytes(4).toString('hex')}`
    await query(database.connection, `create role ${user} login`)
    await query(database.connection, `alter database ${database.connection.database} owner to ${user}`)
    context.onTestFinished(async () => {
      await fixture.close()
      await database.drop()
    })
    const owned = { connection: { ...database.connection, user } }
    expect(await fixture.run(owned, 'migrate')).toMatchObject({ code: 0 })
    expect(await distributed(database)).toEqual(tablesByPlace.organization.toSorted())
    const file = fixture.file('owned')
    expect(await fixture.backUp(owned, file)).toMatchObject({ code: 0 })
    expect(await fixture.restore(owned, file, '--force')).toMatchObject({ code: 0 })
    expect(await distributed(database)).toEqual(tablesByPlace.organization.toSorted())
  }, 120_000)

  test('`migrate` leaves existing records where they are, and `migrate --distribute` waits for no service', async (context) => {
    const { database, rapport } = await filledDatabase(context)
    const before = await contentsOf(database)
    const plain = await rapport('migrate')
    expect(plain.code).toBe(0)
    expect(plain.errors.split('\n')).toEqual([expect.stringContaining(notDistributed), ''])
    expect(await distributed(database)).toEqual([])

    const service = new pg.Client({ ...database.connection, application_name: 'rapport' })
    await service.connect()
    const refused = await rapport('migrate', '--distribute')
    expect(refused.code).toBe(3)
    expect(refused.errors).toContain('1 connections of services are open on this database. Nothing was changed.')
    expect(await contentsOf(database)).toEqual(before)
    await service.end()

    expect(await rapport('migrate', '--distribute')).toMatchObject({ code: 0 })
    expect(await distributed(database)).toEqual(tablesByPlace.organization.toSorted())
    expect(await contentsOf(database)).toEqual(before)
  }, 180_000)

  test('a distribution that loses its connection reports it and is continued', async (context) => {
    const { database, rapport } = await filledDatabase(context)
    const before = await contentsOf(database)
    const reader = new pg.Client(database.connection)
    await reader.connect()
    await reader.query('begin; lock table teams in access share mode')
    const interrupted = rapport('migrate', '--distribute')
    const waiting = `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      and application_name = 'rapport migrate'`
    await until(
      'it waits for the reader',
      async () => (await query(database.connection, `select ${waiting}`)).length > 0,
    )
    await query(database.connection, `select pg_terminate_backend(pid) ${waiting}`)
    const { code, errors } = await interrupted
    expect(code).toBe(3)
    expect(errors).toContain('Run `node bin/rapport.js migrate --distribute` again, which continues it.')
    await reader.end()
    expect(await rapport('migrate', '--distribute')).toMatchObject({ code: 0 })
    expect(await contentsOf(database)).toEqual(before)
  }, 180_000)

  test('a distribution that is killed at any moment is continued, and nothing else runs before', async (context) => {
    const { database, rapport, launch } = await filledDatabase(context)
    const [before, schema] = [await contentsOf(database), await keysOf(database)]
    let interruptions = 0
    for (let delay = 0; ; delay += 150) {
      const process = launch('migrate', '--distribute')
      const exited = waitForExit(process)
      process.stderr?.once('data', () => setTimeout(() => process.kill('SIGKILL'), delay))
      const { code, errors } = await exited
      if (code === 0) break
      expect({ code, errors }).toMatchObject({ code: null })
      const state = await stateOf(database)
      if (state === 'complete') continue
      interruptions++
      expect(state).toBe('interrupted')
      const refused = await rapport('migrate')
      expect(refused.code).toBe(3)
      expect(refused.errors).toContain(
        'Finish it: stop all services, then run `node bin/rapport.js migrate --distribute`.',
      )
    }
    expect(interruptions).toBeGreaterThan(2)
    expect(await contentsOf(database)).toEqual(before)
    expect(await keysOf(database)).toEqual(schema)
    expect(await distributed(database)).toEqual(tablesByPlace.organization.toSorted())
  }, 300_000)

  test('an empty database is distributed by the next `migrate` if a distribution is killed or a service is connected', async (context) => {
    const { database, rapport, launch } = await citusDatabase(context, { hasWorkers: false })
    expect(await rapport('migrate')).toMatchObject({ code: 0, errors: expect.not.stringContaining('Citus') })
    await database.addWorkers()
    const service = new pg.Client({ ...database.connection, application_name: 'rapport' })
    await service.connect()
    expect((await rapport('migrate')).errors).toContain(notDistributed)
    expect(await distributed(database)).toEqual([])
    await service.end()

    const process = launch('migrate')
    process.stderr?.once('data', () => process.kill('SIGKILL'))
    await waitForExit(process)
    expect(await stateOf(database)).toBe('interrupted')
    expect(await rapport('migrate')).toMatchObject({ code: 0 })
    expect(await distributed(database)).toEqual(tablesByPlace.organization.toSorted())
  }, 120_000)

  test('later migrations change distributed tables, and distribute new ones', async (context) => {
    const { database, client, run, write, logged } = await testMigrations(context)
    await write({ '0001_first.sql': firstMigration })
    await run('contacts')
    expect(await distributed(database)).toEqual(['contacts'])
    await client.query(`insert into contacts select $1, gen_random_uuid(), 'Name' from generate_series(1, 20)`, [own])
    await write({ '0002_more.sql': secondMigration, '0003_index.sql': concurrentIndex })
    expect(await run('contacts', 'calls')).toEqual({ applied: ['0002_more.sql', '0003_index.sql'] })
    expect(await distributed(database)).toEqual(['calls', 'contacts'])
    expect(logged.filter((line) => line.startsWith('Skipped'))).toEqual([
      'Skipped on Citus: alter table contacts alter column name set statistics 0;',
      'Skipped on Citus: create trigger contacts_counted after insert on contacts',
    ])
    expect(await query(database.connection, 'select count(*)::int, min(folded) from calls')).toEqual([
      { count: 20, min: 'NAME;' },
    ])
    expect(await query(database.connection, 'select from directory')).toHaveLength(1)
    const missing = client.query(`insert into calls values ($1, gen_random_uuid(), gen_random_uuid())`, [own])
    await expect(missing).rejects.toThrow('violates foreign key constraint')
    expect(await indexesOf(database)).toEqual(Array(4).fill({ result: '3' }))
  }, 120_000)

  test('a newer release finishes an interrupted distribution before it migrates', async (context) => {
    const { database, client, run, write } = await testMigrations(context)
    await write({ '0001_first.sql': firstMigration })
    await run('contacts')
    await client.query('create table distribution_foreign_keys ("of" text, name text, definition text)')
    await write({ '0002_more.sql': secondMigration })
    expect(await run('contacts', 'calls')).toEqual({ applied: ['0002_more.sql'] })
    expect(await stateOf(database)).toBe('complete')
    expect(await distributed(database)).toEqual(['calls', 'contacts'])
  }, 120_000)

  test('a migration without a transaction that is interrupted is sent again', async (context) => {
    const { database, client, run, write } = await testMigrations(context)
    await write({ '0001_first.sql': firstMigration })
    await run('contacts')
    await client.query('alter table contacts add column folded text')
    await client.query('begin')
    await client.query(`insert into contacts values ($1, gen_random_uuid(), 'Name')`, [own])
    await write({ '0002_index.sql': concurrentIndex })
    const interrupted = expect(run('contacts')).rejects.toThrow('0002_index.sql failed')
    const building = `from pg_stat_activity where datname = current_database() and application_name = 'rapport migrate'
      and query like '%create index concurrently%'`
    await until(
      'it waits for the transaction',
      async () => (await query(database.connection, `select ${building}`)).length > 0,
    )
    await query(database.connection, `select pg_terminate_backend(pid) ${building}`)
    await interrupted
    await client.query('rollback')
    expect(await run('contacts')).toEqual({ applied: ['0002_index.sql'] })
    expect(await indexesOf(database)).toEqual(Array(4).fill({ result: '2' }))
  }, 120_000)

  test('a later migration that fails leaves nothing behind on any node', async (context) => {
    const { database, run, write } = await testMigrations(context)
    await write({ '0001_first.sql': firstMigration })
    await run('contacts')
    const before = await schemaOf(database.connection)
    await write({ '0002_more.sql': `${secondMigration}\nselect\n  nonsense;\n` })
    const line = secondMigration.split('\n').length + 2
    await expect(run('contacts', 'calls')).rejects.toThrow(`0002_more.sql failed, line ${line} and was rolled back`)
    expect(await schemaOf(database.connection)).toEqual(before)
    await write({ '0002_more.sql': secondMigration })
    expect(await run('contacts', 'calls')).toEqual({ applied: ['0002_more.sql'] })
  }, 120_000)
})

const distributed = async ({ connection }: Pick<TestDatabase, 'connection'>): Promise<unknown[]> =>
  (
    await query(
      connection,
      `select logicalrelid::text as name from pg_dist_partition where partmethod = 'h'
        and (select count(distinct colocationid) from pg_dist_partition where partmethod = 'h') = 1 order by 1`,
    )
  ).map(({ name }) => name)

const keysOf = async ({ connection }: TestDatabase): Promise<string[]> =>
  (await schemaOf(connection)).filter((line) => line.includes('FOREIGN KEY'))

/** The number of valid indexes of each shard of contacts. */
const indexesOf = ({ connection }: TestDatabase) =>
  query(
    connection,
    `select result from run_command_on_shards('contacts',
      $$select count(*) from pg_index where indrelid = '%s'::regclass and indisvalid$$)`,
  )

async function stateOf({ connection }: TestDatabase): Promise<DistributionState> {
  const client = new pg.Client(connection)
  await client.connect()
  return distributionState(client).finally(() => client.end())
}

const own = '00000000-0000-7000-8000-000000000001'

const firstMigration = `
create table contacts (organization_id uuid, id uuid, name text, primary key (organization_id, id));
create table directory (id integer primary key);
`

const secondMigration = `
create function fold_name(name text) returns text language sql immutable as $$ select upper(name || ';') $$;
alter table contacts add column folded text generated always as (fold_name(name)) stored;
alter table contacts alter column name set statistics 0;
create index contacts_name on contacts (organization_id, name);
create table calls (
  organization_id uuid not null,
  id uuid,
  contact_id uuid not null,
  folded text,
  primary key (organization_id, id),
  foreign key (organization_id, contact_id) references contacts on delete cascade
);
create index on calls (organization_id, fold_name(folded));
insert into calls select organization_id, id, id, folded from contacts;
alter table contacts add column calls integer not null default 0, add column more text;
create table other_directory (id integer references directory);
insert into directory values (1);
create function count_contacts() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger contacts_counted after insert on contacts
for each row execute function count_contacts();
`

const concurrentIndex = `-- rapport: no transaction
drop index concurrently if exists contacts_folded;
create index concurrently contacts_folded on contacts (organization_id, folded);
`

async function citusDatabase(context: TestContext, options?: { hasWorkers: boolean }) {
  const [database, fixture] = await Promise.all([createCitusDatabase(options), createBackupFixture()])
  context.onTestFinished(async () => {
    await fixture.close()
    await database.drop()
  })
  return {
    database,
    rapport: (...args: string[]) => fixture.run(database, ...args),
    launch: (...args: string[]) => fixture.launch(database, ...args),
  }
}

/** Migrated without workers, so that its records are on the coordinator. */
async function filledDatabase(context: TestContext) {
  const citus = await citusDatabase(context, { hasWorkers: false })
  const { database, rapport } = citus
  expect(await rapport('migrate')).toMatchObject({ code: 0 })
  await query(
    database.connection,
    `with made as (insert into organizations (id, name, slug)
       select gen_random_uuid(), 'Acme', 'acme-' || number from generate_series(1, 20) number returning id)
     insert into teams (organization_id, id, name)
       select made.id, gen_random_uuid(), 'Team ' || number from made, generate_series(1, 5) number`,
  )
  await database.addWorkers()
  return citus
}

async function testMigrations(context: TestContext) {
  const { database } = await citusDatabase(context)
  const folder = await mkdtemp(join(tmpdir(), 'migrations-'))
  const client = new pg.Client(database.connection)
  await client.connect()
  context.onTestFinished(async () => {
    await client.end()
    await rm(folder, { recursive: true })
  })
  const logged: string[] = []
  return {
    database,
    client,
    logged,
    write: async (files: Record<string, string>) => {
      for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
    },
    run: (...tables: string[]) =>
      migrate(database.connection, {
        folder,
        log: (message) => logged.push(message),
        organizationTables: tables,
      }),
  }
}
