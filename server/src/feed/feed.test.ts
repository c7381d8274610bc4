import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { decodeId } from '../platform/model/ids.ts'
import { type Sql, sql } from '../platform/model/sql.ts'
import { expectSameRecords, FeedCopy } from '../../test/feed-copy.ts'
import { callAs } from '../../test/people.ts'
import { pushesOf } from '../../test/processed-pushes.ts'
import { type Call, type Json, startTestService, type TestOrganization, type TestService } from '../../test/service.ts'

let service: TestService
let organization: TestOrganization
let call: Call
let bySession: Call
beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  organization = await service.newOrganization()
  call = organization.call
  bySession = callAs(service, organization.accessToken)
})
afterAll(() => service.close())

async function send(method: string, path: string, body?: object, caller = call): Promise<Json> {
  const response = await caller(method, path, body && { body })
  expect(response.status, `${method} ${path}: ${response.text}`).toBeLessThan(300)
  return response.body
}

const create = (path: string, body: object, caller = call) => send('POST', path, body, caller)

test('a copy that is made of the feed alone has every record as it is, whatever was done', async () => {
  const company = await create('/v5/companies', { name: 'Engines', domain: 'engines.example' })
  const contact = await create('/v5/contacts', {
    email: 'ada@engines.example',
    name: 'Ada Byron',
    companyId: company.id,
    customProperties: { plan: 'pro' },
  })
  const other = await create('/v5/contacts', { name: 'Bob' }, bySession)
  await send('PATCH', `/v5/contacts/${contact.id}`, { city: 'London', customProperties: { plan: null, seats: 3 } })
  await send('PATCH', `/v5/contacts/${contact.id}`, { email: 'ada@new.example', firstName: 'Augusta' })
  await send('POST', `/v5/contacts/${other.id}/block`)
  await send('DELETE', `/v5/contacts/${other.id}/block`)
  await send('DELETE', `/v5/contacts/${other.id}`)
  await send('POST', `/v5/contacts/${other.id}/restore`)
  const { pipelineId, stages } = await pipeline()
  const deal = await create('/v5/deals', { name: 'Engine', companyId: company.id, amount: '12.50' })
  await send('POST', `/v5/deals/${deal.id}/move`, { stageId: stages[2].id })
  await send('PATCH', `/v5/deals/${deal.id}`, { stageId: stages.at(-1).id, lostReason: 'Price' })
  const first = await create(`/v5/deals/${deal.id}/contacts`, { contactId: contact.id, isPrimary: true })
  await create(`/v5/deals/${deal.id}/contacts`, { contactId: other.id, isPrimary: true })
  await send('DELETE', `/v5/deals/${deal.id}/contacts/${first.id}`)
  await send('PATCH', `/v5/pipelines/${pipelineId}/stages/${stages[3].id}`, { position: 0 })
  const extra = await create(`/v5/pipelines/${pipelineId}/stages`, { name: 'Later', position: 1 })
  await create('/v5/deals', { name: 'Second', stageId: extra.id })
  await send('DELETE', `/v5/pipelines/${pipelineId}/stages/${extra.id}?moveDealsTo=${stages[1].id}`)
  const task = await create('/v5/tasks', { title: 'Call', contactId: contact.id, dueDate: '2030-01-02' }, bySession)
  await send('PATCH', `/v5/tasks/${task.id}`, { done: true }, bySession)
  const note = await create(`/v5/contacts/${contact.id}/notes`, { body: 'Likes trains' }, bySession)
  await send('PATCH', `/v5/contacts/${contact.id}/notes/${note.id}`, { body: 'Likes steam' }, bySession)
  await create(`/v5/contacts/${contact.id}/employments`, { organization: 'Engines', title: 'Analyst' })
  await create('/v5/campaigns', { name: 'Spring' })
  await create('/v5/views', { name: 'Mine', resource: 'contacts' }, bySession)
  await create('/v5/properties', { resource: 'contacts', key: 'seats', type: 'number', label: 'Seats' }, bySession)
  await create('/v5/teams', { name: 'North' }, bySession)
  await send('PATCH', `/v5/imports/${organization.importId}`, { name: 'Website' })
  const copy = new FeedCopy()
  await copy.follow(call)
  expect(await expectSameRecords(copy, service.database, organization.organizationId)).toBeGreaterThan(15)
  // What the API shows of a record, without what it shows of others and what is computed.
  const {
    company: _,
    lastActivityAt: __,
    formattedAddress: ___,
    ...shown
  } = await send('GET', `/v5/contacts/${contact.id}`)
  expect(copy.records.get('contact')?.get(contact.id)).toEqual(shown)
})

