import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { until } from '../../test/processes.ts'
import { startTestService, type Json, type TestService } from '../../test/service.ts'
import {
  created,
  type Hooked,
  newContact,
  newHooked,
  newWebhook,
  pass,
  sendsToLoopback,
} from '../../test/webhook-fixture.ts'
import { answerWith, verify } from '../../test/webhook-receiver.ts'

let service: TestService
let hooked: Hooked
beforeAll(async () => {
  service = await startTestService(sendsToLoopback)
})
afterAll(() => service.close())
beforeEach(async () => {
  hooked = await newHooked(service)
})
afterEach(() => hooked.receiver.close())

const hour = 3600
const patch = async (path: string, body: object): Promise<Json> => {
  const answer = await hooked.call('PATCH', path, { body })
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

/** Sends an event that every webhook of the test gets; all that was planned before it has arrived, too. */
async function sendLast(): Promise<string[][]> {
  const { call, receiver, path } = hooked
  const { id } = await newContact(call, { name: 'Last', tags: ['vip'] })
  await until('the last event arrives', () => receiver.received.some(({ body }) => body.data.recordId === id))
  const countOf = async (status: string): Promise<number> =>
    (await call('GET', `${path}/deliveries/count?status=${status}`)).body.count
  await until('all are delivered', async () => (await countOf('delivering')) + (await countOf('pending')) === 0)
  return receiver.received
    .filter(({ body }) => body.data.recordId !== id)
    .map(({ body }) => [body.type, body.data.object?.name ?? ''])
}

test('only the types that were asked for are sent', async () => {
  const { call, path } = hooked
  await patch(path, { events: ['contact.created', 'contact.deleted'] })
  const { id } = await newContact(call, { name: 'Ada' })
  await patch(`/v5/contacts/${id}`, { name: 'Ada Byron' })
  await call('DELETE', `/v5/contacts/${id}`)
  await call('POST', `/v5/contacts/${id}/restore`)
  const sent = await sendLast()
  expect(sent.map(([type]) => type).sort()).toEqual(['contact.created', 'contact.deleted'])
})

test('a filter decides by the record after the change, also by related records and custom properties', async () => {
  const { call, path } = hooked
  const company = await created(call, '/v5/companies', { name: 'Engines' })
  await created(call, '/v5/properties', { resource: 'contacts', key: 'plan', label: 'Plan', type: 'text' })
  const filter = {
    or: [
      { tags: { has: 'vip' } },
      { 'company.name': { equals: 'Engines' } },
      { 'customProperties.plan': { equals: 'pro' } },
      { createdAt: { gt: { last: { days: 1 } } }, name: { startsWith: 'New' } },
    ],
  }
  await patch(path, { filter })
  await newContact(call, { name: 'Nobody' })
  const later = await newContact(call, { name: 'Later' })
  await newContact(call, { name: 'Vip', tags: ['vip'] })
  await newContact(call, { name: 'Engineer', companyId: company.id })
  await newContact(call, { name: 'Pro', customProperties: { plan: 'pro' } })
  await until('the first ones arrive', () => hooked.receiver.received.length === 3)
  await patch(`/v5/contacts/${later.id}`, { tags: ['vip'] })
  const sent = await sendLast()
  expect(sent.sort()).toEqual([
    ['contact.created', 'Engineer'],
    ['contact.created', 'Pro'],
    ['contact.created', 'Vip'],
    ['contact.updated', 'Later'],
  ])
})

test('with a filter, records that are gone are reported all the same, without values', async () => {
  const { call, path, receiver } = hooked
  await patch(path, { filter: { tags: { has: 'vip' } } })
  const { id } = await newContact(call, { name: 'Vip', tags: ['vip'] })
  await receiver.count(1)
  expect((await call('POST', `/v5/contacts/${id}/erase`)).status).toBe(204)
  await sendLast()
  const gone = receiver.received.filter(({ body }) => body.type === 'contact.erased')
  expect(gone.map(({ body }) => body.data)).toMatchObject([{ recordId: id, values: null, changes: [], object: null }])
})

test('an update is sent only if it changed one of the fields, and other events are sent anyway', async () => {
  const { call, path } = hooked
  await patch(path, { changedFields: ['email', 'customProperties.plan'] })
  const { id } = await newContact(call, { name: 'Ada' })
  const contact = `/v5/contacts/${id}`
  await patch(contact, { tags: ['one'] })
  await patch(contact, { email: 'ada@example.com' })
  await patch(contact, { customProperties: { other: 1 } })
  await patch(contact, { customProperties: { plan: 'pro' } })
  await sendLast()
  const ofContact = hooked.receiver.received.filter(({ body }) => body.data.recordId === id)
  const changes = ofContact.map(({ body }) => body.data.changes.map(({ field }: Json) => field).join())
  expect(changes.sort()).toEqual(['', 'customProperties.plan', 'email'])
})

test('the events of a record come in their order, one after another, if that is asked for', async () => {
  const { call, receiver, path } = hooked
  await patch(path, { ordered: true })
  const seen: [string, number][] = []
  let isFirst = true
  receiver.answer = (response, { body }) => {
    seen.push([body.data.recordId, body.data.revision])
    const status = isFirst ? 500 : 204
    isFirst = false
    setTimeout(() => response.writeHead(status).end(), 30)
  }
  const contacts = [await newContact(call), await newContact(call)]
  for (let revision = 2; revision <= 6; revision++)
    for (const { id } of contacts) await patch(`/v5/contacts/${id}`, { name: `Name ${revision}` })
  await until('the other contact is done', () => seen.length >= 7)
  const [[failed] = ['']] = seen
  expect(seen.filter(([id]) => id === failed).length).toBe(1)
  await pass(service, hour)
  const revisionsOf = (id: string) => seen.filter(([other]) => other === id).map(([, revision]) => revision)
  await until('all arrive', () => contacts.every(({ id }) => revisionsOf(id).at(-1) === 6))
  expect(revisionsOf(String(failed)).filter((revision) => revision === 1)).toHaveLength(2)
  // One can arrive twice, but none before an earlier one.
  for (const { id } of contacts)
    expect(revisionsOf(id).filter((revision, index, all) => revision !== all[index - 1])).toEqual([1, 2, 3, 4, 5, 6])
})

test('a webhook shows what its scopes list, and no personal view of anyone', async () => {
  const { call, receiver } = hooked
  const views = { events: ['view.*'], scopes: ['view:list:read'] }
  const { secret } = await newWebhook(call, receiver, views)
  await created(call, '/v5/views', { name: 'Mine', resource: 'contacts' })
  await created(call, '/v5/views', { name: 'Shared', resource: 'contacts', isShared: true })
  await receiver.count(1)
  await sendLast()
  const sent = receiver.received.filter(({ body }) => body.type.startsWith('view'))
  expect(sent.map(({ body }) => body.data.object.name)).toEqual(['Shared'])
  for (const one of sent) verify(secret, one)
})

test('secrets overlap while they are rotated, and the previous one ends', async () => {
  const { call, receiver, path, secret: first } = hooked
  const rotated = await call('POST', `${path}/rotate`, { body: { overlapSeconds: hour } })
  expect(rotated.status, rotated.text).toBe(200)
  const second = rotated.body.secret
  expect(second).not.toBe(first)
  expect(Date.parse(rotated.body.previousSecretExpiresAt) / 1000).toBeCloseTo(Date.now() / 1000 + hour, -2)
  const last = async () => {
    const before = receiver.received.length
    await newContact(call)
    return (await receiver.count(before + 1)).at(-1)!
  }
  const both = await last()
  for (const secret of [first, second]) verify(secret, both)
  await pass(service, hour + 1)
  const one = await last()
  verify(second, one)
  expect(() => verify(first, one)).toThrow('signature')
  const { body: third } = await call('POST', `${path}/rotate`, { body: { overlapSeconds: 0 } })
  expect(third.previousSecretExpiresAt).toBeNull()
  const only = await last()
  verify(third.secret, only)
  expect(() => verify(second, only)).toThrow('signature')
})

test('an event is sent again with the same id: one, those that match, and all since a time', async () => {
  const { call, receiver, path } = hooked
  receiver.answer = answerWith(410)
  await newContact(call, { name: 'One' })
  await until('the webhook is disabled', async () => (await call('GET', path)).body.status === 'disabled')
  receiver.answer = answerWith(204)
  await patch(path, { status: 'enabled', events: ['contact.created'] })
  for (const name of ['Two', 'Three']) await newContact(call, { name })
  await receiver.count(3)
  const isDone = async (count: number) =>
    (await call('GET', `${path}/deliveries/count?status=delivered`)).body.count === count
  await until('two are delivered', () => isDone(2))

  const dry = await call('POST', `${path}/deliveries/replay?status=failed&dryRun=true`)
  expect(dry.body).toEqual({ dryRun: true, count: 1, hasMore: false })
  const replayed = await call('POST', `${path}/deliveries/replay?status=failed`)
  expect(replayed.body).toEqual({ dryRun: false, count: 1, hasMore: false })
  await receiver.count(4)
  await until('three are delivered', () => isDone(3))
  expect(receiver.received[3]?.id).toBe(receiver.received[0]?.id)

  const [newest] = (await call('GET', `${path}/deliveries?limit=1`)).body
  const again = await call('POST', `${path}/deliveries/${newest.id}/replay`)
  expect(again).toMatchObject({ status: 200, body: { status: 'pending', attemptCount: 1 } })
  await receiver.count(5)
  expect(receiver.received[4]?.id).toBe(newest.eventId)

  // Also what it did not send before, because it had other settings.
  await call('DELETE', `/v5/contacts/${newest.recordId}`)
  await newContact(call, { name: 'Four' })
  await receiver.count(6)
  await until('four are delivered', () => isDone(4))
  await patch(path, { events: ['contact.*'] })
  const body = { since: new Date(Date.now() - hour * 1000).toISOString() }
  const counted = await call('POST', `${path}/replay?dryRun=true`, { body })
  expect(counted.body).toMatchObject({ url: receiver.url, dryRun: true, eventCount: 5, isEstimate: false })
  const since = await call('POST', `${path}/replay`, { body })
  expect(since, since.text).toMatchObject({ status: 200, body: { dryRun: false, eventCount: 5, isEstimate: false } })
  await receiver.count(11)
  const types = receiver.received.slice(6).map(({ body }) => body.type)
  expect(types.sort()).toEqual([...Array.from({ length: 4 }, () => 'contact.created'), 'contact.deleted'])
  await until('all are delivered', () => isDone(5))
})

test('a test event of any type is sent once, with the latest record', async () => {
  const { call, receiver, path, secret } = hooked
  const contact = await newContact(call)
  await receiver.count(1)
  const sent = await call('POST', `${path}/test`, { body: { type: 'contact.deleted' } })
  expect(sent).toMatchObject({ status: 201, body: { isTest: true, type: 'contact.deleted', recordId: contact.id } })
  const [, received] = await receiver.count(2)
  expect(verify(secret, received!)).toMatchObject({
    type: 'contact.deleted',
    data: { id: sent.body.eventId, isTest: true, object: { id: contact.id } },
  })
  receiver.answer = answerWith(500)
  const failing = await call('POST', `${path}/test`, { body: { type: 'contact.created' } })
  const delivery = `${path}/deliveries/${failing.body.id}`
  await until('it fails', async () => (await call('GET', delivery)).body.status === 'failed')
  expect((await call('POST', `${delivery}/replay`)).status).toBe(423)
  for (const type of ['contact.*', '*', 'contact.eaten', 'deal.created'])
    expect((await call('POST', `${path}/test`, { body: { type } })).body.details).toMatchObject([{ field: 'type' }])
  await patch(path, { status: 'paused' })
  expect((await call('POST', `${path}/test`, { body: { type: 'contact.created' } })).status).toBe(423)
})
