import { afterAll, beforeAll, expect, test } from 'vitest'
import { choose } from '../../test/inbox-entries.ts'
import { created, entriesOf, newColleague, patched, untilEntries, untilRead } from '../../test/inbox-fixture.ts'
import { type MailedService, startMailedService } from '../../test/mailed-service.ts'
import { newOwner, type TestOwner } from '../../test/people.ts'
import { until } from '../../test/processes.ts'
import { PushService } from '../../test/push-receiver.ts'
import type { Json } from '../../test/service.ts'
import { serviceActor } from '../platform/model/caller.ts'
import { decodeId, newId } from '../platform/model/ids.ts'
import { sql } from '../platform/model/sql.ts'
import { sendDigests } from './digest/digest.ts'
import { addEntries } from './entries-store.ts'
import { removeEntriesOf } from './groups-store.ts'
import { weekDays } from './kinds.ts'

let mailed: MailedService
let pushService: PushService
beforeAll(async () => {
  pushService = await new PushService().open()
  mailed = await startMailedService({ EGRESS_ALLOW: '127.0.0.1', PUBLIC_URL: 'https://crm.example.com' })
})
afterAll(async () => {
  await mailed.close()
  await pushService.close()
})

const uuidOf = (shown: string) => decodeId(shown.slice(0, shown.indexOf('_')), shown) ?? ''
const actorOf = ({ organizationId }: TestOwner) => serviceActor('maintenance', uuidOf(organizationId))

/** An owner, and Anna, who wants to hear of everything in every way. */
async function newPair(): Promise<{ owner: TestOwner; anna: TestOwner }> {
  const owner = await newOwner(mailed.service)
  const anna = await newColleague(mailed.service, owner)
  const reader = { database: mailed.service.database, organizationId: owner.organizationId, userId: anna.userId }
  await choose(reader, ['inbox', 'digest', 'push'], { digestAt: '00:00', digestDays: weekDays })
  return { owner, anna }
}

const storedOf = ({ userId }: TestOwner): Promise<Json[]> =>
  mailed.service.database.crossTenantQuery<Json>(
    'check the database',
    sql`select is_listed, record_id from inbox_entries where user_id = ${uuidOf(userId)}::uuid order by id`,
  )

test('forty deals that somebody hands over are one entry, one line of the digest and one notification', async () => {
  const { owner, anna } = await newPair()
  const { service, receiver } = mailed
  const browser = pushService.newBrowser()
  await anna.call('GET', '/v5/inbox/push-key')
  expect((await anna.call('POST', '/v5/inbox/push-subscriptions', { body: browser.subscription })).status).toBe(201)
  const deals: Json[] = []
  for (let number = 1; number <= 40; number++)
    deals.push(await created(owner.call, '/v5/deals', { name: `Deal ${number}` }))
  const waiting = [...deals]
  // As the application does it: a request for each, four at a time.
  const hand = async () => {
    for (let deal = waiting.shift(); deal; deal = waiting.shift())
      await patched(owner.call, `/v5/deals/${deal.id}`, { ownerId: anna.userId })
  }
  await Promise.all([hand(), hand(), hand(), hand()])
  await untilRead(service, owner)
  const [entry] = await untilEntries(anna, 1)
  expect(entry).toMatchObject({ kind: 'assigned', resource: 'deals', recordCount: 40, authorId: owner.userId })
  expect(deals.map(({ id }) => id)).toContain(entry.recordId)
  expect((await anna.call('GET', '/v5/inbox/counts')).body).toEqual({ unread: 1 })
  expect(new Set((await storedOf(anna)).map((row) => row.record_id)).size).toBe(40)

  const path = `/deals?filter.ownerId.equals=${anna.userId}&view=table`
  const says = '40 deals were assigned to you'
  // It waits until no more follow for a moment. On a busy machine, some may follow later, and replace it.
  await until('the notification names all', () => browser.received.at(-1)?.message.title === says)
  expect(browser.shown).toMatchObject([{ title: says, path }])
  const tomorrow = new Date(Date.now() + 24 * 60 * 60 * 1000)
  const digests = await sendDigests(service.database, uuidOf(owner.organizationId), {
    now: tomorrow,
    defaultLanguage: 'en',
  })
  expect(digests).toBe(1)
  service.wake('mail')
  const mail = await receiver.next(({ to }) => to.includes(anna.email))
  expect(mail.subject).toBe('New in your inbox: 1')
  expect(mail.text).toContain(`${says}:\nhttps://crm.example.com${path}\n`)
  expect(mail.links).toHaveLength(3)
})

test('what others do, what is of another kind, and what follows what is read is another entry', async () => {
  const { owner, anna } = await newPair()
  const ben = await newColleague(mailed.service, owner)
  const assign = (call: TestOwner['call'], title: string) =>
    created(call, '/v5/tasks', { title, assigneeId: anna.userId })
  await assign(owner.call, 'First')
  await assign(ben.call, 'Of Ben')
  await created(owner.call, '/v5/companies', { name: 'Engines', ownerId: anna.userId })
  await untilRead(mailed.service, owner)
  const summary = async () => (await entriesOf(anna)).map(({ title, recordCount }) => [title, recordCount]).toSorted()
  expect(await summary()).toEqual([
    ['Engines', 1],
    ['First', 1],
    ['Of Ben', 1],
  ])
  const first = (await entriesOf(anna)).find(({ title }) => title === 'First')
  await patched(anna.call, `/v5/inbox/${first?.id}`, { read: true })
  await assign(owner.call, 'Second')
  await assign(owner.call, 'Third')
  await untilRead(mailed.service, owner)
  expect(await summary()).toEqual([
    ['Engines', 1],
    ['First', 1],
    ['Of Ben', 1],
    ['Second', 2],
  ])
})

