import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { newOwner } from '../../../test/people.ts'
import { type Call, type Json, startTestService, type TestService } from '../../../test/service.ts'

let service: TestService
/** A person in Berlin. */
let call: Call
beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  ;({ call } = await newOwner(service))
  await call('PATCH', '/v5/organization', { body: { timeZone: 'Europe/Berlin' } })
})
afterAll(() => service.close())

async function send(method: string, path: string, body?: object, status = 200): Promise<Json> {
  const answer = await call(method, path, body && { body })
  expect([answer.text, answer.status]).toEqual([answer.text, status])
  return answer.body
}

const weekly = { title: 'Weekly report', dueDate: '2036-01-07', recurrence: 'FREQ=WEEKLY;BYDAY=MO' }
const create = (body: object = {}): Promise<Json> => send('POST', '/v5/tasks', { ...weekly, ...body }, 201)
const change = (task: Json, body: object): Promise<Json> => send('PATCH', `/v5/tasks/${task.id}`, body)
const complete = (task: Json): Promise<Json> => change(task, { done: true })
const read = (id: string): Promise<Json> => send('GET', `/v5/tasks/${id}`)
const next = async (task: Json): Promise<Json> => read((await complete(task)).nextTaskId)
const stored = async (): Promise<Json[]> => send('GET', '/v5/tasks?orderBy=deadline&sort=asc')
const refusalOf = async (body: object, task?: Json): Promise<Json> => {
  const answer = task
    ? await call('PATCH', `/v5/tasks/${task.id}`, { body })
    : await call('POST', '/v5/tasks', { body: { title: 'Call', ...body } })
  expect(answer.status, answer.text).toBe(422)
  return answer.body.details
}

test('when a recurring task is done, the next one is there, with what the last one had', async () => {
  const company = await send('POST', '/v5/companies', { name: 'Engines' }, 201)
  const task = await create({ body: 'All *figures*', priority: 'high', companyId: company.id, remindBefore: 900 })
  expect(task).toMatchObject({ reminderAt: '2036-01-07T08:00:00.000Z', nextTaskId: null })
  const done = await complete(task)
  expect(done).toMatchObject({ done: true, recurrence: weekly.recurrence })
  const following = await read(done.nextTaskId)
  expect(following).toMatchObject({
    title: task.title,
    body: task.body,
    priority: 'high',
    companyId: company.id,
    assigneeId: task.assigneeId,
    done: false,
    dueDate: '2036-01-14',
    reminderAt: '2036-01-14T08:00:00.000Z',
    remindBefore: 900,
    recurrence: weekly.recurrence,
    nextTaskId: null,
  })
  const { events } = await send('GET', '/v5/events?resource=task&after=start')
  expect(events.map(({ kind, recordId }: Json) => [kind, recordId])).toEqual([
    ['created', task.id],
    ['updated', task.id],
    ['created', following.id],
  ])
  expect(events[1].values).toMatchObject({ done: true, nextTaskId: following.id })
  expect(following).toMatchObject(events[2].values)
})

test('completing a task twice, in any way, makes one next task', async () => {
  const task = await create()
  const both = await Promise.all([1, 2, 3, 4].map(() => complete(task)))
  expect(new Set(both.map(({ nextTaskId }) => nextTaskId)).size).toBe(1)
  expect(await stored()).toHaveLength(2)
  const headers = { 'idempotency-key': 'complete-once' }
  const following = await read(both[0]?.nextTaskId)
  for (let count = 0; count < 2; count++)
    expect((await call('PATCH', `/v5/tasks/${following.id}`, { body: { done: true }, headers })).status).toBe(200)
  expect(await stored()).toHaveLength(3)
})

test('a task that is open again takes the next one back, unless somebody has changed that', async () => {
  const task = await create()
  const first = await next(task)
  expect(await change(task, { done: false })).toMatchObject({ done: false, nextTaskId: null })
  expect((await call('GET', `/v5/tasks/${first.id}`)).status).toBe(404)
  const second = await next(task)
  expect(second).toMatchObject({ dueDate: '2036-01-14' })
  await change(second, { title: 'Another report' })
  expect(await change(task, { done: false })).toMatchObject({ nextTaskId: second.id })
  expect(await complete(task)).toMatchObject({ nextTaskId: second.id })
  expect((await stored()).map(({ title }) => title)).toEqual(['Weekly report', 'Another report'])
  // Somebody has deleted it: the series has ended.
  await send('DELETE', `/v5/tasks/${second.id}`, undefined, 204)
  await change(task, { done: false })
  await complete(task)
  expect(await stored()).toHaveLength(1)
})

