import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { expectSameRecords, FeedCopy } from '../../test/feed-copy.ts'
import { callAs } from '../../test/people.ts'
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
  // What the API shows of a record, without what it shows of others.
  const { company: _, lastActivityAt: __, ...shown } = await send('GET', `/v5/contacts/${contact.id}`)
  expect(copy.records.get('contact')?.get(contact.id)).toEqual(shown)
})

async function pipeline(): Promise<{ pipelineId: string; stages: Json[] }> {
  const [{ id: pipelineId }] = await send('GET', '/v5/pipelines')
  return { pipelineId, stages: await send('GET', `/v5/pipelines/${pipelineId}/stages?orderBy=position&sort=asc`) }
}