async function pipeline(): Promise<{ pipelineId: string; stages: Json[] }> {
  const [{ id: pipelineId }] = await send('GET', '/v5/pipelines')
  return { pipelineId, stages: await send('GET', `/v5/pipelines/${pipelineId}/stages?orderBy=position&sort=asc`) }
}

const events = async (query: string, caller = call): Promise<Json> => {
  const page = await caller('GET', `/v5/events?${query}`)
  expect(page.status, page.text).toBe(200)
  return page.body
}

const position = async (caller = call): Promise<string> =>
  (await send('GET', '/v5/events/position', undefined, caller)).position

test('an event says what changed, from what to what, and who did it', async () => {
  const after = await position()
  const { id } = await create('/v5/contacts', { name: 'Ada', city: 'London', customProperties: { plan: 'pro' } })
  await send('PATCH', `/v5/contacts/${id}`, { city: 'Paris', customProperties: { plan: null, seats: 4 } }, bySession)
  await send('POST', `/v5/contacts/${id}/block`)
  await send('DELETE', `/v5/contacts/${id}`)
  const page = await events(`after=${after}`)
  const { body: keys } = await bySession('GET', '/v5/api-keys')
  const byKey = { kind: 'api_key', userId: organization.userId, keyId: keys[0].id, importId: null, importRowId: null }
  expect(page.events).toMatchObject([
    { type: 'contact.created', recordId: id, revision: 1, changes: [], cause: byKey, values: { id, city: 'London' } },
    {
      type: 'contact.updated',
      revision: 2,
      values: { city: 'Paris', customProperties: { seats: 4 } },
      changes: [
        { field: 'city', before: 'London', after: 'Paris' },
        { field: 'customProperties.plan', before: 'pro', after: null },
        { field: 'customProperties.seats', before: null, after: 4 },
      ],
      cause: { kind: 'person', userId: organization.userId, keyId: null },
    },
    { type: 'contact.blocked', revision: 3, changes: [] },
    { type: 'contact.deleted', revision: 4, values: null },
  ])
  expect(page.events[2].values.blockedAt).toBe(page.events[2].createdAt)
  expect(page).toMatchObject({ hasMore: false, position: page.events[3].position })
})

test('what an import changes names its row, and what follows from a note names the analysis', async () => {
  const after = await position()
  const push = pushesOf(service, organization)
  const [row] = await push({ contact: { email: 'ada@example.com', name: 'Ada' }, company: { name: 'Engines' } })
  const page = await events(`after=${after}&resource=contact,company`)
  expect(page.events.map(({ type }: Json) => type).toSorted()).toEqual(['company.created', 'contact.created'])
  const cause = { kind: 'import', userId: null, keyId: null, importId: organization.importId, importRowId: row?.id }
  for (const event of page.events) expect(event.cause).toEqual(cause)
})

test('a page has at most as many events as asked for, and the next one continues behind it', async () => {
  const after = await position()
  const names = ['A', 'B', 'C', 'D', 'E']
  for (const name of names) await create('/v5/companies', { name })
  const first = await events(`after=${after}&limit=2`)
  expect(first).toMatchObject({ hasMore: true })
  const rest = await events(`after=${first.position}&limit=1000`)
  const read = [...first.events, ...rest.events].map(({ values }: Json) => values.name)
  expect(read).toEqual(names)
  expect(await events(`after=${first.events[0].position}&limit=1`)).toMatchObject({
    events: [{ values: { name: 'B' } }],
  })
  expect(await events(`after=${rest.position}`)).toEqual({ events: [], position: rest.position, hasMore: false })
})

test('a page ends early when its events are large, and says that there are more', async () => {
  const after = await position()
  const text = 'x'.repeat(60_000)
  const count = 80
  for (let number = 0; number < count; number += 8)
    await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        create('/v5/contacts', { name: `C ${number + index}`, customProperties: { text } }),
      ),
    )
  const page = await events(`after=${after}&limit=1000`)
  expect(page.hasMore).toBe(true)
  expect(page.events.length).toBeLessThan(count)
  const rest = await events(`after=${page.position}&limit=1000`)
  expect(new Set([...page.events, ...rest.events].map(({ recordId }: Json) => recordId)).size).toBe(count)
  expect(rest.hasMore).toBe(false)
})

