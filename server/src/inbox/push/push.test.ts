import { afterAll, beforeAll, expect, test } from 'vitest'
import { addEntry, choose, newTask, type Reader } from '../../../test/inbox-entries.ts'
import { loggedIn, newOwner, type TestOwner } from '../../../test/people.ts'
import { until } from '../../../test/processes.ts'
import { answerWith, type PushBrowser, PushService } from '../../../test/push-receiver.ts'
import { startTestService, type Call, type Json, type TestService } from '../../../test/service.ts'
import { sql } from '../../platform/model/sql.ts'

let pushService: PushService
let service: TestService
beforeAll(async () => {
  pushService = await new PushService().open()
  service = await startTestService({ EGRESS_ALLOW: '127.0.0.1', MAIL_FROM: 'Rapport <crm@example.com>' })
})
afterAll(async () => {
  await service.close()
  await pushService.close()
  expect(pushService.errors).toEqual([])
})

const path = '/v5/inbox/push-subscriptions'

async function subscribe(call: Call, body: object = {}): Promise<PushBrowser> {
  const browser = pushService.newBrowser()
  await call('GET', '/v5/inbox/push-key')
  const added = await call('POST', path, { body: { ...browser.subscription, ...body } })
  expect(added.status, added.text).toBe(201)
  return browser
}

interface Notified extends TestOwner {
  reader: Reader
}

async function newNotified(): Promise<Notified> {
  const owner = await newOwner(service)
  const { organizationId, userId } = owner
  const reader = { database: service.database, organizationId, userId }
  await choose(reader, ['inbox', 'push'])
  return { ...owner, reader }
}

const countOf = async (table: 'push_messages' | 'push_subscriptions', { userId }: TestOwner): Promise<number> => {
  const uuid = userId.slice(4)
  const condition =
    table === 'push_subscriptions'
      ? sql`select id from push_subscriptions where user_id = ${uuid}::uuid`
      : sql`select push_messages.id from push_messages join push_subscriptions
          on push_subscriptions.id = subscription_id where user_id = ${uuid}::uuid`
  return (await service.database.crossTenantQuery('check the database', condition)).length
}
const untilSent = (owner: TestOwner) =>
  until('nothing waits to be sent', async () => (await countOf('push_messages', owner)) === 0)

/** What is to be sent again is sent now. */
const hurry = () =>
  service.database.crossTenantQuery(
    'check the database',
    sql`update push_messages set run_at = now() where lease is null`,
  )

test('an entry reaches each browser of its person, encrypted, in the language of the browser without another choice, and nobody else', async () => {
  const owner = await newNotified()
  const german = await loggedIn(service, owner.email, owner.password)
  const browsers = [await subscribe(owner.call), await subscribe(german.call, { language: 'de' })]
  const another = await newNotified()
  const foreign = await subscribe(another.call)
  const task = await newTask(owner.call)
  await addEntry(owner.reader, task)
  const [english, translated] = await Promise.all(browsers.map(async (browser) => (await browser.count(1))[0]))
  expect(english?.message).toEqual({
    title: 'Call Ada',
    body: 'Assigned to you',
    language: 'en',
    path: `/tasks/${task.id}`,
    tag: expect.stringMatching(/^[0-9a-f]{32}$/),
  })
  expect(translated?.message).toMatchObject({ body: 'Wurde Ihnen zugewiesen', language: 'de' })
  expect(english?.headers).toMatchObject({
    'content-encoding': 'aes128gcm',
    ttl: '86400',
    topic: english?.message.tag,
    urgency: 'normal',
  })
  expect(english?.claims.sub).toBe('mailto:crm@example.com')
  const { publicKey } = (await owner.call('GET', '/v5/inbox/push-key')).body
  expect([...pushService.keys]).toEqual([publicKey])
  await untilSent(owner)
  const [, { lastSuccessAt }] = (await owner.call('GET', path)).body
  expect(Date.parse(lastSuccessAt)).not.toBeNaN()
  expect(foreign.received).toEqual([])
})

test('the language that a person has chosen is that of their notifications in all browsers', async () => {
  const owner = await newNotified()
  expect((await owner.call('PATCH', '/v5/me', { body: { language: 'de' } })).status).toBe(200)
  const browser = await subscribe(owner.call, { language: 'en' })
  await addEntry(owner.reader, await newTask(owner.call))
  expect((await browser.count(1))[0]?.message).toMatchObject({ body: 'Wurde Ihnen zugewiesen', language: 'de' })
})

