import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serviceActor } from '../../model/caller.ts'
import { Database } from '../../database/database.ts'
import { organizationParameter, raw, sql } from '../../model/sql.ts'
import { decodeId } from '../../model/ids.ts'
import { updateStatistics } from '../../operations/maintenance/maintenance.ts'
import { contacts } from '../../../crm/contacts/resource.ts'
import { contactStore } from '../../../crm/contacts/store.ts'
import { planPage } from './page.ts'
import { parseList } from './parse.ts'
import { parseQuery } from '../request/query-string.ts'
import { createDatabase, type TestDatabase } from '../../../../test/postgres.ts'
import { startTestService, type TestService, withoutBackground } from '../../../../test/service.ts'
import type { Change } from '../declare/changes.ts'

let testDatabase: TestDatabase
let service: TestService
/** A pool of one connection, because prepared statements are visible only on their connection. */
let database: Database
let actor: ReturnType<typeof serviceActor>

beforeAll(async () => {
  testDatabase = await createDatabase()
  // Without statistics of its own, which would change the plans.
  service = await startTestService(withoutBackground, testDatabase)
  const { organizationId, userId } = await service.newOrganization()
  actor = {
    ...serviceActor('command', decodeId('org', organizationId) ?? '', decodeId('usr', userId) ?? ''),
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

/** The lines of the generic plan of a prepared statement. */
async function genericPlanOf({ name, values }: { name: string; values: number }): Promise<string[]> {
  const nullValues = Array.from({ length: values }, () => 'null').join()
  const lines = await database.crossTenantQuery<{ 'QUERY PLAN': string }>(
    'check the database',
    raw(`explain execute "${name}"${values > 0 ? `(${nullValues})` : ''}`),
  )
  return lines.map((line) => line['QUERY PLAN'])
}

/** The scans of contacts in the generic plan of each prepared statement. */
async function contactScans(): Promise<string[]> {
  const statements = await database.crossTenantQuery<{ name: string; values: number }>(
    'check the database',
    sql`select name, cardinality(parameter_types) as values from pg_prepared_statements order by name`,
  )
  const lines = (await Promise.all(statements.map(genericPlanOf))).flat()
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
  const lockScans = 2
  const updateScans = 1
  expect(await contactScans()).toHaveLength(lockScans + updateScans)
  await create(400)
  await updateStatistics({ database, log: pino({ enabled: false }) }, new AbortController().signal)
  const byKey = expect.stringMatching(
    /^contacts_pkey Index Cond: \(\(organization_id = (?:\$\d+|\(InitPlan \d+\)\.col1)\) AND \(id = \$\d+\)\)$/,
  )
  expect(await contactScans()).toEqual([byKey, byKey, byKey])
})

/** Adds contacts: this many to the organization, and twenty to each of the others, which are created. */
async function fill(count: number, others: number): Promise<void> {
  const added = await database.crossTenantQuery<{ id: string }>(
    'check the database',
    sql`insert into organizations (id, name, slug)
      select gen_random_uuid(), 'Other', gen_random_uuid()::text from generate_series(1, ${others}::integer)
      returning id`,
  )
  await database.crossTenantQuery(
    'check the database',
    sql`with added as (select unnest(${added.map(({ id }) => id)}::uuid[]) as id),
      teams as (insert into teams (organization_id, id, name, is_default) select id, id, 'Default', true from added),
      roots as (insert into root_contacts (organization_id, id) select id, id from added)
      insert into contacts (organization_id, id, root_contact_id, team_id, name)
      select id, gen_random_uuid(), id, id, 'Ada ' || number from added, generate_series(1, 20) number`,
  )
  await database.crossTenantQuery(
    'check the database',
    sql`insert into contacts (organization_id, id, root_contact_id, team_id, name)
      select organization_id, gen_random_uuid(), root_contact_id, team_id, 'Ada ' || number
      from (select * from contacts where organization_id = ${actor.organizationId}::uuid limit 1) one,
        generate_series(1, ${count}::integer) number`,
  )
}

/** The page that these parameters ask for. */
function pageOf(parameters: string) {
  const cursorScope = { key: Buffer.alloc(32), organizationId: actor.organizationId, list: 'contacts', orderBy: '' }
  const list = parseList(contacts, parseQuery(`/?${parameters}`), () => cursorScope)
  return planPage(contacts, list, { organization: organizationParameter(actor.organizationId), actor }).statement
}

test('the pages of a large organization among many small ones are planned once, and never sort the organization', async () => {
  await fill(5000, 300)
  await database.crossTenantQuery('check the database', raw('analyze'))
  await database.crossTenantQuery('check the database', raw('set plan_cache_mode = auto'))
  const [middle] = await database.crossTenantQuery<{ id: string }>(
    'check the database',
    sql`select replace(id::text, '-', '') as id from contacts where organization_id = ${actor.organizationId}::uuid
      order by created_at limit 1 offset 2000`,
  )
  const queries = ['', `startingAfter=con_${middle?.id}`]
  for (const query of queries) for (let time = 0; time < 8; time++) await database.reader(actor).query(pageOf(query))
  const pages = await database.crossTenantQuery<{ name: string; values: number; custom: number; generic: number }>(
    'check the database',
    sql`select name, cardinality(parameter_types) as values, custom_plans::integer as custom,
        generic_plans::integer as generic
      from pg_prepared_statements where statement like '%from "contacts"%' and custom_plans + generic_plans >= 8`,
  )
  // PostgreSQL makes five plans before it considers keeping one.
  expect(pages.map(({ custom, generic }) => [custom, generic])).toEqual(queries.map(() => [5, 3]))

  await database.crossTenantQuery('check the database', raw('set plan_cache_mode = force_generic_plan'))
  for (const organizations of [1, 10, 100, 1000, 10_000, 100_000]) {
    await database.crossTenantQuery(
      'check the database',
      raw(`alter table contacts alter column organization_id set (n_distinct = ${organizations})`),
    )
    await database.crossTenantQuery('check the database', raw('analyze contacts'))
    for (const page of pages) {
      const plan = await genericPlanOf(page)
      expect([organizations, plan.filter((line) => /Scan.* on contacts\b/.test(line))]).toEqual([
        organizations,
        expect.arrayContaining([expect.stringMatching(/Index Scan (?:Backward )?using contacts_created on/)]),
      ])
      expect([
        organizations,
        plan.filter((line) => /Sort Key: (?!\(row_number)|Bitmap|Seq Scan on contacts/.test(line)),
      ]).toEqual([organizations, []])
    }
  }
})
