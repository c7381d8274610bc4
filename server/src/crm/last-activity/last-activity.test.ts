import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { until } from '../../../test/processes.ts'
import { pushesOf } from '../../../test/processed-pushes.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'
import { contactStore } from '../contacts/store.ts'

let service: TestService
let organization: TestOrganization
let call: Call
/** A company, a contact who works there, and a deal with both. */
let company: Json
let contact: Json
let deal: Json
beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  organization = await service.newOrganization()
  call = organization.call
  company = await create('/v5/companies', { name: 'Engines' })
  contact = await create('/v5/contacts', { name: 'Ada', email: 'ada@example.com', companyId: company.id })
  deal = await create('/v5/deals', { name: 'Engine', companyId: company.id })
  await create(`/v5/deals/${deal.id}/contacts`, { contactId: contact.id })
})
afterAll(() => service.close())

async function create(path: string, body: object): Promise<Json> {
  const made = await call('POST', path, { body })
  expect([made.text, made.status]).toEqual([made.text, 201])
  return made.body
}

const read = async (path: string): Promise<Json> => (await call('GET', path)).body

/** When each of the three records was last active. */
async function activity(): Promise<{ deal: string; contact: string; company: string }> {
  const at = async (path: string) => (await read(path)).lastActivityAt
  return {
    deal: await at(`/v5/deals/${deal.id}`),
    contact: await at(`/v5/contacts/${contact.id}`),
    company: await at(`/v5/companies/${company.id}`),
  }
}

test('a note counts for its record, for the company of a contact, and for the contacts and company of a deal', async () => {
  const tag = (await call('GET', `/v5/companies/${company.id}`)).headers.get('etag') ?? ''
  expect(await activity()).toEqual({ deal: null, contact: null, company: null })
  const ofCompany = (await create(`/v5/companies/${company.id}/notes`, { body: 'one' })).createdAt
  expect(await activity()).toEqual({ deal: null, contact: null, company: ofCompany })
  const ofContact = (await create(`/v5/contacts/${contact.id}/notes`, { body: 'two' })).createdAt
  expect(await activity()).toEqual({ deal: null, contact: ofContact, company: ofContact })
  const ofDeal = (await create(`/v5/deals/${deal.id}/notes`, { body: 'three' })).createdAt
  expect(await activity()).toEqual({ deal: ofDeal, contact: ofDeal, company: ofDeal })
  // Nobody's change of the company conflicts with that.
  const renamed = await call('PATCH', `/v5/companies/${company.id}`, {
    body: { name: 'Machines' },
    headers: { 'if-match': tag },
  })
  expect(renamed).toMatchObject({ status: 200, body: { lastActivityAt: ofDeal } })
  const sorted = await read('/v5/companies?orderBy=lastActivityAt&filter.lastActivityAt.not=null')
  expect(sorted).toEqual([renamed.body])
})

test('a task counts when it is created and when it is done, and other changes do not', async () => {
  const task = await create('/v5/tasks', { title: 'Call', dealId: deal.id })
  const made = { deal: task.createdAt, contact: task.createdAt, company: task.createdAt }
  expect(await activity()).toEqual(made)
  const change = async (body: object): Promise<Json> => (await call('PATCH', `/v5/tasks/${task.id}`, { body })).body
  await change({ title: 'Call again', dueDate: '2036-01-01' })
  expect(await activity()).toEqual(made)
  const { doneAt } = await change({ done: true })
  expect(await activity()).toEqual({ deal: doneAt, contact: doneAt, company: doneAt })
  await change({ done: false })
  await change({ dealId: null, contactId: contact.id })
  expect(await activity()).toEqual({ deal: doneAt, contact: doneAt, company: doneAt })
  const again = (await change({ done: true })).doneAt
  expect(await activity()).toEqual({ deal: doneAt, contact: again, company: again })
})

test('a stage move counts for the deal, its contacts and its company, also if the stage is deleted', async () => {
  const stagesPath = `/v5/pipelines/${deal.pipelineId}/stages`
  const stages = await read(`${stagesPath}?orderBy=position&sort=asc`)
  const moved = await call('PATCH', `/v5/deals/${deal.id}`, { body: { stageId: stages[1].id } })
  const at = moved.body.stageChangedAt
  expect(await activity()).toEqual({ deal: at, contact: at, company: at })
  expect((await call('DELETE', `${stagesPath}/${stages[1].id}?moveDealsTo=${stages[2].id}`)).status).toBe(204)
  const later = (await read(`/v5/deals/${deal.id}`)).stageChangedAt
  expect(later > at).toBe(true)
  expect(await activity()).toEqual({ deal: later, contact: later, company: later })
})

test('a push counts for the contacts and companies that it creates or changes, and for the company of a contact', async () => {
  const push = pushesOf(service, organization)
  const lead = { contact: { email: 'ada@example.com', nickname: 'Countess' } }
  const [changed] = await push(lead)
  expect(changed?.status).toBe('PROCESSED')
  const { updatedAt } = await read(`/v5/contacts/${contact.id}`)
  const after = { deal: null, contact: updatedAt, company: updatedAt }
  expect(await activity()).toEqual(after)
  expect((await read(`/v5/companies/${company.id}`)).updatedAt).toBe(company.updatedAt)
  expect((await push(lead)).map(({ status }) => status)).toEqual(['DUPLICATE'])
  expect(await activity()).toEqual(after)

  const [made] = await push({ contact: { email: 'grace@example.com' }, company: { name: 'Ships' } })
  const grace = await read(`/v5/contacts/${made?.contactId}`)
  expect(grace.lastActivityAt).toBe(grace.createdAt)
  const ships = `/v5/companies/${made?.companyId}`
  expect((await read(ships)).lastActivityAt).toBe(grace.createdAt)
  // A job of a contact is a change of the contact.
  await push({ contact: { email: 'grace@example.com' }, employment: { history: [{ organization: 'Navy' }] } })
  const later = (await read(`/v5/contacts/${made?.contactId}`)).lastActivityAt
  expect([later > grace.lastActivityAt, (await read(ships)).lastActivityAt]).toEqual([true, later])
})

test('a pushed note counts at the time of the note', async () => {
  await pushesOf(service, organization)({ contact: { email: 'ada@example.com', note: 'Called' } })
  const [note] = await read(`/v5/contacts/${contact.id}/notes`)
  expect(await activity()).toEqual({ deal: null, contact: note.createdAt, company: note.createdAt })
})

test('a transaction that began before the latest activity does not move it back', async () => {
  const actor = serviceActor('work', decodeId('org', organization.organizationId) ?? '')
  let latest = ''
  await service.database.transaction(actor, async (transaction) => {
    // Times are stored in milliseconds, and a note can be created in less than one.
    await until('the next millisecond has begun', async () => {
      const [row] = await transaction.query<{ hasBegun: boolean }>(sql`
        select clock_timestamp()::timestamptz(3) > now()::timestamptz(3) as "hasBegun" from contacts
        where organization_id = ${transaction.organization} limit 1`)
      return row?.hasBegun === true
    })
    latest = (await create(`/v5/contacts/${contact.id}/notes`, { body: 'meanwhile' })).createdAt
    const columns = () => ({ last_activity_at: 'now' })
    const id = decodeId('con', contact.id) ?? ''
    await contactStore.write(transaction, [{ kind: 'update', id, values: { city: 'London' }, columns }])
  })
  const { city, lastActivityAt, updatedAt } = await read(`/v5/contacts/${contact.id}`)
  expect([city, lastActivityAt, updatedAt < latest]).toEqual(['London', latest, true])
})
