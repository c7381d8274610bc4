import { afterAll, beforeAll, expect, test } from 'vitest'
import { addEntry, choose, newTask, type Reader } from '../../../test/inbox-entries.ts'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import { newOwner, type TestOwner } from '../../../test/people.ts'
import { sql } from '../../platform/model/sql.ts'
import type { WeekDay } from '../kinds.ts'
import { weekDays } from '../kinds.ts'
import { sendDigests } from './digest.ts'

let mailed: MailedService
beforeAll(async () => {
  mailed = await startMailedService()
})
afterAll(() => mailed.close())

interface Digested extends TestOwner {
  reader: Reader
  /** Mails what is due at this time. Resolves to how many mails that were. */
  pass(time: string): Promise<number>
}

/** A person in Berlin who wants a digest of everything, at eight. */
async function newDigested(digestDays: readonly WeekDay[] = weekDays): Promise<Digested> {
  const owner = await newOwner(mailed.service)
  const { database } = mailed.service
  await owner.call('PATCH', '/v5/me', { body: { timeZone: 'Europe/Berlin' } })
  const reader = { database, organizationId: owner.organizationId, userId: owner.userId }
  // So that the service itself, whose clock is right, sends nothing.
  await choose(reader, ['inbox', 'digest'], { digestAt: '08:00', digestDays })
  const organization = owner.organizationId.slice(4)
  const pass = async (time: string) => {
    const count = await sendDigests(database, organization, { now: new Date(time), defaultLanguage: 'en' })
    mailed.service.wake('mail')
    return count
  }
  return { ...owner, reader, pass }
}

/** As if it had been added then. */
async function addAt({ reader }: Digested, task: { id: string }, time: string): Promise<void> {
  await addEntry(reader, task)
  const move = sql`update inbox_entries set created_at = ${new Date(time)}
    where record_id = ${task.id.slice(4)}::uuid and digest_pending`
  await reader.database.crossTenantQuery('check the database', move)
}

const nextTo = ({ email }: TestOwner) => mailed.receiver.next(({ to }) => to.includes(email))

test('what is new is in one mail a day, at the time of the person, with links and what to change', async () => {
  const owner = await newDigested()
  const [first, second, later] = await Promise.all(
    ['Call Ada', 'Write to Grace', 'Meet Alan'].map((title) => newTask(owner.call, { title })),
  )
  await addAt(owner, first, '2099-06-09T10:00:00Z')
  await addAt(owner, second, '2099-06-10T05:59:00Z')
  await addAt(owner, later, '2099-06-10T06:01:00Z')
  expect(await owner.pass('2099-06-10T05:59:59Z')).toBe(0)
  expect(await owner.pass('2099-06-10T06:02:00Z')).toBe(1)
  const mail = await nextTo(owner)
  expect(mail.subject).toBe('New in your inbox: 2')
  expect(mail.text).toContain('Assigned to you: Call Ada')
  expect(mail.text).toContain('Assigned to you: Write to Grace')
  expect(mail.text).not.toContain('Meet Alan')
  expect(mail.text).toContain('Choose what is mailed to you, and when')
  const { url } = mailed.service
  expect(mail.links).toEqual([
    `${url}/tasks/${second.id}`,
    `${url}/tasks/${first.id}`,
    `${url}/inbox`,
    `${url}/inbox/settings`,
  ])
  expect(await owner.pass('2099-06-10T20:00:00Z')).toBe(0)
  expect(await owner.pass('2099-06-11T06:00:00Z')).toBe(1)
  expect((await nextTo(owner)).text).toContain('Meet Alan')
  expect(await owner.pass('2099-06-12T06:00:00Z')).toBe(0)
})

test('it is in the language of the person', async () => {
  const owner = await newDigested()
  await owner.call('PATCH', '/v5/me', { body: { language: 'de' } })
  await addAt(owner, await newTask(owner.call, { title: 'Ada anrufen' }), '2099-06-09T10:00:00Z')
  expect(await owner.pass('2099-06-10T06:00:00Z')).toBe(1)
  const mail = await nextTo(owner)
  expect(mail.subject).toBe('Neu in Ihrem Eingang: 1')
  expect(mail.headers.get('content-language')).toBe('de')
  expect(mail.text).toContain('Wurde Ihnen zugewiesen: Ada anrufen')
})

