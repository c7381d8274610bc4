import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serviceActor } from '../model/caller.ts'
import { Database, toSql } from '../database/database.ts'
import { raw, Sql, sql } from '../model/sql.ts'
import { readId, showId } from '../model/ids.ts'
import type { Change } from '../resource/write.ts'
import { updateStatistics } from '../maintenance/maintenance.ts'
import { planPage } from './page.ts'
import { readList } from './parse.ts'
import { contacts } from '../../resources/contacts/resource.ts'
import { contactStore } from '../../resources/contacts/store.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { startTestService, type TestService } from '../../../test/service.ts'

let testDatabase: TestDatabase
let service: TestService
/** A pool of one connection, because prepared statements are visible only on their connection. */
let database: Database
let actor: ReturnType<typeof serviceActor>

beforeAll(async () => {
  testDatabase = await createDatabase()
  service = await startTestService({}, testDatabase)
  const { organizationId, userId } = await service.newOrganization()
  actor = {
    ...serviceActor('command', readId('org', organizationId) ?? '', readId('usr', userId) ?? ''),
    live: raw('true'),
  }
  database = new Database({ connection: testDatabase.connection, size: 1 })
})
afterAll(async () => {
  await database.close()
  await service.close()
})

const write = (changes: Change[]) =>
  database.transaction(actor, (transaction) => contactStore.write(transaction, changes))

const create = (count: number) =>
  write(Array.from({ length: count }, (_, index) => ({ kind: 'create', values: { name: `Ada ${index}` } })))

/** The scans of contacts in the generic plan of each prepared statement. */
async function contactScans(): Promise<string[]> {
  const statements = await database.crossTenantQuery<{ name: string; values: number }>(
    'check the database',
    sql`select name, cardinality(parameter_types) as values from pg_prepared_statements order by name`,
  )
  const plans = statements.map(({ name, values }) => {
    const nullValues = Array.from({ length: values }, () => 'null').join()
    return database.crossTenantQuery<{ 'QUERY PLAN': string }>(
      'check the database',
      raw(`explain execute "${name}"${values > 0 ? `(${nullValues})` : ''}`),
    )
  })
  const lines = (await Promise.all(plans)).flat().map((row) => row['QUERY PLAN'])
  return lines.flatMap((line, index) =>
    / on contacts /.test(line) && /Scan/.test(line)
      ? `${/Scan using (\w+)/.exec(line)?.[1] ?? 'no index'} ${lines[index + 1]?.trim()}`
      : [],
  )
}

test('a generic plan made for few records uses the primary key after the statistics are updated', async () => {
  await database.crossTenantQuery('check the database', sql`set plan_cache_mode = force_generic_plan`)
  const [contact] = await create(12)
  await write([{ kind: 'update', id: contact?.id ?? '', values: { city: 'Berlin' } }])
  const lockScans = 1
  const updateScans = 1
  expect(await contactScans()).toHaveLength(lockScans + updateScans)
  await create(400)
  await updateStatistics({ database, log: pino({ enabled: false }) }, new AbortController().signal)
  const byKey = expect.stringMatching(
    /^contacts_pkey Index Cond: \(\(organization_id = (?:\$\d+|\(InitPlan \d+\)\.col1)\) AND \(id = \$\d+\)\)$/,
  )
  expect(await contactScans()).toEqual([byKey, byKey])
})

// PostgreSQL keeps the plan of a prepared statement only if a plan for the values costs no less.
test('the most frequent pages cost the planner the same with and without their values, whatever an organization holds', async () => {
  for (let count = 0; count < 6; count++) {
    const other = await service.newOrganization()
    await other.call('POST', '/v5/contacts', { body: { name: 'Grace' } })
  }
  const [contact] = await create(1500)
  await updateStatistics({ database, log: pino({ enabled: false }) }, new AbortController().signal)
  const { organization } = database.reader(actor)
  const pages = [{}, { startingAfter: showId('con', contact?.id ?? '') }, { 'filter.email.equals': 'ada@example.com' }]
  for (const page of pages) {
    const parameters = Object.entries(page).map(([name, value]) => ({ name, value }))
    const request = readList(contacts, parameters, (orderBy) => ({
      key: Buffer.alloc(32),
      organizationId: actor.organizationId,
      list: '/v5/contacts',
      orderBy,
    }))
    const { statement } = planPage(contacts, request, { organization })
    expect(statement).not.toBeInstanceOf(Sql)
    const costs = [
      await costOf(toSql(statement), 'force_generic_plan'),
      await costOf(toSql(statement), 'force_custom_plan'),
    ]
    expect(costs[0]).toMatch(/^\S.* \(cost=/)
    expect(costs[1]).toBe(costs[0])
  }
})

/** The first line of the statement's plan, with its cost, after it was prepared. */
async function costOf(statement: Sql, planCacheMode: string): Promise<string> {
  const { text, values } = statement.render()
  const literals = values.map((value) => `'${String(value)}'`).join()
  await database.crossTenantQuery('check the database', raw(`set plan_cache_mode = ${planCacheMode}`))
  await database.crossTenantQuery('check the database', raw(`prepare page as ${text}`))
  const [line] = await database.crossTenantQuery<{ 'QUERY PLAN': string }>(
    'check the database',
    raw(`explain execute page${values.length > 0 ? `(${literals})` : ''}`),
  )
  await database.crossTenantQuery('check the database', sql`deallocate page`)
  return line?.['QUERY PLAN'] ?? ''
}
