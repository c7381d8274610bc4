import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { newOwner } from '../../../test/people.ts'
import { until } from '../../../test/processes.ts'
import { type Call, type Json, startTestService, type TestService, withoutBackground } from '../../../test/service.ts'
import { addEntries } from '../../inbox/entries-store.ts'
import { decodeId, encodeId, newId } from '../../platform/model/ids.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'
import { type AddNotices, noticeQueue, sendNotices } from './reminders-store.ts'

/** Sends only when a test asks for it. */
let service: TestService
let call: Call
let userId: string
let organizationId: string
beforeAll(async () => {
  service = await startTestService(withoutBackground)
})
beforeEach(async () => {
  const owner = await newOwner(service)
  ;({ call, userId } = owner)
  organizationId = decodeId('org', owner.organizationId) ?? ''
})
afterAll(() => service.close())

const minute = 60_000
const inMinutes = (minutes: number) => new Date(Date.now() + minutes * minute).toISOString()

async function send(method: string, path: string, body?: object): Promise<Json> {
  const answer = await call(method, path, body && { body })
  expect(answer.status, answer.text).toBeLessThan(300)
  return answer.body
}

const create = (body: object): Promise<Json> => send('POST', '/v5/tasks', { title: 'Call', ...body })
const change = (task: Json, body: object): Promise<Json> => send('PATCH', `/v5/tasks/${task.id}`, body)

/** Moves all that is still to be sent into the past: the stored times move instead of the clock. */
async function pass(minutes: number): Promise<void> {
  const run = <Row extends object>(statement: Sql) =>
    service.database.crossTenantQuery<Row>('check the database', statement)
  const shift = sql`make_interval(mins => ${minutes})`
  const tasks = await run<{ id: string; reminderAt: string | null; deadline: string | null }>(sql`
    select id, (unsent_reminder_at - ${shift})::text as "reminderAt", (unsent_deadline_at - ${shift})::text as deadline
    from tasks where organization_id = ${organizationId}::uuid`)
  for (const { id, reminderAt, deadline } of tasks)
    await run(sql`
      update tasks set unsent_reminder_at = ${reminderAt}::timestamptz, unsent_deadline_at = ${deadline}::timestamptz
      where organization_id = ${organizationId}::uuid and id = ${id}::uuid`)
}

const sendAll = (add: AddNotices = addEntries) => sendNotices(service.database, organizationId, add)

/** The kinds of entries for each task, in any order. */
async function entries(): Promise<string[]> {
  const rows = await service.database.crossTenantQuery<{ kind: string; recordId: string; userId: string }>(
    'check the database',
    sql`select kind, record_id as "recordId", user_id as "userId" from inbox_entries
      where organization_id = ${organizationId}::uuid order by created_at, kind`,
  )
  return rows.map((row) => `${row.kind} ${encodeId('tsk', row.recordId)} ${encodeId('usr', row.userId)}`)
}

const mails = async (): Promise<number> => {
  const rows = await service.database.crossTenantQuery(
    'check the database',
    sql`select from mails where organization_id = ${organizationId}::uuid and kind = 'reminder'`,
  )
  return rows.length
}

async function newMember(): Promise<string> {
  const id = newId()
  await service.database.crossTenantQuery(
    'check the database',
    sql`with added as (insert into users (id, email, email_key, name) values (${id}, ${id}, ${id}, 'Grace') returning id)
    insert into members (organization_id, user_id, role) select ${organizationId}::uuid, id, 'member' from added`,
  )
  return encodeId('usr', id)
}

test('a reminder and a deadline reach the assignee once each, and the reminder also by mail', async () => {
  const task = await create({ dueAt: inMinutes(60), remindBefore: 30 })
  expect(await sendAll()).toBe(0)
  expect(await noticeQueue.findOrganization(service.database, organizationId.replace(/.$/, '0'))).not.toBe(
    organizationId,
  )
  expect(await noticeQueue.secondsUntilDue(service.database, organizationId)).toBeGreaterThan(29 * 60)
  await pass(30)
  expect(await noticeQueue.secondsUntilDue(service.database, organizationId)).toBeLessThanOrEqual(0)
  expect(await sendAll()).toBe(1)
  expect(await entries()).toEqual([`reminder ${task.id} ${userId}`])
  expect([await sendAll(), await mails()]).toEqual([0, 1])
  await pass(30)
  expect(await sendAll()).toBe(1)
  expect(await entries()).toEqual([`reminder ${task.id} ${userId}`, `taskDue ${task.id} ${userId}`])
  expect([await sendAll(), await mails()]).toEqual([0, 1])
  expect(await noticeQueue.secondsUntilDue(service.database, organizationId)).toBeUndefined()
  // It changes nothing that callers see.
  expect(await send('GET', `/v5/tasks/${task.id}`)).toEqual(task)
})

