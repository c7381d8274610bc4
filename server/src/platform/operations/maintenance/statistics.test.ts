import { isDistributed } from '../../../../test/engines.ts'
import { seesAll } from '../../../../test/readers.ts'
import { Writable } from 'node:stream'
import pg from 'pg'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Database, sessionOptions, type Transaction } from '../../database/database.ts'
import { type FixedStatement, toSql } from '../../database/fixed-statements.ts'
import { organizationParameter, type Sql, sql } from '../../model/sql.ts'
import { parseQuery } from '../../records/request/query-string.ts'
import { planCount, planPage } from '../../records/page/page.ts'
import { parseFilters, parseList } from '../../records/page/parse.ts'
import { lockRecords } from '../../records/write/current.ts'
import type { Resource } from '../../records/declare/define.ts'
import { readRecord } from '../../records/page/read.ts'
import { createMaintenance, updateStatistics as takeAll } from './maintenance.ts'
import { contacts } from '../../../crm/contacts/resource.ts'
import { allNotes } from '../../../crm/notes/resource.ts'
import { explain, recordsRead } from '../../../../test/explain.ts'
import { createDatabase, type TestDatabase } from '../../../../test/postgres.ts'
import { until } from '../../../../test/processes.ts'
import { tablesByPlace } from '../../../places.ts'
import { startTestService } from '../../../../test/service.ts'
import { citus } from '../../database/distribution/citus.ts'

/** Statistics of a table can be missing or outdated; the test cluster's autovacuum runs only once an hour. */
const size = 1500
const ours = '00000000-0000-7000-8000-000000000001'
const theirs = '00000000-0000-7000-8000-000000000002'

/** Plans and statistics are those of a single server. */
const onOneServer = test.skipIf(isDistributed())

let testDatabase: TestDatabase
let client: pg.Client
let logged: string[]
const log = pino(new Writable({ write: (chunk, _encoding, done) => done(void logged.push(String(chunk))) }))
const takeStatistics = (database: Database) => takeAll({ database, log }, new AbortController().signal)

beforeEach(async () => {
  logged = []
  testDatabase = await createDatabase()
  client = new pg.Client({ ...testDatabase.connection, options: sessionOptions })
  await client.connect()
  await client.query(fillFunction)
})

afterEach(async () => {
  await client.end()
  await testDatabase.drop()
})

/** Creates contacts with these numbers, each with a company, a root contact and a note. */
const fillFunction = `create function pg_temp.fill(organization uuid, low int, high int) returns void language plpgsql as $$
begin
  insert into organizations (id, name, slug) values (organization, organization, organization) on conflict do nothing;
  insert into teams (organization_id, id, name, is_default) values (organization, organization, 'Default', true)
    on conflict do nothing;
  insert into root_contacts (organization_id, id)
    select organization, md5(organization || 'root' || n)::uuid from generate_series(low, high) n;
  insert into companies (organization_id, id, name)
    select organization, md5(organization || 'company' || n)::uuid, 'Acme ' || n from generate_series(low, high) n;
  insert into contacts (organization_id, id, email, email_key, name, company_id, root_contact_id, team_id)
    select organization, md5(organization || 'contact' || n)::uuid, n || '@example.com', n || '@example.com', 'Ada ' || n,
      md5(organization || 'company' || n)::uuid, md5(organization || 'root' || n)::uuid, organization
    from generate_series(low, high) n;
  insert into notes (organization_id, id, contact_id, body)
    select organization, md5(organization || 'note' || n)::uuid, md5(organization || 'contact' || n)::uuid, 'Order ' || n
    from generate_series(low, high) n;
end $$`

const fill = (organization: string, low: number, high: number) =>
  client.query('select pg_temp.fill($1, $2, $3)', [organization, low, high])

const scope = { organization: organizationParameter(ours), actor: seesAll }

const page = (resource: Resource, query = '') => {
  const cursorScope = { key: Buffer.alloc(32), organizationId: ours, list: resource.name, orderBy: '' }
  return planPage(
    resource,
    parseList(resource, parseQuery(`/?${query}`), () => cursorScope),
    scope,
  ).statement
}

const count = (resource: Resource, query = '') =>
  planCount(resource, parseFilters(resource, parseQuery(`/?${query}`)), scope).statement