test('filters choose events by resource, kind and record, and the position passes those that are left out', async () => {
  const after = await position()
  const company = await create('/v5/companies', { name: 'Engines' })
  const contact = await create('/v5/contacts', { name: 'Ada' })
  await send('PATCH', `/v5/companies/${company.id}`, { name: 'Motors' })
  const types = async (query: string) => (await events(`after=${after}&${query}`)).events.map(({ type }: Json) => type)
  expect(await types('resource=company')).toEqual(['company.created', 'company.updated'])
  expect(await types('resource=company,contact&kind=created')).toEqual(['company.created', 'contact.created'])
  expect(await types(`record=${contact.id}`)).toEqual(['contact.created'])
  expect(await types(`record=${contact.id},${company.id}&kind=updated,deleted`)).toEqual(['company.updated'])
  const none = await events(`after=${after}&resource=deal`)
  expect(none).toMatchObject({ events: [], hasMore: false })
  expect(none.position).toBe(await position())
})

test('a request that waits gets an event as soon as there is one', async () => {
  const after = await position()
  const waiting = events(`after=${after}&wait=25&resource=company`)
  // Not an event that it asks for.
  await create('/v5/contacts', { name: 'Ada' })
  const company = await create('/v5/companies', { name: 'Engines' })
  expect(await waiting).toMatchObject({ events: [{ recordId: company.id }] })
  const started = performance.now()
  expect(await events(`after=${await position()}&wait=1`)).toMatchObject({ events: [] })
  expect(performance.now() - started).toBeGreaterThanOrEqual(999)
})

test.each([
  ['', 'after', 'is required'],
  ['after=1', 'after', 'expected a position of this feed, or start'],
  ['after=start&limit=0', 'limit', 'expected an integer from 1 to 1000'],
  ['after=start&limit=1001', 'limit', 'expected an integer from 1 to 1000'],
  ['after=start&wait=26', 'wait', 'expected an integer from 0 to 25'],
  ['after=start&resource=contact,user', 'resource', 'expected any of'],
  ['after=start&resource=', 'resource', 'expected any of'],
  ['after=start&kind=changed', 'kind', 'expected any of'],
  ['after=start&record=con_1', 'record', 'expected ids of records in the feed'],
  ['after=start&after=start', 'after', 'given twice'],
  ['after=start&sort=asc', 'sort', 'unknown parameter'],
])('events?%s is refused', async (query, field, message) => {
  const { status, body } = await call('GET', `/v5/events?${query}`)
  expect([status, body.details[0].field]).toEqual([400, field])
  expect(body.details[0].message).toContain(message)
})

test('a position of some seconds ago is before what has happened since then', async () => {
  const before = await position()
  const age = (seconds: number) =>
    query(sql`update events set written_at = written_at - make_interval(secs => ${seconds}::integer)
      where organization_id = ${own()}`)
  const positionOf = async (seconds: number) =>
    (await call('GET', `/v5/events/position?secondsAgo=${seconds}`)).body.position
  await age(1000)
  expect(await positionOf(600)).toBe(before)
  await create('/v5/companies', { name: 'Engines' })
  const between = await position()
  await age(100)
  for (let index = 0; index < 101; index++) await create('/v5/companies', { name: `Motors ${index}` })
  const last = await position()
  expect([await positionOf(0), await positionOf(90), await positionOf(300)]).toEqual([last, between, before])
  expect((await call('GET', '/v5/events/position?secondsAgo=601')).status).toBe(400)
})

test('a position that the feed does not have is refused, and the error says how to start again', async () => {
  const other = await service.newOrganization()
  const later = (await position()).replace(/\d+$/, (number) => String(Number(number) + 1))
  for (const after of [await position(other.call), later]) {
    const { status, body } = await call('GET', `/v5/events?after=${after}`)
    expect([status, body.code]).toEqual([410, 'cursor_expired'])
    expect(body.description).toContain('GET /v5/events/position')
  }
})

test('a position is refused once the feed no longer reaches back to it', async () => {
  const after = await position()
  await create('/v5/companies', { name: 'Engines' })
  const next = await position()
  const old = new Date(Date.now() - 31 * 24 * 60 * 60 * 1000)
  await query(sql`update events set created_at = ${old}::timestamptz where organization_id = ${own()}`)
  expect((await call('GET', `/v5/events?after=${after}`)).status).toBe(410)
  expect((await call('GET', '/v5/events?after=start')).status).toBe(410)
  expect((await call('GET', `/v5/events?after=${next}`)).status).toBe(200)
  // And when it has been deleted.
  await create('/v5/companies', { name: 'Motors' })
  await position()
  await query(sql`delete from events where organization_id = ${own()} and created_at < now() - interval '30 days'`)
  expect((await call('GET', `/v5/events?after=${after}`)).status).toBe(410)
  expect(await events(`after=${next}`)).toMatchObject({ events: [{ values: { name: 'Motors' } }] })
})

const own = () => sql`${decodeId('org', organization.organizationId)}::uuid`
const query = (statement: Sql) => service.database.crossTenantQuery<Json>('check the database', statement)