test('a series ends: by its count, with the recurrence, or with its task', async () => {
  const second = await next(await create({ recurrence: 'FREQ=DAILY;COUNT=2' }))
  expect(second).toMatchObject({ dueDate: '2036-01-08', recurrence: 'FREQ=DAILY;COUNT=1' })
  expect((await complete(second)).nextTaskId).toBeNull()
  expect((await change(await create(), { done: true, recurrence: null })).nextTaskId).toBeNull()
  expect((await create({ done: true })).nextTaskId).toBeNull()
  expect(await stored()).toHaveLength(4)
})

test('a time of the day stays the same across summer time, with the reminder', async () => {
  const task = await create({
    dueDate: undefined,
    dueAt: '2036-03-29T09:00:00+01:00',
    remindAt: '2036-03-28T18:00:00+01:00',
    recurrence: 'FREQ=DAILY',
  })
  const following = await next(task)
  expect(following).toMatchObject({
    dueAt: '2036-03-30T07:00:00.000Z',
    remindAt: '2036-03-29T17:00:00.000Z',
    reminderAt: '2036-03-29T17:00:00.000Z',
  })
  // 02:30 does not exist on the 30th.
  const skipped = await next(await change(task, { dueAt: '2036-03-29T02:30:00+01:00', done: false, remindAt: null }))
  expect(skipped.dueAt).toBe('2036-03-30T01:30:00.000Z')
  expect((await next(skipped)).dueAt).toBe('2036-03-31T00:30:00.000Z')
  // Who moves the task to that time means that time.
  const moved = await change(
    await next(await create({ dueDate: undefined, dueAt: '2036-03-29T02:30:00+01:00', recurrence: 'FREQ=DAILY' })),
    {
      dueAt: '2036-03-30T03:45:00+02:00',
    },
  )
  expect((await next(moved)).dueAt).toBe('2036-03-31T01:45:00.000Z')
})

test('a reminder is so long before the due date, or at a time', async () => {
  const task = await create({ remindBefore: 1440, recurrence: null })
  expect(task).toMatchObject({ reminderAt: '2036-01-06T23:00:00.000Z', remindAt: null })
  expect(await change(task, { dueDate: '2036-07-01' })).toMatchObject({ reminderAt: '2036-06-30T22:00:00.000Z' })
  // Nine hours before the end of the day are at 15:00, also when the day has 23 hours.
  const short = await change(task, { dueDate: '2036-03-30', remindBefore: 1380 })
  expect(short.reminderAt).toBe('2036-03-30T00:00:00.000Z')
  const instant = await change(task, { dueDate: null, dueAt: '2036-03-30T04:00:00+02:00', remindBefore: 90 })
  expect(instant.reminderAt).toBe('2036-03-30T00:30:00.000Z')
  const at = await change(task, { remindBefore: null, remindAt: '2036-01-01T08:00:00+01:00' })
  expect(at).toMatchObject({ reminderAt: '2036-01-01T07:00:00.000Z', remindBefore: null })
  expect(await change(task, { dueAt: null })).toMatchObject({ reminderAt: '2036-01-01T07:00:00.000Z' })
  expect(await change(task, { remindAt: null })).toMatchObject({ reminderAt: null })
  expect((await create({ dueDate: '0001-01-01', remindBefore: 40_320, recurrence: null })).reminderAt).toBe(
    '0001-01-01T00:00:00.000Z',
  )
})

test('what contradicts itself is refused', async () => {
  expect(await refusalOf({ remindBefore: 10 })).toEqual([
    { field: 'remindBefore', message: 'counts from the due date: send dueDate or dueAt, too' },
  ])
  expect(await refusalOf({ recurrence: 'FREQ=DAILY' })).toMatchObject([{ field: 'recurrence' }])
  expect(await refusalOf({ dueDate: '2036-01-07', recurrence: 'FREQ=HOURLY' })).toEqual([
    { field: 'recurrence', message: 'FREQ: expected DAILY, WEEKLY, MONTHLY or YEARLY' },
  ])
  expect(await refusalOf({ dueDate: '2036-01-07', remindBefore: 40_321 })).toMatchObject([{ field: 'remindBefore' }])
  const task = await create({ remindBefore: 10 })
  expect(await refusalOf({ remindAt: '2036-01-07T08:00Z' }, task)).toEqual([
    { field: 'remindAt', message: 'cannot be combined with remindBefore; set that to null' },
  ])
  expect(await refusalOf({ dueDate: null }, task)).toEqual([
    { field: 'dueDate', message: 'is needed by remindBefore; set that to null, too' },
    { field: 'dueDate', message: 'is needed by recurrence; set that to null, too' },
  ])
  expect(await change(task, { dueDate: null, remindBefore: null, recurrence: null })).toMatchObject({ deadline: null })
})
