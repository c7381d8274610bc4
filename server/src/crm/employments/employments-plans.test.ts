import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isDistributed } from '../../../test/engines.ts'
import { explain, recordsRead } from '../../../test/explain.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { seesAll } from '../../../test/readers.ts'
import { routes } from '../../app.ts'
import { listedResources } from '../../platform/http/route.ts'
import { sessionOptions } from '../../platform/database/database.ts'
import { toSql } from '../../platform/database/fixed-statements.ts'
import type { JsonObject } from '../../platform/model/json.ts'
import { organizationParameter } from '../../platform/model/sql.ts'
import type { Resource } from '../../platform/records/declare/define.ts'
import { relationsAmong } from '../../platform/records/declare/relations.ts'
import { planCount, planPage } from '../../platform/records/page/page.ts'
import { parseSearchCount, parseSearchRequest } from '../../platform/records/page/search.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { allEmployments } from './resource.ts'

const organizationId = '00000000-0000-7000-8000-000000000001'
/** Ten contacts at each company, and as many previous ones. */
const companyCount = 2000

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  if (isDistributed()) return
  database = await createDatabase()
  client = new pg.Client({ ...database.connection, options: sessionOptions })
  await client.connect()
  const own = `'${organizationId}'::uuid`
  await client.query(`
    insert into organizations (id, name, slug) values (${own}, 'One', 'one');
    insert into teams (organization_id, id, name, is_default) values (${own}, ${own}, 'Default', true);
    insert into root_contacts (organization_id, id) values (${own}, ${own});
    insert into companies (organization_id, id, name)
      select ${own}, md5('company' || n)::uuid, 'Company ' || n from generate_series(1, ${companyCount}) n;
    insert into contacts (organization_id, id, name, root_contact_id, team_id, created_at)
      select ${own}, md5('contact' || n)::uuid, 'Contact ' || n, ${own}, ${own}, timestamptz '2025-01-01Z' + n * interval '1 minute'
      from generate_series(1, ${10 * companyCount}) n;
    insert into employments (organization_id, id, contact_id, organization, "current", company_id, created_at)
      select ${own}, md5('job' || n || former)::uuid, md5('contact' || n)::uuid, 'Company', not former,
        md5('company' || 1 + (n + former::int) % ${companyCount})::uuid, timestamptz '2025-01-01Z' + n * interval '1 minute'
      from generate_series(1, ${10 * companyCount}) n, (values (true), (false)) jobs (former)`)
  await client.query('vacuum analyze companies, contacts, employments')
}, 120_000)
afterAll(async () => {
  if (isDistributed()) return
  await client.end()
  await database.drop()
})

const relations = relationsAmong(listedResources(routes))
const scope = { organization: organizationParameter(organizationId), actor: seesAll }
const idOf = async (kind: 'company' | 'contact') => {
  const { rows } = await client.query(`select replace(md5('${kind}77')::uuid::text, '-', '') as id`)
  return `${kind.slice(0, 3)}_${rows[0].id}`
}

/** The rows that the page and the count of a search read. */
async function readBy(resource: Resource, filter: JsonObject): Promise<number[]> {
  const sent = { resource, relations, body: { filter }, query: [] }
  const cursorScope = () => ({ key: Buffer.alloc(32), organizationId, list: resource.name, orderBy: '' })
  const page = planPage(resource, parseSearchRequest(sent, cursorScope), scope)
  const count = planCount(resource, parseSearchCount(sent), scope)
  const plans = [toSql(page.statement), count.statement]
  return Promise.all(plans.map(async (statement) => recordsRead(await explain(client, statement))))
}

test.skipIf(isDistributed())('the people of a company and the employers of a person are read by indexes', async () => {
  const [company, contact] = [await idOf('company'), await idOf('contact')]
  const ofCompany = { id: { equals: company } }
  const cases: [Resource, JsonObject, max: number][] = [
    [allEmployments, { companyId: { equals: company } }, 100],
    [contacts, { employers: { some: ofCompany } }, 100],
    [contacts, { employments: { some: { companyId: { equals: company }, current: { equals: true } } } }, 100],
    [companies, { employees: { some: { id: { equals: contact } } } }, 20],
    // There are few enough companies to read all of them.
    [companies, { employments: { some: { contactId: { equals: contact } } } }, companyCount + 20],
  ]
  for (const [resource, filter, max] of cases)
    for (const read of await readBy(resource, filter)) expect(read, JSON.stringify(filter)).toBeLessThan(max)
})

test.skipIf(isDistributed())('the first page of all employments reads what it shows', async () => {
  const [page] = await readBy(allEmployments, {})
  expect(page).toBeLessThan(200)
})
