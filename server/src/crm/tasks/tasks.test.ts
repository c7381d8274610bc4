import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { newOwner } from '../../../test/people.ts'
import { type Call, type Json, startTestService, type TestService } from '../../../test/service.ts'
import { newId, decodeId, encodeId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'

let service: TestService
let call: Call
/** The person whose session `call` uses. */
let userId: string
let organizationId: string
beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  ;({ call, userId, organizationId } = await newOwner(service))
})
afterAll(() => service.close())

async function create(path: string, body: object, caller = call): Promise<Json> {
  const made = await caller('POST', path, { body })
  expect([made.text, made.status]).toEqual([made.text, 201])
  return made.body
}

const newTask = (body: object = {}): Promise<Json> => create('/v5/tasks', { title: 'Call back', ...body })

async function change(task: Json, body: object): Promise<Json> {
  const changed = await call('PATCH', `/v5/tasks/${task.id}`, { body })
  expect([changed.text, changed.status]).toEqual([changed.text, 200])
  return changed.body
}

const titles = async (query: string): Promise<string[]> =>
  (await call('GET', `/v5/tasks?${query}`)).body.map(({ title }: Json) => title)

/** Adds a member to the organization. */
async function newMember(timeZone: string | null): Promise<string> {
  const id = newId()
  await service.database.crossTenantQuery(
    'check the database',
    sql`with added as (
      insert into users (id, email, email_key, name, time_zone) values (${id}, ${id}, ${id}, 'Grace', ${timeZone})
      returning id)
    insert into members (organization_id, user_id, role) select ${decodeId('org', organizationId)}::uuid, id, 'member' from added`,
  )
  return encodeId('usr', id)
}

const hour = 3_600_000
/** A day that has ended in Kiritimati (UTC+14), but not in Pago Pago (UTC-11). */
const dayBetween = (): string => new Date(Date.now() + 14 * hour - 24 * hour).toISOString().slice(0, 10)

test('a task is the caller’s, somebody else’s or nobody’s', async () => {
  const own = await newTask()
  expect(own).toMatchObject({
    assigneeId: userId,
    createdById: userId,
    priority: 'normal',
    done: false,
    overdue: false,
  })
  const colleague = await newMember(null)
  expect(await newTask({ assigneeId: colleague })).toMatchObject({ assigneeId: colleague, createdById: userId })
  expect(await newTask({ assigneeId: null })).toMatchObject({ assigneeId: null, createdById: userId })
  expect((await change(own, { assigneeId: null })).assigneeId).toBeNull()
  const unknown = await call('POST', '/v5/tasks', { body: { title: 'Call', assigneeId: encodeId('usr', newId()) } })
  expect(unknown).toMatchObject({ status: 422, body: { details: [{ field: 'assigneeId' }] } })
})

test('a task by an API key is its creator’s, as long as they are a member', async () => {
  const organization = await service.newOrganization()
  const byKey = await create('/v5/tasks', { title: 'Call' }, organization.call)
  expect(byKey).toMatchObject({ assigneeId: organization.userId, createdById: organization.userId })
  await service.database.crossTenantQuery(
    'check the database',
    sql`delete from members where user_id = ${decodeId('usr', organization.userId)}::uuid`,
  )
  const later = await create('/v5/tasks', { title: 'Call' }, organization.call)
  expect(later).toMatchObject({ assigneeId: null, createdById: organization.userId })
})

test('a due date ends in the time zone of the assignee, otherwise of the organization', async () => {
  const dueDate = dayBetween()
  await call('PATCH', '/v5/organization', { body: { timeZone: 'Pacific/Kiritimati' } })
  const task = await newTask({ dueDate })
  expect(task).toMatchObject({ timeZone: 'Pacific/Kiritimati', overdue: true, dueDate, dueAt: null })
  expect(task.deadline).toBe(new Date(Date.parse(dueDate) + 10 * hour).toISOString())
  const colleague = await newMember('Pacific/Pago_Pago')
  const theirs = await change(task, { assigneeId: colleague })
  expect(theirs).toMatchObject({ timeZone: 'Pacific/Pago_Pago', overdue: false })
  expect(theirs.deadline).toBe(new Date(Date.parse(dueDate) + 35 * hour).toISOString())
  expect(await change(task, { assigneeId: null })).toMatchObject({ timeZone: 'Pacific/Kiritimati', overdue: true })
})

