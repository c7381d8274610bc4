import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { callAs } from '../../../test/people.ts'
import { pushesOf } from '../../../test/processed-pushes.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'

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

async function create(path: string, body: object, caller = call): Promise<Json> {
  const created = await caller('POST', path, { body })
  expect(created.status, created.text).toBe(201)
  return created.body
}

async function update(path: string, body: object, caller = call): Promise<void> {
  const changed = await caller('PATCH', path, { body })
  expect(changed.status, changed.text).toBe(200)
}

const timeline = async (path: string, query = ''): Promise<Json[]> =>
  (await call('GET', `${path}/timeline?sort=asc&limit=100${query}`)).body

const changesOf = async (path: string): Promise<Json[]> =>
  (await timeline(path, '&kind=change')).map(({ change }) => change)

test('each change of a contact is recorded with its author and the values before and after', async () => {
  const { id } = await create('/v5/contacts', {
    name: 'Ada',
    city: 'London',
    customProperties: { plan: 'pro', seats: 3 },
  })
  const path = `/v5/contacts/${id}`
  await update(path, { city: 'Paris', tags: ['vip'] }, bySession)
  await update(path, { customProperties: { plan: null, seats: 4, since: 2020 } })
  const entries = await timeline(path)
  expect(entries).toMatchObject([
    { kind: 'change', contactId: id, companyId: null, dealId: null, note: null, stageMove: null },
    { kind: 'change', authorId: organization.userId },
    { kind: 'change', authorId: organization.userId },
  ])
  expect(entries.map(({ change }) => change)).toEqual([
    { action: 'created', source: 'api_key', changes: [], importId: null, importRowId: null },
    {
      action: 'updated',
      source: 'person',
      changes: [
        { field: 'city', before: 'London', after: 'Paris' },
        { field: 'tags', before: [], after: ['vip'] },
      ],
      importId: null,
      importRowId: null,
    },
    {
      action: 'updated',
      source: 'api_key',
      changes: [
        { field: 'customProperties.plan', before: 'pro', after: null },
        { field: 'customProperties.seats', before: 3, after: 4 },
        { field: 'customProperties.since', before: null, after: 2020 },
      ],
      importId: null,
      importRowId: null,
    },
  ])
})

test('a change that changes nothing, is refused or is read-only leaves no entry', async () => {
  const { id } = await create('/v5/contacts', { name: 'Ada', email: 'ada@example.com' })
  await create('/v5/contacts', { name: 'Eve', email: 'eve@example.com' })
  const path = `/v5/contacts/${id}`
  await update(path, { name: 'Ada', email: 'ada@example.com' })
  expect((await call('PATCH', path, { body: { email: 'eve@example.com' } })).status).toBe(409)
  expect((await call('PATCH', path, { body: { email: 'nobody' } })).status).toBe(422)
  expect(await changesOf(path)).toHaveLength(1)
})

test('deleting, restoring, blocking and unblocking a record are entries too', async () => {
  const { id } = await create('/v5/contacts', { name: 'Ada' }, bySession)
  const path = `/v5/contacts/${id}`
  for (const [method, action] of [
    ['POST', 'block'],
    ['DELETE', 'block'],
  ] as const)
    await call(method, `${path}/${action}`)
  await call('DELETE', path)
  expect((await call('GET', `${path}/timeline`)).status).toBe(404)
  expect((await call('GET', `${path}/timeline/count`)).status).toBe(404)
  await call('POST', `${path}/restore`)
  expect((await changesOf(path)).map(({ action, source }) => [action, source])).toEqual([
    ['created', 'person'],
    ['blocked', 'api_key'],
    ['unblocked', 'api_key'],
    ['deleted', 'api_key'],
    ['restored', 'api_key'],
  ])
})