/** The statement that `run` sends first. */
async function statementOf(run: (transaction: Transaction) => Promise<unknown>): Promise<Sql | FixedStatement> {
  let statementSent: Sql | FixedStatement | undefined
  const transaction = {
    organizationId: ours,
    organization: scope.organization,
    actor: scope.actor,
    query: async (statement: Sql | FixedStatement) => {
      statementSent = statement
      return []
    },
  } as unknown as Transaction
  await run(transaction).catch(() => undefined)
  if (!statementSent) throw new Error('no statement was sent')
  return statementSent
}

const idsOf = async (limit: number): Promise<string[]> => {
  const { rows } = await client.query<{ id: string }>(
    'select id from contacts where organization_id = $1 order by id limit $2',
    [ours, limit],
  )
  return rows.map(({ id }) => id)
}

const readStatement = async () => {
  const [id = ''] = await idsOf(1)
  return statementOf((transaction) => readRecord(transaction, contacts, id))
}

const lockStatement = async () => {
  const changes = (await idsOf(500)).map((id) => ({ kind: 'update' as const, id, values: {} }))
  return statementOf((transaction) => lockRecords(transaction, contacts, changes, undefined))
}

const countRecordsRead = async (statement: Sql | FixedStatement) => recordsRead(await explain(client, toSql(statement)))

onOneServer('no query scans a whole table for an organization that is newer than the statistics', async () => {
  await fill(theirs, 1, 1000)
  await client.query('vacuum analyze')
  await fill(ours, 1, size)
  expect(await countRecordsRead(await readStatement())).toBeLessThan(10)
  expect(await countRecordsRead(page(contacts))).toBeLessThan(100)
  expect(await countRecordsRead(page(contacts, 'orderBy=name'))).toBeLessThan(100)
  expect(await countRecordsRead(page(allNotes))).toBeLessThan(100)
  expect(await countRecordsRead(page(allNotes, 'query=absent'))).toBeLessThan(5 * size)
  expect(await countRecordsRead(await lockStatement())).toBeLessThan(5 * size)
  expect(await countRecordsRead(count(allNotes))).toBeLessThan(5 * size)
  expect(await countRecordsRead(count(allNotes, 'query=order'))).toBeLessThan(5 * size)
  expect(await countRecordsRead(page(contacts, 'orderBy=company'))).toBeLessThan(5 * size)
})

onOneServer('without statistics a page does not scan a table for each of its records', async () => {
  // The planner believes that fewer rows of so many columns are one row, for which any index would do.
  const records = 2500
  await fill(ours, 1, records)
  expect(await countRecordsRead(await readStatement())).toBeLessThan(2 * records)
  expect(await countRecordsRead(page(contacts))).toBeLessThan(2 * records)
  expect(await countRecordsRead(page(contacts, 'query=ada'))).toBeLessThan(5 * records)
  expect(await countRecordsRead(page(allNotes))).toBeLessThan(2 * records)
  expect(await countRecordsRead(page(allNotes, 'query=absent'))).toBeLessThan(7 * records)
  expect(await countRecordsRead(await lockStatement())).toBeLessThan(5 * records)
})

/** With a single kind of parent, a count joins the parents, and the planner's estimate decides how. */
const notesOnContacts: Resource = { ...allNotes, requiredParents: (allNotes.requiredParents ?? []).slice(0, 1) }

onOneServer('statistics are updated only for tables that have doubled', async () => {
  const database = new Database({ connection: testDatabase.connection, size: 1 })
  await fill(ours, 1, size)
  expect(await countRecordsRead(count(notesOnContacts))).toBeGreaterThan(100 * size)
  const grown = ['companies', 'contacts', 'notes', 'root_contacts']
  const all = { taken: grown, failed: false }
  const none = { taken: [], failed: false }
  expect(await takeStatistics(database)).toEqual(all)
  expect(await countRecordsRead(count(notesOnContacts))).toBeLessThan(5 * size)
  expect(await takeStatistics(database)).toEqual(none)
  await fill(ours, size + 1, 2700)
  expect(await takeStatistics(database)).toEqual(none)
  await fill(ours, 2701, 3300)
  expect(await takeStatistics(database)).toEqual(all)
  await database.close()
})