test('the titles leave the database with the mail', async () => {
  const owner = await newDigested()
  await addAt(owner, await newTask(owner.call, { title: 'Call Charles' }), '2099-06-09T10:00:00Z')
  expect(await owner.pass('2099-06-10T06:00:00Z')).toBe(1)
  await nextTo(owner)
  const stored = sql`select facts from mails where kind = 'digest' and status = 'sent'
    and recipient = ${owner.email} and facts::text not like '%Charles%'`
  await expect
    .poll(async () => (await mailed.service.database.crossTenantQuery('check the database', stored)).length)
    .toBe(1)
})

test('the clocks are set forward and back, and each day has one digest at eight', async () => {
  const owner = await newDigested()
  const sent: string[] = []
  for (const [day, utc] of [
    ['2099-03-28', '07:00'],
    ['2099-03-29', '06:00'],
    ['2099-10-24', '06:00'],
    ['2099-10-25', '07:00'],
  ]) {
    await addAt(owner, await newTask(owner.call, { title: `Of ${day}` }), `${day}T01:00:00Z`)
    for (let minute = 0; minute < 24 * 60; minute += 30) {
      const time = new Date(Date.parse(`${day}T00:00:00Z`) + minute * 60_000).toISOString()
      if ((await owner.pass(time)) > 0) sent.push(time.slice(0, 16))
    }
    expect(sent.at(-1)).toBe(`${day}T${utc}`)
    expect((await nextTo(owner)).text).toContain(`Of ${day}`)
  }
  expect(sent).toHaveLength(4)
})

test('nothing is mailed about what is read, gone, or not to be mailed, nor on other days', async () => {
  const owner = await newDigested(['wednesday'])
  const [read, gone, silent] = await Promise.all([1, 2, 3].map(() => newTask(owner.call)))
  await addAt(owner, read, '2099-06-09T10:00:00Z')
  await addAt(owner, gone, '2099-06-09T10:00:00Z')
  await choose(owner.reader, ['inbox'])
  await addAt(owner, silent, '2099-06-09T10:00:00Z')
  await choose(owner.reader, ['inbox', 'digest'])
  await owner.call('DELETE', `/v5/tasks/${gone.id}`)
  const readEntry = sql`update inbox_entries set read = true where record_id = ${read.id.slice(4)}::uuid`
  await owner.reader.database.crossTenantQuery('check the database', readEntry)
  for (const day of ['10', '11', '12', '17']) expect(await owner.pass(`2099-06-${day}T06:00:00Z`), day).toBe(0)
  await addAt(owner, await newTask(owner.call), '2099-06-18T10:00:00Z')
  // 24 June 2099 is a Wednesday.
  for (const day of ['19', '20', '21', '22', '23']) expect(await owner.pass(`2099-06-${day}T06:00:00Z`), day).toBe(0)
  expect(await owner.pass('2099-06-24T06:00:00Z')).toBe(1)
})

test('of a person who chose another time after the mail of a day, the next one is on the next day', async () => {
  const owner = await newDigested()
  await addAt(owner, await newTask(owner.call), '2099-06-10T05:00:00Z')
  expect(await owner.pass('2099-06-10T06:00:00Z')).toBe(1)
  await addAt(owner, await newTask(owner.call), '2099-06-10T07:00:00Z')
  await choose(owner.reader, ['inbox', 'digest'], { digestAt: '12:00' })
  expect(await owner.pass('2099-06-10T11:00:00Z')).toBe(0)
  expect(await owner.pass('2099-06-11T10:00:00Z')).toBe(1)
})

test('a long digest names the newest entries, and says how many others there are', async () => {
  const owner = await newDigested()
  for (let number = 0; number < 33; number++)
    await addAt(owner, await newTask(owner.call, { title: `Task ${number}.` }), '2099-06-10T05:00:00Z')
  expect(await owner.pass('2099-06-10T06:00:00Z')).toBe(1)
  const { text, subject, links } = await nextTo(owner)
  expect([subject, links.length]).toEqual(['New in your inbox: 33', 32])
  expect(text).toContain('There are 3 more in your inbox.')
  expect(text).toContain('Task 32.')
  expect(text).not.toContain('Task 2.')
})
