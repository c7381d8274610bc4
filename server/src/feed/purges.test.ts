import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { decodeId } from '../platform/model/ids.ts'
import { identifier, type Sql, sql } from '../platform/model/sql.ts'
import { expectSameRecords, FeedCopy } from '../../test/feed-copy.ts'
import { maintain } from '../../test/inbox-fixture.ts'
import { callAs } from '../../test/people.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { type Call, type Json, startTestService, type TestOrganization, type TestService } from '../../test/service.ts'
import { analysedNote } from '../../test/suggested.ts'

let database: TestDatabase
let service: TestService
let organization: TestOrganization
let call: Call
beforeAll(async () => {
  database = await createDatabase()
  service = await startTestService({}, database)
})
beforeEach(async () => {
  organization = await service.newOrganization()
  call = organization.call
})
afterAll(() => service.close())

async function create(path: string, body: object): Promise<Json> {
  const created = await call('POST', path, { body })
  expect(created.status, created.text).toBe(201)
  return created.body
}

const own = () => sql`${decodeId('org', organization.organizationId)}::uuid`
const query = (statement: Sql) => service.database.crossTenantQuery<Json>('check the database', statement)

/** Deletes the record, and lets the maintenance run when it can no longer be restored. */
async function purge(path: string): Promise<void> {
  expect((await call('DELETE', path)).status).toBe(204)
  const table = path.split('/')[2] ?? ''
  await query(sql`update ${identifier(table)} set deleted_at = now() - interval '31 days'
    where organization_id = ${own()} and deleted_at is not null returning id`)
  await maintain(service)
}

test('nothing that events knew of a purged person is left, also of what belonged to them', async () => {
  const secret = 'Zanzibar'
  const company = await create('/v5/companies', { name: 'Engines' })
  const deal = await create('/v5/deals', { name: 'Engine', companyId: company.id })
  const contact = await create('/v5/contacts', { name: secret, email: `${secret}@example.com`, companyId: company.id })
  const path = `/v5/contacts/${contact.id}`
  await call('PATCH', path, { body: { bio: `Born in ${secret}`, customProperties: { plan: secret } } })
  await create('/v5/tasks', { title: `Call ${secret}`, contactId: contact.id })
  await create(`${path}/employments`, { organization: secret, title: secret })
  await create(`/v5/deals/${deal.id}/contacts`, { contactId: contact.id, isPrimary: true })
  await analysedNote(service, organization, `${path}/notes`, `I am ${secret}. Please call me tomorrow at 14:00.`)
  const { body: suggestions } = await call('GET', '/v5/suggestions')
  expect(suggestions.length).toBeGreaterThan(0)
  const copy = new FeedCopy()
  await copy.follow(call)
  await purge(path)
  const purged = await copy.follow(call)
  const kinds = purged.filter(({ kind }) => kind === 'purged').map(({ resource }) => resource)
  expect(new Set(kinds)).toEqual(new Set(['contact', 'task', 'employment', 'deal-contact', 'note', 'suggestion']))
  const left = await query(sql`select to_jsonb(events) as event from events
    where organization_id = ${own()} and to_jsonb(events)::text like ${`%${secret}%`}`)
  expect(left).toEqual([])
  await expectSameRecords(copy, service.database, organization.organizationId)
  // A reader that begins now has the same copy.
  const later = new FeedCopy()
  await later.follow(call)
  await expectSameRecords(later, service.database, organization.organizationId)
})

test('the feed says which records lose their reference to a purged one', async () => {
  const company = await create('/v5/companies', { name: 'Engines' })
  await create('/v5/contacts', { name: 'Ada', companyId: company.id })
  const deal = await create('/v5/deals', { name: 'Engine', companyId: company.id })
  await create('/v5/deals', { name: 'Other', companyId: company.id })
  await call('DELETE', `/v5/deals/${deal.id}`)
  const copy = new FeedCopy()
  await copy.follow(call)
  await purge(`/v5/companies/${company.id}`)
  const released = (await copy.follow(call)).filter(({ kind }) => kind === 'updated')
  expect(released.map(({ resource, values, revision }) => [resource, values, revision]).toSorted()).toEqual([
    ['contact', { companyId: null }, null],
    ['deal', { companyId: null }, null],
  ])
  await expectSameRecords(copy, service.database, organization.organizationId)
  await call('POST', `/v5/deals/${deal.id}/restore`)
  await copy.follow(call)
  await expectSameRecords(copy, service.database, organization.organizationId)
})

/** Moves what the only event of a record says about its time. */
const backdate = (recordId: string, prefix: string, age: string) =>
  query(sql`update events set created_at = now() - ${age}::interval
    where organization_id = ${own()} and record_id = ${decodeId(prefix, recordId)}::uuid returning id`)

test('an event is not missing between others that are younger: readers are refused before it is deleted', async () => {
  const { body } = await call('GET', '/v5/events/position')
  const [first, second] = [
    await create('/v5/campaigns', { name: 'First' }),
    await create('/v5/campaigns', { name: 'Second' }),
  ]
  await call('GET', '/v5/events/position')
  // The second one is from a transaction that took longer.
  await backdate(first.id, 'cam', '29 days 23 hours 59 minutes')
  await backdate(second.id, 'cam', '30 days 5 minutes')
  await maintain(service)
  const page = await call('GET', `/v5/events?after=${body.position}`)
  expect(page.body.events.map(({ recordId }: Json) => recordId)).toEqual([first.id, second.id])
})

test('the feed reaches back no further than the histories that are a part of it', async () => {
  const historyDays = 7
  const environment = { HISTORY_RETENTION_DAYS: String(historyDays) }
  const short = await startTestService(environment, { ...database, drop: async () => undefined })
  try {
    const { apiKey, organizationId } = organization
    const callShort = callAs(short, apiKey, { 'service-organization-id': organizationId })
    const { body } = await callShort('GET', '/v5/events/position')
    const campaign = await create('/v5/campaigns', { name: 'Spring' })
    const contact = await create('/v5/contacts', { name: 'Ada' })
    await callShort('GET', '/v5/events/position')
    const follow = () => callShort('GET', `/v5/events?after=${body.position}`)
    await backdate(campaign.id, 'cam', '6 days')
    await backdate(contact.id, 'con', '6 days')
    await maintain(service, { historyDays })
    expect((await follow()).body.events).toHaveLength(2)
    await backdate(campaign.id, 'cam', '8 days')
    await backdate(contact.id, 'con', '8 days')
    // Of the two, only the contact has a history, which is deleted now.
    await maintain(service, { historyDays })
    expect((await follow()).status).toBe(410)
  } finally {
    await short.close()
  }
})
