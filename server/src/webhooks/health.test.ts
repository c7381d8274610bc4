import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type MailedService, startMailedService } from '../../test/mailed-service.ts'
import { newOwner, type TestOwner } from '../../test/people.ts'
import { until } from '../../test/processes.ts'
import { newRole, personWith } from '../../test/reach-fixture.ts'
import type { TestService } from '../../test/service.ts'
import {
  created,
  deliveryOf,
  hasStatus,
  newContact,
  newWebhook,
  pass,
  sendAllThatIsDue,
  sendsToLoopback,
} from '../../test/webhook-fixture.ts'
import { answerWith, Receiver } from '../../test/webhook-receiver.ts'
import { sql } from '../platform/model/sql.ts'
import { breakerFailures } from './health.ts'

let mailed: MailedService
let service: TestService
beforeAll(async () => {
  mailed = await startMailedService(sendsToLoopback)
  service = mailed.service
})
afterAll(() => mailed.close())

let owner: TestOwner
let receiver: Receiver
let path: string
beforeEach(async () => {
  owner = await newOwner(service)
  receiver = await new Receiver().open()
  path = `/v5/webhooks/${(await newWebhook(owner.call, receiver)).id}`
})
afterEach(() => receiver.close())

const hour = 3600
const shown = async () => (await owner.call('GET', path)).body
const subjects = () =>
  mailed.receiver
    .mails()
    .filter(({ to }) => to.includes(owner.email))
    .map(({ subject }) => subject)

/** As if so many attempts had failed since then. */
const failedSince = (failures: number, hours: number) =>
  service.database.crossTenantQuery(
    'check the database',
    sql`update webhook_states set failures = ${failures}, failing_since = now() - make_interval(hours => ${hours})
      where webhook_id = ${path.slice(-32)}::uuid`,
  )

const attempts = (count: number) => until(`${count} requests`, () => receiver.received.length >= count)

test('410 disables a webhook at once, and a mail says so', async () => {
  receiver.answer = answerWith(410)
  await newContact(owner.call)
  await until('the webhook is disabled', async () => (await shown()).status === 'disabled')
  expect(await shown()).toMatchObject({ statusReason: 'gone' })
  const delivery = await deliveryOf({ call: owner.call, path }, hasStatus('failed'))
  expect(delivery).toMatchObject({ attemptCount: 1, nextAttemptAt: null })
  await until('the mail arrives', () => subjects().includes('A webhook was disabled'))
  await newContact(owner.call)
  receiver.answer = answerWith(204)
  const enabled = await owner.call('PATCH', path, { body: { status: 'enabled' } })
  expect(enabled.body).toMatchObject({ status: 'enabled', statusReason: null })
  await attempts(2)
  await until('the second mail arrives', () => subjects().includes('A webhook has recovered'))
})

test('after ten failures, one delivery a minute is tried, until one succeeds', async () => {
  receiver.answer = answerWith(500)
  for (let index = 0; index < 30; index++) await newContact(owner.call)
  await attempts(breakerFailures)
  await until('the receiver fails', async () => (await shown()).health.consecutiveFailures >= breakerFailures)
  await until('nothing is in progress', async () => (await count('delivering')) === 0)
  const tried = receiver.received.length
  expect(tried).toBeLessThan(breakerFailures + 4)
  await pass(service, 40)
  await sendAllThatIsDue(owner.call)
  expect(receiver.received.length).toBe(tried)
  await pass(service, 21)
  await attempts(tried + 1)
  await until('nothing is in progress', async () => (await count('delivering')) === 0)
  await sendAllThatIsDue(owner.call)
  expect(receiver.received.length).toBe(tried + 1)
  receiver.answer = answerWith(200)
  await pass(service, 61)
  await until('everything else is sent', async () => (await count('delivered')) >= 30 - tried)
  expect((await shown()).health).toMatchObject({ consecutiveFailures: 0, failingSince: null })
})

const count = async (status: string): Promise<number> =>
  (await owner.call('GET', `${path}/deliveries/count?status=${status}`)).body.count

test('five days of failures disable a webhook; mails come at half time, at the end, and when it has recovered', async () => {
  receiver.answer = answerWith(500)
  await failedSince(18, 61)
  await newContact(owner.call)
  await until('the first mail arrives', () => subjects().includes('A webhook fails'))
  expect((await shown()).status).toBe('enabled')
  await failedSince(40, 119)
  await pass(service, 90)
  await attempts(2)
  expect((await shown()).status).toBe('enabled')
  await failedSince(40, 121)
  await pass(service, hour)
  await until('the webhook is disabled', async () => (await shown()).status === 'disabled')
  expect(await shown()).toMatchObject({ statusReason: 'failing' })
  await until('the second mail arrives', () => subjects().includes('A webhook was disabled'))
  receiver.answer = answerWith(200)
  await owner.call('PATCH', path, { body: { status: 'enabled' } })
  await pass(service, 3 * hour)
  await until('the third mail arrives', () => subjects().includes('A webhook has recovered'))
  expect(subjects().length).toBe(3)
  expect(await shown()).toMatchObject({ health: { consecutiveFailures: 0 } })
})

test('few failures disable nothing, however old the first one is', async () => {
  receiver.answer = answerWith(500)
  await failedSince(2, 1000)
  await newContact(owner.call)
  await deliveryOf({ call: owner.call, path }, hasStatus('retrying'))
  expect((await shown()).status).toBe('enabled')
})

test('a webhook continues when its maker has left, and its mails go to the owners', async () => {
  const admin = await mailed.join(owner.call, 'admin')
  const made = await created(admin.call, '/v5/webhooks', {
    url: receiver.url,
    events: ['company.*'],
    scopes: ['company:list:read'],
  })
  expect(made.createdBy).toBe(admin.userId)
  expect((await owner.call('DELETE', `/v5/members/${admin.userId}`)).status).toBe(204)
  receiver.answer = answerWith(410)
  await created(owner.call, '/v5/companies', { name: 'Engines' })
  await attempts(1)
  await until('the mail arrives', () => subjects().includes('A webhook was disabled'))
})

test('who sees only some of the records creates no webhook, changes none, and sees no delivery', async () => {
  await newContact(owner.call)
  await attempts(1)
  const person = await personWith(mailed, owner, await newRole(owner, 'own'))
  const body = { url: receiver.url, events: ['contact.*'], scopes: ['contact:list:read'] }
  const refused = { status: 403, body: { code: 'insufficient_permissions' } }
  expect(await person.call('POST', '/v5/webhooks', { body })).toMatchObject(refused)
  expect(await person.call('PATCH', path, { body: { url: `${receiver.url}/mine` } })).toMatchObject(refused)
  expect(await person.call('POST', `${path}/test`, { body: { type: 'contact.created' } })).toMatchObject(refused)
  expect((await owner.call('GET', `${path}/deliveries`)).body.length).toBe(1)
  expect((await person.call('GET', `${path}/deliveries`)).body).toEqual([])
  expect((await person.call('GET', `${path}/deliveries/count`)).body).toEqual({ count: 0 })
})