test('after a long outage there is one late reminder, and many who look for it find it once', async () => {
  await create({ remindAt: inMinutes(1) })
  await pass(60 * 24 * 30)
  const counts = await Promise.all(Array.from({ length: 8 }, () => sendAll()))
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1)
  expect(await entries()).toHaveLength(1)
})

test('what cannot be stored is sent later', async () => {
  await create({ remindAt: inMinutes(1) })
  await pass(1)
  const failing: AddNotices = async (transaction, notices) => {
    await addEntries(transaction, notices)
    throw new Error('the database is away')
  }
  await expect(sendAll(failing)).rejects.toThrow('the database is away')
  expect(await entries()).toEqual([])
  expect([await sendAll(), (await entries()).length]).toEqual([1, 1])
})

test('another time or another assignee is reported again, and the same one is not', async () => {
  const task = await create({ remindAt: inMinutes(10) })
  await change(task, { title: 'Call Ada', priority: 'high' })
  await pass(10)
  await sendAll()
  await change(task, { title: 'Call Grace', dueDate: '2036-01-01' })
  expect(await sendAll()).toBe(0)
  await change(task, { remindAt: inMinutes(20) })
  await pass(20)
  await sendAll()
  const colleague = await newMember()
  await change(task, { remindAt: inMinutes(30) })
  await change(task, { assigneeId: colleague })
  await pass(30)
  await sendAll()
  const own = `reminder ${task.id} ${userId}`
  expect(await entries()).toEqual([own, own, `reminder ${task.id} ${colleague}`])
})

test('an earlier time and what has passed when it is set are not sent', async () => {
  const late = await create({ dueAt: inMinutes(-10), remindBefore: 5 })
  await change(late, { dueAt: inMinutes(-20) })
  await create({ remindAt: inMinutes(-1) })
  expect(await noticeQueue.secondsUntilDue(service.database, organizationId)).toBeUndefined()
  expect(await sendAll()).toBe(0)
})

test('a task that is done, deleted, nobody’s or on a deleted record sends nothing', async () => {
  const contact = await send('POST', '/v5/contacts', { name: 'Ada' })
  const remindAt = inMinutes(10)
  const [done, deleted, , , open] = [
    await create({ remindAt }),
    await create({ remindAt }),
    await create({ remindAt, assigneeId: null }),
    await create({ remindAt, contactId: contact.id }),
    await create({ remindAt, title: 'Open again' }),
  ]
  await change(done, { done: true })
  await send('DELETE', `/v5/tasks/${deleted.id}`)
  await send('DELETE', `/v5/contacts/${contact.id}`)
  await change(open, { done: true })
  await change(open, { done: false })
  await pass(10)
  await sendAll()
  expect(await entries()).toEqual([`reminder ${open.id} ${userId}`])
  await change(done, { done: false })
  expect(await sendAll()).toBe(0)
})

test('a member who has left gets nothing', async () => {
  const colleague = await newMember()
  await create({ remindAt: inMinutes(10), assigneeId: colleague })
  await service.database.crossTenantQuery(
    'check the database',
    sql`delete from members where user_id = ${decodeId('usr', colleague)}::uuid`,
  )
  await pass(10)
  expect([await sendAll(), await entries()]).toEqual([1, []])
})

test('the service sends reminders by itself', async () => {
  const working = await startTestService()
  const owner = await newOwner(working)
  const made = await owner.call('POST', '/v5/tasks', {
    body: { title: 'Soon', remindAt: new Date(Date.now() + 500).toISOString() },
  })
  expect(made.status).toBe(201)
  await until('the reminder is there', async () => {
    const rows = await working.database.crossTenantQuery(
      'check the database',
      sql`select from inbox_entries where organization_id = ${decodeId('org', owner.organizationId)}::uuid`,
    )
    return rows.length === 1
  })
  await working.close()
})
