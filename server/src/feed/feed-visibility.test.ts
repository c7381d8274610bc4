import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MailedService, startMailedService } from '../../test/mailed-service.ts'
import { newOwner, type TestOwner, type TestPerson } from '../../test/people.ts'
import { newRole, personWith } from '../../test/reach-fixture.ts'
import type { Call, Json } from '../../test/service.ts'

let mailed: MailedService
let owner: TestOwner
/** Sees only their own records. */
let person: TestPerson
beforeAll(async () => {
  mailed = await startMailedService()
  owner = await newOwner(mailed.service)
  person = await personWith(mailed, owner, await newRole(owner, 'own'))
})
afterAll(() => mailed.close())

async function create(path: string, body: object, call: Call): Promise<Json> {
  const made = await call('POST', path, { body })
  expect(made.status, made.text).toBe(201)
  return made.body
}

const position = async (): Promise<string> => (await owner.call('GET', '/v5/events/position')).body.position

async function eventsFor(call: Call, query: string): Promise<Json[]> {
  const page = await call('GET', `/v5/events?${query}`)
  expect(page.status, page.text).toBe(200)
  return page.body.events
}

test('a person sees the events of records within their reach, and of what is on them', async () => {
  const after = await position()
  const mine = await create('/v5/contacts', { name: 'Mine', ownerId: person.userId }, owner.call)
  const other = await create('/v5/contacts', { name: 'Secret' }, owner.call)
  await create(`/v5/contacts/${mine.id}/notes`, { body: 'On mine' }, owner.call)
  await create(`/v5/contacts/${other.id}/notes`, { body: 'Secret note' }, owner.call)
  await create('/v5/tasks', { title: 'Secret task', assigneeId: owner.userId, contactId: mine.id }, owner.call)
  await create('/v5/views', { name: 'Secret view', resource: 'contacts' }, owner.call)
  await owner.call('DELETE', `/v5/contacts/${mine.id}`)
  const seen = await eventsFor(person.call, `after=${after}&limit=1000`)
  expect(JSON.stringify(seen)).not.toContain('Secret')
  expect(seen.filter(({ resource }) => resource === 'contact').map(({ type, recordId }) => [type, recordId])).toEqual([
    ['contact.created', mine.id],
    ['contact.deleted', mine.id],
  ])
  expect(await eventsFor(person.call, `after=${after}&record=${other.id}`)).toEqual([])
  const all = await eventsFor(owner.call, `after=${after}&limit=1000`)
  expect(all.map(({ values }) => values?.name ?? values?.body ?? values?.title).filter(Boolean)).toEqual([
    'Mine',
    'Secret',
    'On mine',
    'Secret note',
    'Secret task',
    'Secret view',
  ])
})

test('a key sees the events of the resources that it may list, and asking for others is refused', async () => {
  const after = await position()
  await create('/v5/contacts', { name: 'Ada' }, owner.call)
  await create('/v5/companies', { name: 'Engines' }, owner.call)
  const withScopes = (...scopes: string[]) => owner.organization.withScopes(scopes)
  const ofContacts = await withScopes('event:list:read', 'contact:list:read')
  expect((await eventsFor(ofContacts, `after=${after}`)).map(({ type }) => type)).toEqual(['contact.created'])
  const refused = await ofContacts('GET', `/v5/events?after=${after}&resource=company`)
  expect([refused.status, refused.body.details[0].message]).toEqual([403, 'urn:service:company:list:read'])
  const ofNothing = await withScopes('event:list:read', 'contact:get:read')
  expect(await eventsFor(ofNothing, `after=${after}`)).toEqual([])
  const withoutFeed = await withScopes('contact:*:read')
  expect((await withoutFeed('GET', `/v5/events?after=${after}`)).status).toBe(403)
})

test('the stream says which records have left the reach of its person, and of no others', async () => {
  const theirs = await create('/v5/contacts', { name: 'Theirs', ownerId: person.userId }, owner.call)
  const taken = await create('/v5/companies', { name: 'Taken', ownerId: person.userId }, owner.call)
  const secret = await create('/v5/contacts', { name: 'Secret', ownerId: owner.userId }, owner.call)
  const after = await position()
  const change = async (path: string, body: object) =>
    expect((await owner.call('PATCH', path, { body })).status).toBe(200)
  await change(`/v5/contacts/${secret.id}`, { ownerId: null })
  await change(`/v5/contacts/${theirs.id}`, { city: 'Rome' })
  await change(`/v5/contacts/${theirs.id}`, { ownerId: owner.userId })
  await change(`/v5/contacts/${theirs.id}`, { city: 'Paris' })
  await change(`/v5/companies/${taken.id}`, { ownerId: owner.userId })
  await change(`/v5/companies/${taken.id}`, { ownerId: person.userId })
  const leaving = new AbortController()
  const response = await fetch(`${mailed.service.url}/v5/events/stream?after=${after}`, {
    headers: { authorization: `Bearer ${person.accessToken}`, 'service-organization-id': owner.organizationId },
    signal: leaving.signal,
  })
  const last = await position()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString()
    if (text.includes(`id: ${last}\n`)) break
  }
  leaving.abort()
  expect([...text.matchAll(/^event: unreachable\ndata: (.*)$/gm)].map(([, data]) => data)).toEqual([
    JSON.stringify({ resource: 'contact', recordId: theirs.id }),
  ])
  expect(text).not.toContain(secret.id)
})

test('the stream of a member ends when they are removed, and they get no event from then on', async () => {
  const member = await mailed.join(owner.call, 'member')
  const response = await fetch(`${mailed.service.url}/v5/events/stream`, {
    headers: { authorization: `Bearer ${member.accessToken}`, 'service-organization-id': owner.organizationId },
  })
  expect(response.status).toBe(200)
  expect((await owner.call('DELETE', `/v5/members/${member.userId}`)).status).toBe(204)
  await create('/v5/contacts', { name: 'Later' }, owner.call)
  // Whole: the service ends it.
  expect(await response.text()).not.toContain('Later')
})