test('what an import creates and merges is an entry with its import and row', async () => {
  const push = pushesOf(service, organization)
  const [first, second] = await push(
    { contact: { email: 'ada@example.com', name: 'Ada' }, company: { name: 'Engines', domain: 'engines.example.com' } },
    { contact: { email: 'ada@example.com', location: 'London', note: 'Prefers letters' } },
  )
  const path = `/v5/contacts/${first?.contactId}`
  // Both rows were in one batch, which changed the contact once.
  const [merged] = await timeline(path, '&kind=import')
  const [note] = await timeline(path, '&kind=note')
  expect(merged).toMatchObject({
    kind: 'import',
    authorId: null,
    change: { action: 'created', source: 'import', importId: organization.importId, importRowId: second?.id },
  })
  expect(note).toMatchObject({ kind: 'note', note: { body: 'Prefers letters', source: 'import' } })
  const [third] = await push({ contact: { email: 'ada@example.com', website: 'https://ada.example.com' } })
  expect((await timeline(path, '&kind=import')).at(-1)).toMatchObject({
    change: {
      action: 'updated',
      changes: [{ field: 'website', before: null, after: 'https://ada.example.com' }],
      importRowId: third?.id,
    },
  })
  expect(await timeline(`/v5/companies/${first?.companyId}`, '&kind=import')).toHaveLength(3)
})

test('moves of a deal between stages are entries of their own, without the fields that follow', async () => {
  const deal = await create('/v5/deals', { name: 'Engine' })
  const { body: stages } = await call('GET', `/v5/pipelines/${deal.pipelineId}/stages?orderBy=position&sort=asc`)
  const path = `/v5/deals/${deal.id}`
  await update(path, { stageId: stages[2].id, amount: '100' })
  await update(path, { stageId: stages[5].id, lostReason: 'Too expensive' })
  expect(await timeline(path)).toMatchObject([
    { kind: 'change', change: { action: 'created' } },
    { kind: expect.any(String) },
    { kind: expect.any(String) },
    { kind: expect.any(String) },
    { kind: expect.any(String) },
  ])
  expect(await timeline(path, '&kind=stage_move')).toMatchObject([
    { dealId: deal.id, stageMove: { fromStageName: 'Lead', toStageName: 'Proposal', toStageId: stages[2].id } },
    { authorId: organization.userId, stageMove: { fromStageName: 'Proposal', toStageName: 'Lost' } },
  ])
  expect((await changesOf(path)).map(({ changes }) => changes)).toEqual([
    [],
    [{ field: 'amount', before: null, after: '100' }],
    [{ field: 'lostReason', before: null, after: 'Too expensive' }],
  ])
})

test('the timeline of a company includes those of its contacts and deals, as they are now', async () => {
  const company = await create('/v5/companies', { name: 'Engines' })
  const path = `/v5/companies/${company.id}`
  const contact = await create('/v5/contacts', { name: 'Ada' })
  const deal = await create('/v5/deals', { name: 'Engine', companyId: company.id })
  await create(`/v5/contacts/${contact.id}/notes`, { body: 'Met in Turin' })
  expect((await timeline(path)).map(({ companyId, dealId }) => companyId ?? dealId)).toEqual([company.id, deal.id])
  await update(`/v5/contacts/${contact.id}`, { companyId: company.id })
  const entries = await timeline(path)
  expect(entries.map(({ kind, contactId, companyId, dealId }) => [kind, contactId ?? companyId ?? dealId])).toEqual([
    ['change', company.id],
    ['change', contact.id],
    ['change', deal.id],
    ['note', contact.id],
    ['change', contact.id],
  ])
  expect((await call('GET', `${path}/timeline/count`)).body).toEqual({ count: 5 })
  await call('DELETE', `/v5/deals/${deal.id}`)
  await update(`/v5/contacts/${contact.id}`, { companyId: null })
  expect(await timeline(path)).toHaveLength(1)
})

