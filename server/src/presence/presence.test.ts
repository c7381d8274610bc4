import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { type MailedService, mailSettings, startMailedService } from '../../test/mailed-service.ts'
import { followPeople, type PeopleStream } from '../../test/people-stream.ts'
import { loggedIn, newOwner, type TestOwner, type TestPerson } from '../../test/people.ts'
import { createDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'
import { newRole, personWith } from '../../test/reach-fixture.ts'
import { type Call, type Json, startTestService, type TestService } from '../../test/service.ts'
import { sql } from '../platform/model/sql.ts'

let mailed: MailedService
/** Another process on the same database. */
let second: TestService
let owner: TestOwner
let anna: TestPerson
let contact: Json
beforeAll(async () => {
  const database = await createDatabase()
  mailed = await startMailedService({}, database)
  second = await startTestService(mailSettings(mailed.receiver), { ...database, drop: async () => undefined })
})
beforeEach(async () => {
  owner = await newOwner(mailed.service)
  anna = await mailed.join(owner.call, 'member')
  contact = await create('/v5/contacts', { name: 'Ada' })
})
afterAll(async () => {
  await second.close()
  await mailed.close()
})

async function create(path: string, body: object, call: Call = owner.call): Promise<Json> {
  const made = await call('POST', path, { body })
  expect(made.status, made.text).toBe(201)
  return made.body
}

async function sign(call: Call, recordIds: readonly string[], more: object = {}): Promise<void> {
  const signed = await call('POST', '/v5/presence', { body: { tab: 'main', recordIds, ...more } })
  expect(signed.status, signed.text).toBe(204)
}

/** A stream that has begun. */
async function follow(person: Pick<TestPerson, 'accessToken'>, query = '', url = mailed.service.url) {
  const { organizationId } = owner
  const stream = await followPeople(url, { accessToken: person.accessToken, organizationId }, query)
  onTestFinished(() => stream.leave())
  await until('the stream has shown who is there', () => stream.events.length > 0)
  return stream
}

const shown = ({ records }: PeopleStream) => Object.fromEntries(records)

const untilShown = (stream: PeopleStream, expected: object): Promise<void> =>
  until('the stream shows these people', () => JSON.stringify(shown(stream)) === JSON.stringify(expected))

test('others see who opens, edits and leaves a record, in each process, and nobody sees themselves', async () => {
  const [here, there] = [await follow(owner), await follow(owner, '', second.url)]
  const own = await follow(anna)
  for (const stream of [here, there]) expect(stream.events).toEqual(['{"isComplete":true,"records":[]}'])
  const person = (isEditing: boolean) => ({ [contact.id]: [{ userId: anna.userId, isEditing }] })
  await sign(anna.call, [contact.id])
  for (const stream of [here, there]) await untilShown(stream, person(false))
  await sign(anna.call, [contact.id], { editedIds: [contact.id] })
  for (const stream of [here, there]) await untilShown(stream, person(true))
  // On another device.
  const phone = await loggedIn(mailed.service, anna.email)
  await sign(phone.call, [contact.id])
  await sign(anna.call, [])
  for (const stream of [here, there]) await untilShown(stream, person(false))
  const late = await follow(owner)
  expect(late.events).toEqual([JSON.stringify({ isComplete: true, records: [records(contact.id, anna.userId)] })])
  await sign(phone.call, [])
  for (const stream of [here, there, late]) await untilShown(stream, {})
  expect(own.events).toEqual(['{"isComplete":true,"records":[]}'])
})

const records = (recordId: string, userId: string) => ({ recordId, people: [{ userId, isEditing: false }] })

test('somebody who gives no sign any more disappears, and repeated signs send nothing', async () => {
  const stream = await follow(owner)
  await sign(anna.call, [contact.id])
  await untilShown(stream, { [contact.id]: [{ userId: anna.userId, isEditing: false }] })
  const age = (seconds: number) =>
    mailed.service.database.crossTenantQuery(
      'check the database',
      sql`update presences set seen_at = now() - make_interval(secs => ${seconds}::integer)`,
    )
  await age(30)
  await sign(anna.call, [contact.id])
  await age(30)
  await create('/v5/companies', { name: 'Engines' })
  const probe = await follow(owner)
  expect(shown(probe)).toEqual(shown(stream))
  await age(40)
  await untilShown(stream, {})
  expect(stream.events).toHaveLength(3)
})

test('somebody disappears at once when their session ends, and when they are removed', async () => {
  const stream = await follow(owner)
  const ben = await mailed.join(owner.call, 'member')
  await sign(anna.call, [contact.id])
  await sign(ben.call, [contact.id])
  await until('both are shown', () => stream.records.get(contact.id)?.length === 2)
  expect((await anna.call('DELETE', `/v5/me/sessions/${anna.sessionId}`)).status).toBe(204)
  await untilShown(stream, { [contact.id]: [{ userId: ben.userId, isEditing: false }] })
  expect((await owner.call('DELETE', `/v5/members/${ben.userId}`)).status).toBe(204)
  await untilShown(stream, {})
})

test('nothing is shown of other organizations and of records out of reach, also when they leave it', async () => {
  const ben = await personWith(mailed, owner, await newRole(owner, 'own'))
  const mine = await create('/v5/contacts', { name: 'Mine', ownerId: ben.userId })
  const task = await create('/v5/tasks', { title: 'Call', assigneeId: ben.userId })
  const foreigner = await newOwner(mailed.service)
  const foreign = await followPeople(mailed.service.url, foreigner)
  onTestFinished(() => foreign.leave())
  const stream = await follow(ben)
  const all = [contact.id, mine.id, task.id]
  await sign(anna.call, all)
  const people = [{ userId: anna.userId, isEditing: false }]
  await untilShown(stream, { [mine.id]: people, [task.id]: people })
  expect(stream.events.join(' ')).not.toContain(contact.id)
  const changed = await owner.call('PATCH', `/v5/contacts/${mine.id}`, { body: { ownerId: owner.userId } })
  expect(changed.status).toBe(200)
  await sign(anna.call, all, { editedIds: [mine.id] })
  await untilShown(stream, { [task.id]: people })
  // What somebody cannot reach, they cannot be on.
  const seen = await follow(owner)
  await sign(ben.call, [contact.id, mine.id, task.id])
  await sign(foreigner.call, [contact.id])
  await until('their task is shown', () => seen.records.get(task.id)?.length === 2)
  expect([contact.id, mine.id].map((id) => seen.records.get(id))).toEqual([
    people,
    [{ userId: anna.userId, isEditing: true }],
  ])
  expect(foreign.events).toEqual(['{"isComplete":true,"records":[]}'])
})

test('a stream shows what its filters say, and a key neither is shown nor sees people', async () => {
  const company = await create('/v5/companies', { name: 'Engines' })
  const filtered = await follow(owner, '?resource=company')
  const byRecord = await follow(owner, `?record=${contact.id}`)
  const byKey = await followPeople(mailed.service.url, { ...owner, accessToken: owner.organization.apiKey })
  onTestFinished(() => byKey.leave())
  await sign(anna.call, [contact.id, company.id])
  const people = [{ userId: anna.userId, isEditing: false }]
  await untilShown(filtered, { [company.id]: people })
  await untilShown(byRecord, { [contact.id]: people })
  expect(byKey.events).toEqual([])
  const body = { tab: 'main', recordIds: [contact.id] }
  const refused = await owner.organization.call('POST', '/v5/presence', { body })
  expect([refused.status, refused.body.code]).toEqual([403, 'insufficient_permissions'])
  const unknown = await anna.call('POST', '/v5/presence', { body: { tab: 'main', recordIds: ['Ada'] } })
  expect([unknown.status, unknown.body.details[0].field]).toEqual([422, 'recordIds'])
})