/** Creates records; updating the statistics of companies runs these statements. */
async function fillAndBlock(statements: string): Promise<void> {
  const indexFunction = (body: string) => `
    create or replace function met(name text) returns text language plpgsql immutable set lock_timeout = 0 as $$ begin
      ${body} return name;
    end $$`
  // `analyze` computes index expressions. Creating the index after the rows would update the page count.
  await client.query(`${indexFunction('')}; create index on companies (met(name))`)
  await fill(ours, 1, size)
  await client.query(indexFunction(statements))
}

/** Milliseconds for which `analyze` has waited for the test's lock; undefined if it does not wait. */
async function waitingMilliseconds(): Promise<number | undefined> {
  const { rows } = await client.query<{ since: number }>(
    `select extract(epoch from clock_timestamp() - query_start) * 1000 as since from pg_stat_activity
      where query like 'analyze%' and wait_event = 'advisory' and datname = current_database()`,
  )
  return rows[0] && Number(rows[0].since)
}

onOneServer('a failed update of one table’s statistics does not affect the others and logs no row data', async () => {
  const database = new Database({ connection: testDatabase.connection, size: 1 })
  await fillAndBlock(`raise 'not %', name;`)
  expect(await takeStatistics(database)).toEqual({ taken: ['contacts', 'notes', 'root_contacts'], failed: true })
  expect(logged).toHaveLength(1)
  expect(JSON.parse(logged[0] ?? '')).toMatchObject({ of: 'companies' })
  expect(await countRecordsRead(count(allNotes))).toBeLessThan(5 * size)
  await database.close()
})

onOneServer('statistics may take longer than a request, only on their own connection', async () => {
  const database = new Database({ connection: testDatabase.connection, size: 1, deadline: 2000 })
  const readTimeout = async () =>
    (await database.crossTenantQuery('check the database', sql`show statement_timeout`))[0]
  const before = await readTimeout()
  await fillAndBlock(`
    if current_setting('statement_timeout')::interval < interval '30 s' then raise 'hurried'; end if;
    perform pg_advisory_xact_lock_shared(42);`)
  await client.query('select pg_advisory_lock(42)')
  const update = takeStatistics(database)
  await until('analyze takes longer than a request may', async () => ((await waitingMilliseconds()) ?? 0) > 2500)
  await client.query('select pg_advisory_unlock(42)')
  expect(await update).toMatchObject({ failed: false })
  expect(logged).toEqual([])
  expect(await readTimeout()).toEqual(before)
  await database.close()
})

onOneServer('a stop cancels a running update of statistics instead of waiting for it', async () => {
  const database = new Database({ connection: testDatabase.connection, size: 2 })
  await fillAndBlock('perform pg_advisory_xact_lock_shared(42);')
  await client.query(`select pg_advisory_lock(42)`)
  const maintenance = createMaintenance({
    database,
    log,
    retentionPolicies: [],
    rendered: [],
    definable: [],
    organizations: async () => [],
    purged: () => undefined,
    ready: Promise.resolve(),
  })
  await until('analyze waits', async () => (await waitingMilliseconds()) !== undefined)
  await maintenance.close()
  expect(await waitingMilliseconds()).toBeUndefined()
  expect(logged).toEqual([])
  await database.close()
})

onOneServer('a start updates the statistics that are missing after a database crash', async () => {
  await fill(ours, 1, size)
  const readTimeout = async () => {
    const { rows } = await client.query<{ reltuples: number }>(
      `select reltuples from pg_class where oid = 'notes'::regclass`,
    )
    return rows[0]?.reltuples
  }
  expect(await readTimeout()).toBe(-1)
  const service = await startTestService({}, { ...testDatabase, drop: async () => undefined })
  await until('the statistics are updated', async () => (await readTimeout()) === size)
  await service.close()
})

test.skipIf(!isDistributed())(
  'statistics of a distributed table are updated when one of its shards has doubled',
  async () => {
    const database = new Database({ connection: testDatabase.connection, size: 2 })
    database.useEngine(citus(tablesByPlace.organization))
    expect(await takeStatistics(database)).toEqual({ taken: [], failed: false })
    await client.query(`insert into audit_events (organization_id, id, action, actor_kind)
      select '${ours}', gen_random_uuid(), 'login.failed', 'command' from generate_series(1, 5000)`)
    expect(await takeStatistics(database)).toEqual({ taken: ['audit_events'], failed: false })
    expect(await takeStatistics(database)).toEqual({ taken: [], failed: false })
    await database.close()
  },
)