test('pages in both directions have every entry once, and filters apply', async () => {
  const { id } = await create('/v5/contacts', { name: 'Ada' })
  const path = `/v5/contacts/${id}`
  for (let round = 0; round < 6; round++) {
    await create(`${path}/notes`, { body: `Note ${round}` })
    await update(path, { city: `City ${round}` })
  }
  const all = (await call('GET', `${path}/timeline?limit=100`)).body
  expect(all).toHaveLength(13)
  expect(all.map(({ createdAt }: Json) => createdAt)).toEqual(
    all
      .map(({ createdAt }: Json) => createdAt)
      .toSorted()
      .toReversed(),
  )
  const ids = all.map((entry: Json) => entry.id)
  const paged: string[] = []
  for (let cursor = ''; ;) {
    const { body } = await call('GET', `${path}/timeline?limit=4${cursor}`)
    paged.push(...body.map((entry: Json) => entry.id))
    if (body.length < 4) break
    cursor = `&startingAfter=${paged.at(-1)}`
  }
  expect(paged).toEqual(ids)
  expect(
    (await call('GET', `${path}/timeline?limit=3&endingBefore=${ids[5]}`)).body.map((one: Json) => one.id),
  ).toEqual(ids.slice(2, 5))
  const count = async (query: string) => (await call('GET', `${path}/timeline/count?${query}`)).body.count
  expect([
    await count('kind=note'),
    await count('filter.kind.in=note,import'),
    await count('filter.kind.not=note'),
  ]).toEqual([6, 6, 7])
  expect(await count(`authorId=${organization.userId}`)).toBe(13)
  for (const query of ['kind=party', 'filter.note.equals=x', 'orderBy=change', 'deleted=true'])
    expect([query, (await call('GET', `${path}/timeline?${query}`)).status]).toEqual([query, 400])
})

test('an entry shows its note as it is now, and not at all after the note is deleted', async () => {
  const { id } = await create('/v5/contacts', { name: 'Ada' })
  const path = `/v5/contacts/${id}`
  const note = await create(`${path}/notes`, { body: 'Old' })
  await update(`/v5/notes/${note.id}`, { body: 'New' })
  expect(await timeline(path, '&kind=note')).toMatchObject([{ note: { id: note.id, body: 'New', source: 'manual' } }])
  await call('DELETE', `/v5/notes/${note.id}`)
  expect(await timeline(path, '&kind=note')).toEqual([])
})

test('tasks and notes on every kind of record are entries, and a company has those of its contacts and deals', async () => {
  const company = await create('/v5/companies', { name: 'Engines' })
  const contact = await create('/v5/contacts', { name: 'Ada', companyId: company.id })
  const deal = await create('/v5/deals', { name: 'Engine', companyId: company.id })
  const owners = [
    [`/v5/contacts/${contact.id}`, { contactId: contact.id }],
    [`/v5/companies/${company.id}`, { companyId: company.id }],
    [`/v5/deals/${deal.id}`, { dealId: deal.id }],
  ] as const
  for (const [path, reference] of owners) {
    await create(`${path}/notes`, { body: `Note on ${path}` })
    await create('/v5/tasks', { title: `Task on ${path}`, dueDate: '2030-01-31', ...reference })
    expect(await timeline(path, '&filter.kind.in=note,task&filter.createdAt.gt=2020-01-01')).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          kind: 'note',
          note: expect.objectContaining({ body: `Note on ${path}` }),
          ...reference,
        }),
        expect.objectContaining({
          kind: 'task',
          task: expect.objectContaining({ title: `Task on ${path}`, dueDate: '2030-01-31', dueAt: null, done: false }),
          ...reference,
        }),
      ]),
    )
  }
  const [task] = (await call('GET', `/v5/tasks?dealId=${deal.id}`)).body
  await update(`/v5/tasks/${task.id}`, { done: true })
  const ofDeal = await timeline(`/v5/deals/${deal.id}`, '&kind=task')
  expect(ofDeal).toMatchObject([{ task: { id: task.id, done: true, doneAt: expect.stringMatching(/Z$/) } }])
  const path = `/v5/companies/${company.id}`
  expect(await timeline(path, '&kind=task')).toHaveLength(3)
  expect(await timeline(path, '&kind=note')).toHaveLength(3)
  await call('DELETE', `/v5/tasks/${task.id}`)
  expect(await timeline(path, '&kind=task')).toHaveLength(2)
})

test('a timeline needs its scope, and shows nothing of another organization', async () => {
  const { id } = await create('/v5/contacts', { name: 'Ada' })
  const path = `/v5/contacts/${id}/timeline`
  expect((await (await organization.withScopes(['contact:*:read']))('GET', path)).status).toBe(403)
  expect((await (await organization.withScopes(['timeline-entry:list:read']))('GET', path)).status).toBe(200)
  const other = await service.newOrganization()
  expect((await other.call('GET', path)).status).toBe(404)
})
