import { existsSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { identifier, type Sql, sql } from '../src/platform/model/sql.ts'
import { createHeldLocks, type Held, type HeldLocks, lockOf, uuidOf } from './held-locks.ts'
import { type Call, type Json, startTestService, type TestOrganization, type TestService } from './service.ts'
import { analysedNote } from './suggested.ts'

let service: TestService
let organization: TestOrganization
let call: Call
let locks: HeldLocks
let pipeline: Json
beforeAll(async () => {
  service = await startTestService()
  locks = createHeldLocks(() => service.database)
  organization = await service.newOrganization()
  call = organization.call
  ;[pipeline] = (await call('GET', '/v5/pipelines')).body
})
afterAll(async () => {
  locks.restore()
  await service.close()
})

async function create(path: string, body: object): Promise<Json> {
  const made = await call('POST', path, { body })
  expect(made.status, made.text).toBe(201)
  return made.body
}

const read = async (path: string): Promise<Json> => (await call('GET', path)).body
const change = (table: string, { id }: Json, values: Sql): Sql =>
  sql`update ${identifier(table)} set ${values} where id = ${uuidOf(id)}`

/** Another transaction changes a record. */
const changing = (table: string, record: Json, values: Sql): Held => ({
  lock: lockOf(table, record.id),
  meanwhile: change(table, record, values),
})
const deleting = (table: string, record: Json): Held => changing(table, record, sql`deleted_at = now()`)

const newPipeline = (): Promise<Json> => create('/v5/pipelines', { name: `Pipeline ${Math.random()}` })
const newStage = ({ id } = pipeline): Promise<Json> =>
  create(`/v5/pipelines/${id}/stages`, { name: `Stage ${Math.random()}`, kind: 'open' })
const stagePath = ({ id, pipelineId }: Json) => `/v5/pipelines/${pipelineId}/stages/${id}`
const entering = (deal: Json, stage: Json): Sql =>
  change('deals', deal, sql`stage_id = ${uuidOf(stage.id)}, pipeline_id = ${uuidOf(stage.pipelineId)}`)

test('a deal enters no stage and no pipeline that is being deleted', async () => {
  const stage = await newStage()
  const inStage = { stageId: stage.id }
  const deal = await create('/v5/deals', { name: 'Engine' })
  const deleted = await create('/v5/deals', { name: 'Loom', ...inStage })
  await call('DELETE', `/v5/deals/${deleted.id}`)
  for (const [status, send] of [
    [422, () => call('POST', '/v5/deals', { body: { name: 'New', ...inStage } })],
    [422, () => call('PATCH', `/v5/deals/${deal.id}`, { body: inStage })],
    [422, () => call('POST', `/v5/deals/${deal.id}/move`, { body: inStage })],
    [423, () => call('POST', `/v5/deals/${deleted.id}/restore`)],
  ] as const) {
    const answer = await locks.whileHeld(deleting('stages', stage), send)
    expect(answer.status, answer.text).toBe(status)
    expect((await call('POST', `${stagePath(stage)}/restore`)).status).toBe(200)
  }
  const other = await newPipeline()
  await newStage(other)
  const body = { name: 'New', pipelineId: other.id }
  const send = () => call('POST', '/v5/deals', { body })
  expect((await locks.whileHeld(deleting('pipelines', other), send)).status).toBe(422)
})

test('a stage or a pipeline that a deal is entering is deleted with its move, or not at all', async () => {
  const [left, target] = [await newStage(), await newStage()]
  const deal = await create('/v5/deals', { name: 'Engine' })
  const held = { lock: lockOf('stages', left.id, 'for share'), meanwhile: entering(deal, left) }
  expect((await locks.whileHeld(held, () => call('DELETE', stagePath(left)))).status).toBe(423)
  await call('PATCH', `/v5/deals/${deal.id}`, { body: { stageId: target.id } })
  const emptied = await locks.whileHeld(held, () => call('DELETE', `${stagePath(left)}?moveDealsTo=${target.id}`))
  expect(emptied.status, emptied.text).toBe(204)
  expect((await read(`/v5/deals/${deal.id}`)).stageId).toBe(target.id)

  const other = await newPipeline()
  const inOther = { lock: lockOf('pipelines', other.id, 'for share'), meanwhile: entering(deal, await newStage(other)) }
  expect((await locks.whileHeld(inOther, () => call('DELETE', `/v5/pipelines/${other.id}`))).status).toBe(423)
})

test('a deal that leaves a stage while the kind of the stage changes does not follow it', async () => {
  const [stage, target] = [await newStage(), await newStage()]
  const deal = await create('/v5/deals', { name: 'Engine', stageId: stage.id })
  const held = { lock: lockOf('deals', deal.id), meanwhile: entering(deal, target) }
  const changed = await locks.whileHeld(held, () => call('PATCH', stagePath(stage), { body: { kind: 'won' } }))
  expect(changed.status, changed.text).toBe(200)
  expect(await read(`/v5/deals/${deal.id}`)).toMatchObject({ stageId: target.id, status: 'open' })
})

test('a record names no other one, and gets no parent, that is being deleted', async () => {
  const company = await create('/v5/companies', { name: 'Engines' })
  const contact = await create('/v5/contacts', { name: 'Ada' })
  const team = await create('/v5/teams', { name: 'North' })
  const other = await newPipeline()
  const newContact = (body: object) => () => call('POST', '/v5/contacts', { body: { name: 'Grace', ...body } })
  const stage = { name: 'First', kind: 'open' }
  for (const [table, record, send, status] of [
    ['companies', company, newContact({ companyId: company.id }), 422],
    ['teams', team, newContact({ teamId: team.id }), 422],
    ['contacts', contact, () => call('POST', `/v5/contacts/${contact.id}/notes`, { body: { body: 'Called' } }), 404],
    ['pipelines', other, () => call('POST', `/v5/pipelines/${other.id}/stages`, { body: stage }), 404],
  ] as const) {
    const answer = await locks.whileHeld(deleting(table, record), send)
    expect(answer.status, answer.text).toBe(status)
  }
})

test('the stages of a pipeline are put in order one after the other', async () => {
  const other = await newPipeline()
  const first = await newStage(other)
  const held = {
    lock: lockOf('pipelines', other.id, 'for no key update'),
    meanwhile: change('stages', first, sql`position = 4`),
  }
  const added = await locks.whileHeld(held, () => newStage(other))
  // The order closes the gap that the other transaction has made.
  expect([(await read(stagePath(first))).position, added.position]).toEqual([0, 1])
})

test('a contact that returns while its team is deleted belongs to the default team', async () => {
  const team = await create('/v5/teams', { name: 'South' })
  const contact = await create('/v5/contacts', { name: 'Ada', teamId: team.id })
  await call('DELETE', `/v5/contacts/${contact.id}`)
  const send = () => call('POST', `/v5/contacts/${contact.id}/restore`)
  const restored = await locks.whileHeld(deleting('teams', team), send)
  expect(restored).toMatchObject({ status: 200, body: { teamId: organization.teamId } })
})

test('a change waits for another one, which it neither overwrites nor overlooks', async () => {
  const [old, next] = [await create('/v5/companies', { name: 'Old' }), await create('/v5/companies', { name: 'Next' })]
  const contact = await create('/v5/contacts', { name: 'Ada', companyId: old.id })
  const path = `/v5/contacts/${contact.id}`
  const etag = (await call('GET', path)).headers.get('etag') ?? ''
  const values = sql`nickname = 'Countess', company_id = ${uuidOf(next.id)}, revision = revision + 1`
  const held = changing('contacts', contact, values)
  const send = (headers = {}) => call('PATCH', path, { body: { city: 'London' }, headers })
  expect((await locks.whileHeld(held, () => send({ 'if-match': etag }))).status).toBe(412)
  await call('PATCH', path, { body: { companyId: old.id } })
  expect((await locks.whileHeld(held, send)).body).toMatchObject({
    city: 'London',
    nickname: 'Countess',
    company: { id: next.id, name: 'Next' },
  })
})

test('a record is written with the definitions that apply then, and a definition applies to all that is written', async () => {
  const contact = await create('/v5/contacts', { name: 'Ada', customProperties: { level: 'high' } })
  const setOf = (mode: string): Sql => sql`select from property_sets
    where organization_id = ${uuidOf(organization.organizationId)} and resource = 'contacts' ${mode === 'read' ? sql`for key share` : sql`for update`}`
  const numbers = { resource: 'contacts', key: 'size', type: 'number', label: 'Size' }
  const written = {
    lock: setOf('read'),
    meanwhile: change('contacts', contact, sql`custom_properties = '{"size": "big"}', updated_at = now()`),
  }
  const define = () => call('POST', '/v5/properties', { body: numbers })
  const refused = await locks.whileHeld(written, define)
  expect(refused, refused.text).toMatchObject({ status: 422 })
  await call('PATCH', `/v5/contacts/${contact.id}`, { body: { customProperties: { size: null } } })
  const { id } = await create('/v5/properties', numbers)
  const [definition] = await service.database.crossTenantQuery<{ definitions: object[] }>(
    'check the database',
    sql`select definitions from property_sets where resource = 'contacts'
      and organization_id = ${uuidOf(organization.organizationId)}`,
  )
  await call('DELETE', `/v5/properties/${id}`)
  await create('/v5/contacts', { name: 'Ada', customProperties: { size: 'small' } })
  // As the definition does that returns.
  const redefined = {
    lock: setOf('write'),
    meanwhile: sql`update property_sets set revision = revision + 1, definitions = ${JSON.stringify(definition?.definitions)}::jsonb
      where resource = 'contacts' and organization_id = ${uuidOf(organization.organizationId)}`,
  }
  const body = { name: 'Grace', customProperties: { size: 'large' } }
  const answer = await locks.whileHeld(redefined, () => call('POST', '/v5/contacts', { body }))
  expect(answer).toMatchObject({ status: 422, body: { details: [{ field: 'customProperties.size' }] } })

  // A single statement checks the revision that the process knows.
  await create('/v5/companies', { name: 'First' })
  const ofCompanies = sql`resource = 'companies' and organization_id = ${uuidOf(organization.organizationId)}`
  const outdated = {
    lock: sql`select from property_sets where ${ofCompanies} for update`,
    meanwhile: sql`update property_sets set revision = revision + 1 where ${ofCompanies}`,
  }
  expect((await locks.whileHeld(outdated, () => create('/v5/companies', { name: 'Second' }))).name).toBe('Second')
})

test('accepting a suggestion sees where the deal has moved', async () => {
  const other = await newPipeline()
  const first = await newStage(other)
  const lost = await create(`/v5/pipelines/${other.id}/stages`, { name: 'Gone', kind: 'lost' })
  const deal = await create('/v5/deals', { name: 'Engine' })
  const note = await analysedNote(
    service,
    organization,
    `/v5/deals/${deal.id}/notes`,
    'No thanks, we are not interested.',
  )
  const [suggestion] = await read(`/v5/suggestions?noteId=${note.id}&type=change_stage`)
  const held = { lock: lockOf('deals', deal.id), meanwhile: entering(deal, first) }
  const accepted = await locks.whileHeld(held, () => call('POST', `/v5/suggestions/${suggestion.id}/accept`))
  expect(accepted.status, accepted.text).toBe(200)
  expect(await read(`/v5/deals/${deal.id}`)).toMatchObject({ stageId: lost.id, status: 'lost' })
})

test('of two opt-outs of a contact, each decision sees the other one', async () => {
  for (const lockAnother of [true, false]) {
    const contact = await create('/v5/contacts', { name: 'Ada', email: `${Math.random()}@example.com` })
    const path = `/v5/contacts/${contact.id}`
    const suggestions: Json[] = []
    for (const text of ['Please unsubscribe me.', 'Remove me from your list.']) {
      const note = await analysedNote(service, organization, `${path}/notes`, text)
      suggestions.push(...(await read(`/v5/suggestions?noteId=${note.id}&type=suppress`)))
    }
    const [one, other] = suggestions
    expect([(await read(path)).emailOptOut, suggestions.length]).toEqual([true, 2])
    const held = {
      lock: lockAnother ? lockOf('suggestions', other.id) : lockOf('contacts', contact.id),
      meanwhile: change('suggestions', other, sql`status = 'rejected'`),
    }
    const rejected = await locks.whileHeld(held, () => call('POST', `/v5/suggestions/${one.id}/reject`))
    expect(rejected.status, rejected.text).toBe(200)
    expect((await read(path)).emailOptOut).toBe(false)
  }
})

test('a suggestion that is being decided does not end with its note', async () => {
  const contact = await create('/v5/contacts', { name: 'Ada' })
  const note = await analysedNote(service, organization, `/v5/contacts/${contact.id}/notes`, 'Please call me tomorrow.')
  const [suggestion] = await read(`/v5/suggestions?noteId=${note.id}`)
  const held = changing('suggestions', suggestion, sql`status = 'rejected'`)
  const send = () => call('PATCH', `/v5/notes/${note.id}`, { body: { body: 'Please write to me.' } })
  expect((await locks.whileHeld(held, send)).status).toBe(200)
  expect((await read(`/v5/suggestions/${suggestion.id}`)).status).toBe('rejected')
})

test('a contact gets no address that becomes a further one of another contact', async () => {
  const [ada, bob] = [await create('/v5/contacts', { name: 'Ada' }), await create('/v5/contacts', { name: 'Bob' })]
  for (const [address, status, send] of [
    ['k1@example.com', 409, () => call('PATCH', `/v5/contacts/${bob.id}`, { body: { email: 'k1@example.com' } })],
    ['k2@example.com', 409, () => call('POST', '/v5/contacts', { body: { email: 'k2@example.com' } })],
  ] as const) {
    const former = await create('/v5/contacts', { name: 'Former', email: address })
    await call('PATCH', `/v5/contacts/${former.id}`, { body: { email: null } })
    const entries = JSON.stringify([{ address, key: address }])
    const held = {
      lock: lockOf('root_contacts', former.rootContactId),
      meanwhile: sql`with marked as (
          update root_contacts set is_further = true where id = ${uuidOf(former.rootContactId)}),
        given as (update contacts set emails = ${entries}::jsonb where id = ${uuidOf(ada.id)})
        insert into contact_emails (organization_id, email_key, team_id, contact_id)
        select organization_id, ${address}, team_id, id from contacts where id = ${uuidOf(ada.id)}`,
    }
    const refused = await locks.whileHeld(held, send)
    expect([refused.status, refused.body.details[0].id]).toEqual([status, ada.id])
  }
})

test('nothing is removed of an import that is being enabled', async () => {
  const imported = await create('/v5/imports', { name: 'Unwanted' })
  await call('POST', `/v5/imports/${imported.id}/disable`)
  const held = changing('imports', imported, sql`disabled_at = null`)
  const refused = await locks.whileHeld(held, () => call('POST', `/v5/imports/${imported.id}/remove-received`))
  expect(refused.status).toBe(423)
})

test('a task that is open again takes no next one back that is being changed', async () => {
  const task = await create('/v5/tasks', { title: 'Report', dueDate: '2036-01-07', recurrence: 'FREQ=DAILY' })
  const send = (done: boolean) => call('PATCH', `/v5/tasks/${task.id}`, { body: { done } })
  const { nextTaskId: id } = (await send(true)).body
  const held = changing('tasks', { id }, sql`title = 'Another report', revision = revision + 1`)
  const reopened = await locks.whileHeld(held, () => send(false))
  expect([reopened.status, reopened.body.nextTaskId]).toEqual([200, id])
  expect(await read(`/v5/tasks/${id}`)).toMatchObject({ title: 'Another report' })
})

/** Files whose locks are for work in the background, and the tests that hold or race them. */
const heldElsewhere: Readonly<Record<string, string>> = {
  'platform/http/limits/shared-rate-limit-store.ts': 'platform/http/limits/shared-rate-limit.test.ts',
  'platform/records/write/events.ts': 'api/erasure.test.ts',
  'platform/records/properties/index-builds-store.ts': 'platform/records/properties/index-builds.test.ts',
  'operations/maintenance/retention-store.ts': 'platform/operations/maintenance/maintenance-service.test.ts',
  'contacts/retention-store.ts': 'platform/operations/maintenance/maintenance.test.ts',
  'last-activity/': 'crm/last-activity/lock-order.test.ts',
  'tasks/reminders-store.ts': 'crm/tasks/reminders.test.ts',
  'refused-pushes/': 'intake/accept/refusals.test.ts',
  'rows/store.ts': 'intake/rows/rows-races.test.ts',
  'intake/removal/removal-store.ts: ganization_id = ? and import_id': 'intake/removal/removal.test.ts',
  'intake/work/': 'intake/work/imports-leases.test.ts',
  'assistant/work/': 'assistant/work/analysis-workers.test.ts',
  // Only imports select records so.
  'records/write/current.ts: where ? and ?.id = any(array(select id from found))':
    'crm/last-activity/lock-order.test.ts',
}

test('every other lock of records is held in a test above', () => {
  const untested = locks.untested(/^server\/src\/(crm|intake|assistant|api|platform)\//)
  expect(untested.filter((lock) => !Object.keys(heldElsewhere).some((place) => lock.includes(place)))).toEqual([])
  for (const file of Object.values(heldElsewhere))
    expect(existsSync(new URL(`../src/${file}`, import.meta.url)), file).toBe(true)
})
