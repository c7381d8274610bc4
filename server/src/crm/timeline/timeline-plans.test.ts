import { isDistributed } from '../../../test/engines.ts'
import { seesAll } from '../../../test/readers.ts'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sessionOptions } from '../../platform/database/database.ts'
import { toSql } from '../../platform/database/fixed-statements.ts'
import type { Resource } from '../../platform/records/declare/define.ts'
import { newId, decodeId } from '../../platform/model/ids.ts'
import { organizationParameter } from '../../platform/model/sql.ts'
import { planPage } from '../../platform/records/page/page.ts'
import { parseList } from '../../platform/records/page/parse.ts'
import { explain, recordsRead } from '../../../test/explain.ts'
import { createDatabase } from '../../../test/postgres.ts'
import { startTestService, type TestService } from '../../../test/service.ts'
import { companyTimeline, contactTimeline, dealTimeline } from './resource.ts'

/** Contacts of the company, and all contacts. */
const [employees, contacts] = [10, 300]
const entriesPerContact = 100

let service: TestService
let client: pg.Client
let organizationId: string
/** A contact, the company of all contacts, and its deal (uuids). */
let ids: Record<'contacts' | 'companies' | 'deals', string>
beforeAll(async () => {
  const database = await createDatabase()
  service = await startTestService({}, database)
  const { call, organizationId: shown } = await service.newOrganization()
  organizationId = decodeId('org', shown) ?? ''
  const company = (await call('POST', '/v5/companies', { body: { name: 'Engines' } })).body
  const made = await Promise.all(
    Array.from({ length: contacts }, async (_, number) => {
      const body = { name: `Contact ${number}`, ...(number < employees && { companyId: company.id }) }
      return (await call('POST', '/v5/contacts', { body })).body.id
    }),
  )
  const deal = (await call('POST', '/v5/deals', { body: { name: 'Engine', companyId: company.id } })).body
  // The planner would read a small table as a whole.
  await Promise.all(Array.from({ length: 40 }, () => call('POST', '/v5/deals', { body: { name: 'Other' } })))
  ids = {
    contacts: decodeId('con', made[0]) ?? '',
    companies: decodeId('com', company.id) ?? '',
    deals: decodeId('del', deal.id) ?? '',
  }
  client = new pg.Client({ ...database.connection, options: sessionOptions })
  await client.connect()
  const many = `generate_series(1, ${entriesPerContact}) number`
  await client.query(`
    insert into notes (organization_id, id, contact_id, body, created_at)
    select organization_id, new_id(), id, 'Note', now() - number * interval '1 hour' from contacts, ${many};
    insert into events (organization_id, id, resource, is_history, record_id, kind, source, changes, created_at)
    select organization_id, new_id(), kind, true, id, 'updated', 'person', '[{}]', now() - number * interval '1 hour'
    from (select organization_id, 'contact' as kind, id, ${entriesPerContact} as entries from contacts
      union all select organization_id, 'deal', id, 500 from deals) record, generate_series(1, entries) number;
    analyze`)
})
afterAll(async () => {
  await client.end()
  await service.close()
})

/** Number of rows that a page of 25 reads, and the plan's nodes. */
async function readPage(timeline: Resource, parentId: string, query: [string, string][] = []): Promise<number> {
  const parameters = query.map(([name, value]) => ({ name, value }))
  const scope = (orderBy: string) => ({ key: Buffer.alloc(32), organizationId, list: '', orderBy })
  const request = parseList(timeline, parameters, scope)
  const plan = planPage(timeline, request, {
    organization: organizationParameter(organizationId),
    actor: seesAll,
    parentId,
  })
  return recordsRead(await explain(client, toSql(plan.statement)))
}

test.skipIf(isDistributed()).each([
  ['contact', contactTimeline, 'contacts'],
  ['deal', dealTimeline, 'deals'],
] as const)('a page of the timeline of a %s reads no more of each kind than it shows', async (_, timeline, kind) => {
  // Notes, changes and moves, each up to the page's length and the one record that shows whether there are more.
  expect(await readPage(timeline, ids[kind])).toBeLessThan(3 * 26 + 20)
  const last = await client.query(
    `select id from ${timeline.table} where ${timeline.parent?.column} = $1 order by created_at, id limit 1 offset 50`,
    [ids[kind]],
  )
  const after = `ent_${last.rows[0].id.replaceAll('-', '')}`
  expect(await readPage(timeline, ids[kind], [['startingAfter', after]])).toBeLessThan(4 * 26 + 20)
})

test.skipIf(isDistributed())('the timeline of a company reads the entries of its own contacts only', async () => {
  const read = await readPage(companyTimeline, ids.companies)
  expect(read).toBeLessThan(employees * entriesPerContact * 2 + 1000)
  expect(await readPage(companyTimeline, newId())).toBeLessThan(60)
})
