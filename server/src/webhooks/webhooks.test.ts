import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../test/service.ts'
import {
  created,
  deliveryOf,
  hasStatus,
  type Hooked,
  newContact,
  newHooked,
  sendsToLoopback,
} from '../../test/webhook-fixture.ts'
import { verify } from '../../test/webhook-receiver.ts'

let service: TestService
let hooked: Hooked
beforeAll(async () => {
  service = await startTestService(sendsToLoopback)
})
afterAll(() => service.close())
beforeEach(async () => {
  hooked = await newHooked(service, { headers: { 'X-Token': 'violet' } })
})
afterEach(() => hooked.receiver.close())

test('an event is signed and sent with the record as the API shows it', async () => {
  const { call, receiver, secret } = hooked
  const contact = await newContact(call, { email: 'ada@example.com' })
  const [received] = await receiver.count(1)
  if (!received) throw new Error('nothing was received')
  expect(received.headers).toMatchObject({ 'x-token': 'violet', 'content-type': 'application/json' })
  const [event] = (await call('GET', `/v5/events?after=start&record=${contact.id}`)).body.events
  const object = (await call('GET', `/v5/contacts/${contact.id}`)).body
  const expected = { type: 'contact.created', timestamp: event.createdAt, data: { ...event, object } }
  expect(verify(secret, received)).toEqual(expected)
  expect(received.id).toBe(event.id)
  const other = { ...received, text: received.text.replace('Ada', 'Eve') }
  expect(() => verify(secret, other)).toThrow('signature')
  const delivery = await deliveryOf(hooked, hasStatus('delivered'))
  expect(delivery).toMatchObject({
    eventId: event.id,
    type: 'contact.created',
    recordId: contact.id,
    attemptCount: 1,
    nextAttemptAt: null,
    error: null,
    attempts: [{ status: 204, answer: '', error: null }],
  })
})

test('a large event is sent without its values, and says where they are', async () => {
  const { call, receiver, secret } = hooked
  const customProperties = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`long${n}`, 'x'.repeat(1000)]))
  const contact = await newContact(call, { customProperties })
  const [received] = await receiver.count(1)
  if (!received) throw new Error('nothing was received')
  const { data } = verify(secret, received) as { data: object }
  expect(Buffer.byteLength(received.text)).toBeLessThan(2000)
  expect(data).toMatchObject({ recordId: contact.id, href: `${service.url}/v5/contacts/${contact.id}` })
  expect(Object.keys(data)).not.toContain('values')
  expect(Object.keys(data)).not.toContain('object')
})

test('an event of a deleted record has no object', async () => {
  const { call, receiver } = hooked
  const { id } = await newContact(call)
  await receiver.count(1)
  await call('DELETE', `/v5/contacts/${id}`)
  const [, received] = await receiver.count(2)
  expect(received?.body).toMatchObject({ type: 'contact.deleted', data: { recordId: id, object: null } })
})

test('the secret and the values of headers are shown in no other response', async () => {
  const { call, path, secret } = hooked
  const shown = await call('GET', path)
  expect(shown.body).toMatchObject({ headerNames: ['x-token'], status: 'enabled', statusReason: null })
  const listed = await call('GET', '/v5/webhooks')
  for (const { text } of [shown, listed]) {
    expect(text).not.toContain('violet')
    expect(text).not.toContain(secret)
  }
  const changed = await call('PATCH', path, { body: { headers: { authorization: 'Bearer red' } } })
  expect(changed.body.headerNames).toEqual(['authorization'])
  await newContact(call)
  const [received] = await hooked.receiver.count(1)
  expect(received?.headers).toMatchObject({ authorization: 'Bearer red' })
  expect(received?.headers).not.toHaveProperty('x-token')
})

test.each([
  [{ url: 'http://example.com' }, 'url'],
  [{ url: 'https://ada:secret@example.com' }, 'url'],
  [{ events: [] }, 'events'],
  [{ events: ['contact'] }, 'events'],
  [{ events: ['contact.eaten'] }, 'events'],
  [{ events: ['contact.created.twice'] }, 'events'],
  [{ events: ['company.created'] }, 'events'],
  [{ scopes: ['contact:create:write'] }, 'scopes'],
  [{ scopes: ['contact:list:*'] }, 'scopes'],
  [{ scopes: ['contact:eat:read'] }, 'scopes'],
  [{ headers: { 'webhook-id': '1' } }, 'headers'],
  [{ headers: { 'bad name': '1' } }, 'headers'],
  [{ headers: { one: 'a\nb' } }, 'headers'],
  [{ status: 'disabled' }, 'status'],
  [{ filter: { nmae: { equals: 'Ada' } } }, 'filter.nmae.equals'],
  [{ changedFields: ['nmae'] }, 'changedFields'],
  [{ changedFields: ['company.name'] }, 'changedFields'],
  [{ filter: { deals: { some: {} } } }, 'filter'],
  [{ events: ['*'], scopes: ['contact:list:read', 'deal:list:read'], changedFields: ['name'] }, 'changedFields'],
])('%j is refused', async (body, field) => {
  const { call, receiver } = hooked
  const valid = { url: receiver.url, events: ['contact.*'], scopes: ['contact:list:read'] }
  const refused = await call('POST', '/v5/webhooks', { body: { ...valid, ...body } })
  expect(refused, refused.text).toMatchObject({ status: 422 })
  expect(refused.body.details.map((one: { field: string }) => one.field)).toContain(field)
})

test('scopes are never more than those of the maker, and never change', async () => {
  const { organization, call, receiver, path } = hooked
  const body = { url: receiver.url, events: ['*'], scopes: ['contact:list:read', 'deal:list:read'] }
  const limited = await organization.withScopes(['webhook:*:write', 'contact:*:read'])
  const refused = await limited('POST', '/v5/webhooks', { body })
  expect(refused).toMatchObject({ status: 403, body: { code: 'missing_scopes' } })
  expect(refused.body.details).toEqual([{ field: 'scopes', message: 'urn:service:deal:list:read' }])
  await created(limited, '/v5/webhooks', { ...body, scopes: ['contact:list:read'] })
  // A wildcard does not include webhooks: they stay when their maker has left.
  const wide = await organization.withScopes(['*:*:*'])
  expect((await wide('POST', '/v5/webhooks', { body })).status).toBe(403)
  const changed = await call('PATCH', path, { body: { scopes: ['contact:*:read'] } })
  expect(changed).toMatchObject({ status: 422, body: { details: [{ field: 'scopes' }] } })
})

test('a webhook sends events of the resources that its scopes show, and continues without the key that made it', async () => {
  const { organization, call, receiver } = hooked
  const maker = await organization.withScopes(['webhook:create:write', 'company:list:read'])
  const body = { url: `${receiver.url}/all`, events: ['*'], scopes: ['company:list:read'] }
  const { createdBy } = await created(maker, '/v5/webhooks', body)
  expect(createdBy).toBe(organization.userId)
  const { body: keys } = await call('GET', '/v5/api-keys?name=test')
  expect((await call('POST', `/v5/api-keys/${keys[0].id}/revoke`)).status).toBe(200)
  expect((await maker('GET', '/v5/companies')).status).toBe(401)
  await newContact(call)
  await created(call, '/v5/companies', { name: 'Engines' })
  await receiver.count(2)
  const sent = receiver.received.map((one) => [one.path, one.body.type]).sort()
  expect(sent).toEqual([
    ['/hooks', 'contact.created'],
    ['/hooks/all', 'company.created'],
  ])
})