test('another time zone of the assignee applies when the due date or the assignee changes', async () => {
  const inWinter = await newTask({ dueDate: '2036-01-15' })
  expect(inWinter).toMatchObject({ timeZone: 'UTC', deadline: '2036-01-16T00:00:00.000Z' })
  const moved = await call('PATCH', '/v5/me', { body: { timeZone: 'europe/berlin' } })
  expect(moved).toMatchObject({ status: 200, body: { id: userId, timeZone: 'Europe/Berlin' } })
  expect((await call('GET', '/v5/me')).body.timeZone).toBe('Europe/Berlin')
  expect(await change(inWinter, { title: 'Visit' })).toMatchObject({ timeZone: 'UTC' })
  const inSummer = await change(inWinter, { dueDate: '2036-07-15' })
  expect(inSummer).toMatchObject({ timeZone: 'Europe/Berlin', deadline: '2036-07-15T22:00:00.000Z' })
  expect((await newTask({ dueDate: '9999-12-31' })).deadline).toBe('9999-12-31T23:00:00.000Z')
  expect((await call('PATCH', '/v5/me', { body: { timeZone: 'Mars/Olympus' } })).status).toBe(422)
  expect((await call('PATCH', '/v5/me', { body: { timeZone: null } })).body.timeZone).toBeNull()
})

test.each([
  ['2036-01-15T10:30:00.000Z', '2036-01-15T10:30:00.000Z'],
  ['2036-01-15T10:30+02:00', '2036-01-15T08:30:00.000Z'],
  ['2036-01-01T00:00:00.1234567-05:30', '2036-01-01T05:30:00.123Z'],
  ['2036-02-29t10:30:59z', '2036-02-29T10:30:59.000Z'],
])('the instant %s is stored as %s', async (dueAt, stored) => {
  const task = await newTask({ dueAt })
  expect(task).toMatchObject({ dueAt: stored, deadline: stored, dueDate: null })
  expect((await call('GET', `/v5/tasks?dueAt=${stored}`)).body).toEqual([task])
})

test.each([
  ...['2036-01-15', '2036-01-15T10:30', '2036-01-15T10:30:00', '2035-02-29T10:30Z', '2036-01-15 10:30Z', 'tomorrow'],
  ...['2036-01-15T24:30Z', '2036-01-15T10:30+16:00', '2036-01-15T10:30:60Z', '0001-01-01T00:00+01:00', '', 2036],
  ...['0000-01-01T00:00Z', '9999-12-31T23:30-01:00'],
])('%j is not an instant', async (dueAt) => {
  const refused = await call('POST', '/v5/tasks', { body: { title: 'Call', dueAt } })
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'dueAt' }] } })
})

test('a task has a due date or a due instant, and belongs to at most one record', async () => {
  const [contact, company] = [
    await create('/v5/contacts', { name: 'Ada' }),
    await create('/v5/companies', { name: 'Engines' }),
  ]
  const task = await newTask({ dueDate: '2036-01-15', contactId: contact.id })
  const refusals = [
    [{ dueAt: '2036-01-15T10:30Z' }, { field: 'dueAt', message: 'cannot be combined with dueDate; set that to null' }],
    [{ companyId: company.id }, { field: 'companyId', message: 'cannot be combined with contactId; set that to null' }],
  ] as const
  for (const [body, detail] of refusals)
    expect(await call('PATCH', `/v5/tasks/${task.id}`, { body })).toMatchObject({
      status: 422,
      body: { details: [detail] },
    })
  const body = { title: 'Call', dueDate: '2036-01-15', dueAt: '2036-01-15T10:30Z', companyId: company.id }
  const both = await call('POST', '/v5/tasks', { body: { ...body, contactId: contact.id } })
  expect([both.status, both.body.details.map(({ field }: Json) => field)]).toEqual([422, ['dueAt', 'companyId']])
  const { dueDate: _, ...moved } = { ...body, dueDate: null }
  expect(await change(task, { ...moved, dueDate: null, contactId: null })).toMatchObject({
    dueDate: null,
    deadline: '2036-01-15T10:30:00.000Z',
    contactId: null,
    companyId: company.id,
  })
  expect(await change(task, { dueAt: null })).toMatchObject({ dueAt: null, deadline: null })
})

test('a task is done at the time when it is done, until it is open again', async () => {
  const task = await newTask({ dueDate: '2020-01-01' })
  expect(task).toMatchObject({ overdue: true, doneAt: null })
  const done = await change(task, { done: true })
  expect(done).toMatchObject({ done: true, overdue: false, doneAt: done.updatedAt })
  expect(await change(task, { done: true, title: 'Called' })).toMatchObject({ title: 'Called', doneAt: done.doneAt })
  expect(await change(task, { done: false })).toMatchObject({ done: false, doneAt: null, overdue: true })
  const late = await newTask({ done: true })
  expect(late).toMatchObject({ done: true, doneAt: late.createdAt })
})