const minutes = 60_000

test('what happens later, or after the digest, is another entry, and the same twice counts once', async () => {
  const { owner, anna } = await newPair()
  const task = await created(owner.call, '/v5/tasks', { title: 'Call Ada' })
  const begun = Date.now() - 5 * minutes
  const add = (milliseconds: number, key: string, recordId = uuidOf(task.id)) =>
    mailed.service.database.transaction(actorOf(owner), (transaction) =>
      addEntries(transaction, [
        {
          ...{ userId: uuidOf(anna.userId), kind: 'assigned', resource: 'tasks', recordId, authorId: null, key },
          at: new Date(begun + milliseconds),
        },
      ]),
    )
  const counts = async () => (await entriesOf(anna)).map(({ recordCount }) => recordCount)
  const other = await created(owner.call, '/v5/tasks', { title: 'Call Grace' })
  expect(await add(0, 'one')).toBe(1)
  expect(await add(9_000, 'two', uuidOf(other.id))).toBe(1)
  // The same record again, and the same event again.
  expect(await add(18_000, 'three')).toBe(1)
  expect(await add(18_000, 'three')).toBe(0)
  expect(await counts()).toEqual([2])
  expect(await add(29_000, 'four')).toBe(1)
  expect(await counts()).toEqual([1, 2])
  const digested = sql`update inbox_entries set digest_pending = false where user_id = ${uuidOf(anna.userId)}::uuid`
  await mailed.service.database.crossTenantQuery('check the database', digested)
  expect(await add(30_000, 'five')).toBe(1)
  expect(await counts()).toEqual([1, 1, 2])
})

test('an entry continues with the other records when its own is purged', async () => {
  const { owner, anna } = await newPair()
  const tasks: Json[] = []
  for (const title of ['One', 'Two', 'Three'])
    tasks.push(await created(owner.call, '/v5/tasks', { title, assigneeId: anna.userId }))
  await untilRead(mailed.service, owner)
  const remove = (purged: readonly Json[]) =>
    mailed.service.database.transaction(actorOf(owner), (transaction) =>
      removeEntriesOf(transaction, [...purged.map(({ id }) => uuidOf(id)), newId()]),
    )
  const [entry] = await untilEntries(anna, 1)
  expect(entry).toMatchObject({ title: 'One', recordCount: 3 })
  await remove(tasks.slice(0, 1))
  expect(await entriesOf(anna)).toMatchObject([{ id: entry.id, title: 'Two', recordCount: 2 }])
  await remove(tasks.slice(2))
  expect(await entriesOf(anna)).toMatchObject([{ id: entry.id, title: 'Two', recordCount: 1 }])
  await remove(tasks)
  await until('nothing is left', async () => (await storedOf(anna)).length === 0)
})

test('what joins a group after its notification is announced by one that replaces it', async () => {
  const { owner, anna } = await newPair()
  const browser = pushService.newBrowser()
  await anna.call('GET', '/v5/inbox/push-key')
  await anna.call('POST', '/v5/inbox/push-subscriptions', { body: browser.subscription })
  const assign = async (name: string) => {
    const deal = await created(owner.call, '/v5/deals', { name })
    await patched(owner.call, `/v5/deals/${deal.id}`, { ownerId: anna.userId })
    await untilRead(mailed.service, owner)
  }
  await assign('Engine')
  const [first] = await browser.count(1)
  // As if it had followed at once: the notification may have taken longer than a group waits.
  const move = sql`update inbox_entries set grouped_at = now() where user_id = ${uuidOf(anna.userId)}::uuid`
  await mailed.service.database.crossTenantQuery('check the database', move)
  await assign('Boat')
  const [, second] = await browser.count(2)
  expect([first?.message.title, second?.message.title]).toEqual([
    expect.stringContaining('Engine'),
    '2 deals were assigned to you',
  ])
  expect(second?.message.tag).toBe(first?.message.tag)
})

test('an entry that is read while others arrive gets none of them', async () => {
  const { owner, anna } = await newPair()
  const { service } = mailed
  const [one, other] = [
    await created(owner.call, '/v5/deals', { name: 'A' }),
    await created(owner.call, '/v5/deals', { name: 'B' }),
  ]
  await patched(owner.call, `/v5/deals/${one.id}`, { ownerId: anna.userId })
  await untilRead(service, owner)
  const [entry] = await untilEntries(anna, 1)
  await service.database.crossTenantTransaction('check the database', async (db) => {
    await db.query(sql`update inbox_entries set read = true where id = ${uuidOf(entry.id)}::uuid`)
    await patched(owner.call, `/v5/deals/${other.id}`, { ownerId: anna.userId })
    await until('the notifier waits for the entry', async () => {
      const waiting = sql`select 1 as found from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%grouped_at%'`
      return (await service.database.crossTenantQuery('check the database', waiting)).length > 0
    })
  })
  await untilRead(service, owner)
  const entries = await untilEntries(anna, 2)
  expect(entries.map(({ recordCount }: Json) => recordCount)).toEqual([1, 1])
  expect((await anna.call('GET', '/v5/inbox/counts')).body).toEqual({ unread: 1 })
})