test('what is read, gone, or not to be notified is not sent', async () => {
  const owner = await newNotified()
  const browser = await subscribe(owner.call)
  const [read, deleted, silent, last] = await Promise.all(
    ['Read', 'Deleted', 'Silent', 'Last'].map((title) => newTask(owner.call, { title })),
  )
  browser.answers.push(answerWith(503))
  await addEntry(owner.reader, read)
  await browser.count(1)
  // The first message waits for another attempt, and so do the others.
  await until('it waits', async () => (await countOf('push_messages', owner)) === 1)
  await addEntry(owner.reader, deleted)
  await choose(owner.reader, ['inbox'])
  await addEntry(owner.reader, silent)
  await choose(owner.reader, ['inbox', 'push'])
  await addEntry(owner.reader, last)
  await owner.call('DELETE', `/v5/tasks/${deleted.id}`)
  const readEntry = sql`update inbox_entries set read = true where record_id = ${read.id.slice(4)}::uuid`
  await service.database.crossTenantQuery('check the database', readEntry)
  await hurry()
  await until('the last one arrives', async () => (await hurry()) && browser.received.at(-1)?.message.title === 'Last')
  expect(browser.received.map(({ message }) => message.title)).toEqual(['Read', 'Last'])
  await untilSent(owner)
})

test.each([404, 410])('a browser that the push service does not know (%d) is removed', async (status) => {
  const owner = await newNotified()
  const browser = await subscribe(owner.call)
  browser.answers.push(answerWith(status))
  await addEntry(owner.reader, await newTask(owner.call))
  await browser.count(1)
  await until('it is removed', async () => (await countOf('push_subscriptions', owner)) === 0)
  expect((await owner.call('GET', path)).body).toEqual([])
})

test.each([429, 500, 503])('after %d, a message is sent again, and the browser shows it once', async (status) => {
  const owner = await newNotified()
  const browser = await subscribe(owner.call)
  browser.answers.push(answerWith(status, { 'retry-after': '3600' }))
  await addEntry(owner.reader, await newTask(owner.call))
  await browser.count(1)
  const waits = sql`select from push_messages where lease is null and run_at > now() + interval '59 minutes'`
  await until(
    'it waits as long as asked',
    async () => (await service.database.crossTenantQuery('check the database', waits)).length === 1,
  )
  await hurry()
  await browser.count(2)
  await untilSent(owner)
  expect(browser.shown).toHaveLength(1)
})

test('a message that the push service refuses is not sent again, and the browser stays', async () => {
  const owner = await newNotified()
  const browser = await subscribe(owner.call)
  browser.answers.push(answerWith(413))
  await addEntry(owner.reader, await newTask(owner.call))
  await browser.count(1)
  await untilSent(owner)
  expect(await countOf('push_subscriptions', owner)).toBe(1)
  expect(service.logged.join('\n')).toContain('the push service answered with status 413')
})

test('nothing reaches a browser whose session has ended, or a member who was removed', async () => {
  const owner = await newNotified()
  const other = await loggedIn(service, owner.email, owner.password)
  const ended = await subscribe(other.call)
  const kept = await subscribe(owner.call)
  const { body: sessions } = await other.call('GET', '/v5/me/sessions')
  const { id } = sessions.find(({ isCurrent }: Json) => isCurrent)
  expect((await owner.call('DELETE', `/v5/me/sessions/${id}`)).status).toBe(204)
  await addEntry(owner.reader, await newTask(owner.call))
  await kept.count(1)
  await untilSent(owner)
  expect(ended.received).toEqual([])
  // A message waits when the person leaves.
  kept.answers.push(answerWith(503))
  await addEntry(owner.reader, await newTask(owner.call))
  await kept.count(2)
  const remove = sql`delete from members where user_id = ${owner.userId.slice(4)}::uuid`
  await service.database.crossTenantQuery('check the database', remove)
  await until('the message is given up', async () => (await hurry()) && (await countOf('push_messages', owner)) === 0)
  expect(kept.received).toHaveLength(2)
})

test('an internal address gets no request, unless the operator allows it', async () => {
  const owner = await newNotified()
  const endpoint = pushService.origin.replace('http:', 'https:').replace('127.0.0.1', '127.0.0.2')
  await subscribe(owner.call, { endpoint })
  await addEntry(owner.reader, await newTask(owner.call))
  const tried = sql`select from push_messages where lease is null and attempts = 1 and run_at > now()`
  await until(
    'an attempt fails',
    async () => (await service.database.crossTenantQuery('check the database', tried)).length > 0,
  )
})