test('overdue tasks are a filter like any other, and tasks are sorted by their deadlines', async () => {
  const past = { dueAt: '2020-01-02T00:00:00Z' }
  await newTask({ title: 'late', ...past, priority: 'urgent' })
  await newTask({ title: 'later', dueDate: '2020-01-02' })
  await newTask({ title: 'done', ...past, done: true })
  await newTask({ title: 'some day' })
  await newTask({ title: 'next', dueDate: '2990-01-01' })
  const order = 'orderBy=deadline&sort=asc'
  expect(await titles(`overdue=true&${order}`)).toEqual(['late', 'later'])
  expect(await titles(`filter.overdue.not=false&${order}`)).toEqual(['late', 'later'])
  expect((await titles('overdue=false')).sort()).toEqual(['done', 'next', 'some day'])
  expect(await titles(`filter.overdue.not=true&done=false&${order}`)).toEqual(['next', 'some day'])
  expect(await titles('overdue=true&priority=urgent')).toEqual(['late'])
  expect((await call('GET', '/v5/tasks/count?overdue=true')).body).toEqual({ count: 2 })
  expect(await titles(`done=false&assigneeId=${userId}&${order}&limit=2`)).toEqual(['late', 'later'])
  expect((await titles('orderBy=overdue&limit=2')).sort()).toEqual(['late', 'later'])
  expect((await call('GET', `/v5/tasks?select[]=overdue&overdue=true&limit=1`)).body).toEqual([{ overdue: true }])
})

test('tasks are sorted by urgency, page by page', async () => {
  for (const priority of ['high', 'low', 'urgent', 'normal', 'high']) await newTask({ title: priority, priority })
  const order = 'orderBy=priority&limit=2'
  const pages: string[][] = []
  for (let after = ''; ;) {
    const { body } = await call('GET', `/v5/tasks?${order}${after}`)
    if (body.length === 0) break
    pages.push(body.map(({ title }: Json) => title))
    after = `&startingAfter=${body.at(-1).id}`
  }
  expect(pages).toEqual([['urgent', 'high'], ['high', 'normal'], ['low']])
  expect(await titles('orderBy=priority&sort=asc&limit=2')).toEqual(['low', 'normal'])
})

test('the tasks of a deleted record are not found by any request until it is restored', async () => {
  const company = await create('/v5/companies', { name: 'Engines' })
  const bodies = {
    contact: { contactId: (await create('/v5/contacts', { name: 'Ada', companyId: company.id })).id },
    company: { companyId: company.id },
    deal: { dealId: (await create('/v5/deals', { name: 'Engine' })).id },
  }
  const free = await newTask({ title: 'free' })
  for (const [title, body] of Object.entries(bodies)) {
    const task = await newTask({ title, ...body, dueDate: '2020-01-01' })
    const [[name = '', id] = []] = Object.entries(body)
    const recordPath = `/v5/${{ contactId: 'contacts', companyId: 'companies', dealId: 'deals' }[name]}/${id}`
    expect(await titles(`${name}=${id}`)).toEqual([title])
    await call('DELETE', recordPath)
    for (const query of [`${name}=${id}`, 'overdue=true', `query=${title}`]) {
      expect([query, await titles(query)]).toEqual([query, []])
      expect([query, (await call('GET', `/v5/tasks/count?${query}`)).body]).toEqual([query, { count: 0 }])
    }
    for (const method of ['GET', 'DELETE']) expect((await call(method, `/v5/tasks/${task.id}`)).status).toBe(404)
    expect((await call('PATCH', `/v5/tasks/${task.id}`, { body: { done: true } })).status).toBe(404)
    const refused = await call('POST', '/v5/tasks', { body: { title: 'Call', ...body } })
    expect(refused).toMatchObject({ status: 422, body: { details: [{ field: name }] } })
    await call('POST', `${recordPath}/restore`)
    expect((await call('GET', `/v5/tasks/${task.id}`)).body).toEqual(task)
    await call('DELETE', `/v5/tasks/${task.id}`)
  }
  expect((await call('GET', '/v5/tasks')).body).toEqual([free])
})

test('a task cannot be on a record of another organization, which does not see it', async () => {
  const theirs = await newOwner(service)
  const contact = await create('/v5/contacts', { name: 'Ada' }, theirs.call)
  const refused = await call('POST', '/v5/tasks', { body: { title: 'Call', contactId: contact.id } })
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'contactId' }] } })
  const task = await newTask()
  expect((await theirs.call('GET', '/v5/tasks')).body).toEqual([])
  expect((await theirs.call('GET', `/v5/tasks/${task.id}`)).status).toBe(404)
  expect((await call('POST', '/v5/tasks', { body: { title: 'Call', assigneeId: theirs.userId } })).status).toBe(422)
})
