import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  created,
  entriesOf,
  maintain,
  newColleague,
  patched,
  untilEntries,
  untilRead,
} from '../../test/inbox-fixture.ts'
import { newOwner, type TestOwner } from '../../test/people.ts'
import { mailsOf } from '../../test/mail-queue.ts'
import { until } from '../../test/processes.ts'
import { newRole } from '../../test/reach-fixture.ts'
import { startTestService, type Json, type TestService } from '../../test/service.ts'
import { serviceActor } from '../platform/model/caller.ts'
import { decodeId, newId } from '../platform/model/ids.ts'
import { identifier, sql } from '../platform/model/sql.ts'
import { addEntries, type NewEntry } from './entries-store.ts'
import { notify } from './notifier-store.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const uuidOf = (shown: string) => decodeId(shown.slice(0, shown.indexOf('_')), shown) ?? ''

const add = ({ organizationId }: Pick<TestOwner, 'organizationId'>, entries: readonly NewEntry[]): Promise<number> =>
  service.database.transaction(serviceActor('maintenance', uuidOf(organizationId)), (transaction) =>
    addEntries(transaction, entries),
  )

const reminderOf = (person: Pick<TestOwner, 'userId'>, task: Json, key = newId()): NewEntry => ({
  userId: uuidOf(person.userId),
  kind: 'reminder',
  resource: 'tasks',
  recordId: uuidOf(task.id),
  authorId: null,
  key,
})

const stored = ({ userId }: Pick<TestOwner, 'userId'>): Promise<Json[]> =>
  service.database.crossTenantQuery<Json>(
    'check the database',
    sql`select kind, is_listed, push_pending, digest_pending from inbox_entries where user_id = ${uuidOf(userId)}::uuid
      order by created_at, id`,
  )

test('an entry is added once for its key, also at the same time, and its mail is queued once', async () => {
  const owner = await newOwner(service)
  const anna = await newColleague(service, owner)
  const task = await created(owner.call, '/v5/tasks', { title: 'Call Ada', assigneeId: null })
  const [one, other] = [reminderOf(anna, task), reminderOf(anna, task)]
  const added = await Promise.all([
    add(owner, [one, other]),
    add(owner, [other, one]),
    add(owner, [one, one]),
    add(owner, [other]),
  ])
  expect(added.reduce((sum, count) => sum + count)).toBe(2)
  expect(await untilEntries(anna, 2)).toHaveLength(2)
  const mails = await mailsOf(service, anna.email)
  expect(mails.filter(({ kind }) => kind === 'reminder')).toHaveLength(2)
  expect(await add(owner, [{ ...one, userId: uuidOf(owner.userId) }])).toBe(1)
})

test('of a thousand records that somebody assigns at once, a person gets five notifications, and of reminders all', async () => {
  const owner = await newOwner(service)
  const anna = await newColleague(service, owner)
  const task = await created(owner.call, '/v5/tasks', { title: 'Call Ada' })
  await patched(anna.call, '/v5/inbox/settings', { ways: { reminder: ['inbox', 'push'], assigned: ['inbox', 'push'] } })
  const many = (kind: 'assigned' | 'reminder', count: number) =>
    Array.from({ length: count }, (_, index) => ({ ...reminderOf(anna, task, `${kind} ${index}`), kind }))
  expect(await add(owner, [...many('assigned', 1000), ...many('reminder', 8)])).toBe(1008)
  const rows = await stored(anna)
  const pushed = (kind: string) => rows.filter((row) => row.kind === kind && row.push_pending).length
  expect([rows.length, pushed('assigned'), pushed('reminder')]).toEqual([1008, 5, 8])
})

test('a person hears of something in the ways that they chose, and not at all without any', async () => {
  const owner = await newOwner(service)
  const anna = await newColleague(service, owner)
  const task = await created(owner.call, '/v5/tasks', { title: 'Call Ada' })
  await patched(anna.call, '/v5/inbox/settings', { ways: { reminder: ['push'], taskDue: [], assigned: ['digest'] } })
  const base = reminderOf(anna, task)
  const kinds = ['reminder', 'taskDue', 'assigned', 'mentioned'] as const
  expect(
    await add(
      owner,
      kinds.map((kind) => ({ ...base, kind, key: kind })),
    ),
  ).toBe(3)
  const row = { is_listed: false, push_pending: false, digest_pending: false }
  expect(await stored(anna)).toEqual([
    { ...row, kind: 'reminder', push_pending: true },
    { ...row, kind: 'assigned', digest_pending: true },
    { ...row, kind: 'mentioned', is_listed: true },
  ])
  expect((await entriesOf(anna)).map(({ kind }) => kind)).toEqual(['mentioned'])
  expect((await anna.call('GET', '/v5/inbox/counts')).body).toEqual({ unread: 1 })
  expect((await mailsOf(service, anna.email)).filter(({ kind }) => kind === 'reminder')).toEqual([])
})

test('the mail of a reminder names the task and leads to it', async () => {
  const owner = await newOwner(service)
  const task = await created(owner.call, '/v5/tasks', { title: 'Call Ada' })
  await patched(owner.call, '/v5/inbox/settings', { ways: { taskDue: ['mail'] } })
  await add(owner, [reminderOf(owner, task), { ...reminderOf(owner, task), kind: 'taskDue' }])
  await until('both are composed', async () => {
    const mails = await mailsOf(service, owner.email)
    return mails.filter(({ kind, subject }) => kind === 'reminder' && subject !== null).length === 2
  })
  const mails = (await owner.call('GET', '/v5/mails')).body.filter(({ kind }: Json) => kind === 'reminder')
  expect(mails.map(({ subject }: Json) => subject).sort()).toEqual(['A task is overdue', 'Reminder of a task'])
  const { body } = await owner.call('GET', `/v5/mails/${mails[0].id}/content`)
  expect(body.text).toContain('Call Ada')
  expect(body.text).toContain(`/tasks/${task.id}`)
})

test('nobody gets an entry for a record that they do not see, or in an organization that is not theirs', async () => {
  const owner = await newOwner(service)
  const roleId = await newRole(owner, 'own')
  const anna = await newColleague(service, owner, { role: 'custom', roleId })
  const foreigner = await newOwner(service)
  const link = `@[Anna](${anna.userId}) @[Foreigner](${foreigner.userId})`
  const hidden = await created(owner.call, '/v5/contacts', { name: 'Hidden' })
  const shown = await created(owner.call, '/v5/contacts', { name: 'Shown', ownerId: anna.userId })
  await created(owner.call, `/v5/contacts/${hidden.id}/notes`, { body: link })
  const note = await created(owner.call, `/v5/contacts/${shown.id}/notes`, { body: link })
  await untilRead(service, owner)
  const found = await entriesOf(anna)
  expect(found.map(({ recordId }) => recordId)).toEqual([note.id, shown.id])
  expect(await entriesOf(foreigner)).toEqual([])
  // Out of reach since then.
  await patched(owner.call, `/v5/contacts/${shown.id}`, { ownerId: owner.userId })
  expect((await entriesOf(anna)).map(({ title }) => title)).toEqual([null, null])
  expect((await anna.call('GET', `/v5/inbox/${found[0].id}`)).body.title).toBeNull()
  // Nor does the role list the resource.
  const scopes = ['urn:service:task:*:read']
  await patched(owner.call, `/v5/roles/${roleId}`, { reach: {}, scopes })
  expect((await entriesOf(anna)).map(({ title }) => title)).toEqual([null, null])
  await created(owner.call, `/v5/contacts/${hidden.id}/notes`, { body: link })
  await created(owner.call, '/v5/tasks', { title: 'Seen', assigneeId: anna.userId })
  await untilRead(service, owner)
  expect((await entriesOf(anna)).map(({ title }) => title)).toEqual(['Seen', null, null])
})

test('entries of others and of other organizations are never read, changed or counted', async () => {
  const owner = await newOwner(service)
  const [anna, ben] = [await newColleague(service, owner), await newColleague(service, owner)]
  const foreigner = await newOwner(service)
  await created(owner.call, '/v5/tasks', { title: 'Of Anna', assigneeId: anna.userId })
  const [entry] = await untilEntries(anna, 1)
  // In the other organization of the same person too.
  const elsewhere = (method: string, path: string, body?: object) =>
    service.anonymous(method, path, { body, headers: { authorization: `Bearer ${anna.accessToken}` } })
  for (const call of [
    (method: string, path: string, body?: object) => ben.call(method, path, { body }),
    (method: string, path: string, body?: object) => owner.call(method, path, { body }),
    (method: string, path: string, body?: object) => foreigner.call(method, path, { body }),
    elsewhere,
  ]) {
    expect((await call('GET', '/v5/inbox')).body).toEqual([])
    expect((await call('GET', `/v5/inbox/${entry.id}`)).status).toBe(404)
    expect((await call('PATCH', `/v5/inbox/${entry.id}`, { read: true })).status).toBe(404)
    expect((await call('POST', '/v5/inbox/read', { until: entry.id })).status).toBe(404)
    expect((await call('GET', '/v5/inbox/counts')).body).toEqual({ unread: 0 })
    expect((await call('GET', `/v5/inbox?startingAfter=${entry.id}`)).status).toBe(404)
  }
  expect(await entriesOf(anna)).toEqual([entry])
})

test('the title follows the record, and is null once that is deleted; a purge removes the entry', async () => {
  const owner = await newOwner(service)
  const anna = await newColleague(service, owner)
  const { id } = await created(owner.call, '/v5/tasks', { title: 'First', assigneeId: anna.userId })
  await untilEntries(anna, 1)
  await patched(owner.call, `/v5/tasks/${id}`, { title: 'Second' })
  expect((await entriesOf(anna))[0].title).toBe('Second')
  await owner.call('DELETE', `/v5/tasks/${id}`)
  expect((await entriesOf(anna))[0].title).toBeNull()
  await service.database.crossTenantQuery(
    'check the database',
    sql`update tasks set deleted_at = now() - interval '40 days' where id = ${uuidOf(id)}::uuid`,
  )
  await maintain(service)
  await until('the entry is gone', async () => (await entriesOf(anna)).length === 0)
})

test('entries expire after 180 days', async () => {
  const owner = await newOwner(service)
  const anna = await newColleague(service, owner)
  for (const resource of ['companies', 'deals']) {
    await created(owner.call, `/v5/${resource}`, { name: 'Engines', ownerId: anna.userId })
    await untilRead(service, owner)
  }
  const [, old] = await untilEntries(anna, 2)
  for (const [days, remaining] of [
    [179, 2],
    [181, 1],
  ] as const) {
    await service.database.crossTenantQuery(
      'check the database',
      sql`update inbox_entries set created_at = now() - make_interval(days => ${days}::integer)
        where id = ${uuidOf(old.id)}::uuid`,
    )
    await maintain(service)
    expect(await entriesOf(anna)).toHaveLength(remaining)
  }
})

test.each(['is removed', 'leaves'])('a person who %s leaves nothing behind in the inbox', async (how) => {
  const owner = await newOwner(service)
  const [anna, ben] = [await newColleague(service, owner), await newColleague(service, owner)]
  for (const { userId } of [anna, ben])
    await created(owner.call, '/v5/tasks', { title: 'Call Ada', assigneeId: userId })
  for (const person of [anna, ben]) await untilEntries(person, 1)
  await patched(anna.call, '/v5/inbox/settings', { digestAt: '10:00' })
  const other = newId()
  const digested = sql`insert into inbox_digests (organization_id, user_id, last_day)
    select organization_id, ${uuidOf(anna.userId)}::uuid, '2026-11-27'
    from unnest(${[uuidOf(owner.organizationId), other]}::uuid[]) organization_id`
  await service.database.crossTenantQuery('check the database', digested)
  // What the person has in another organization.
  await service.database.crossTenantQuery(
    'check the database',
    sql`insert into inbox_entries (organization_id, id, user_id, kind, resource, record_id, key)
      values (${other}::uuid, ${newId()}::uuid, ${uuidOf(anna.userId)}::uuid, 'reminder', 'tasks', ${newId()}::uuid, 'a')`,
  )
  for (const table of ['inbox_settings', 'inbox_changes'])
    await service.database.crossTenantQuery(
      'check the database',
      sql`insert into ${identifier(table)} (organization_id, user_id)
        values (${other}::uuid, ${uuidOf(anna.userId)}::uuid)`,
    )
  const answer =
    how === 'leaves'
      ? await anna.call('DELETE', `/v5/me/organizations/${owner.organizationId}`)
      : await owner.call('DELETE', `/v5/members/${anna.userId}`)
  expect(answer.status, answer.text).toBe(204)
  for (const table of ['inbox_entries', 'inbox_settings', 'inbox_changes', 'inbox_digests']) {
    const rows = await service.database.crossTenantQuery<{ organizationId: string }>(
      'check the database',
      sql`select organization_id as "organizationId" from ${identifier(table)}
        where user_id = ${uuidOf(anna.userId)}::uuid`,
    )
    expect(rows, table).toEqual([{ organizationId: other }])
  }
  expect(await add(owner, [reminderOf(anna, (await owner.call('GET', '/v5/tasks?limit=1')).body[0])])).toBe(0)
  expect(await entriesOf(ben)).toHaveLength(1)
})

test('a person who is removed while an entry is added has none afterwards', async () => {
  const owner = await newOwner(service)
  const anna = await newColleague(service, owner)
  const task = await created(owner.call, '/v5/tasks', { title: 'Call Ada' })
  let removed: ReturnType<typeof owner.call> | undefined
  await service.database.transaction(serviceActor('maintenance', uuidOf(owner.organizationId)), async (transaction) => {
    expect(await addEntries(transaction, [reminderOf(anna, task)])).toBe(1)
    removed = owner.call('DELETE', `/v5/members/${anna.userId}`)
    await until('the removal waits', async () => {
      const [row] = await service.database.crossTenantQuery<{ count: number }>(
        'check the database',
        sql`select count(*)::integer as count from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return (row?.count ?? 0) > 0
    })
  })
  expect((await removed)?.status).toBe(204)
  expect(await stored(anna)).toEqual([])
})

test('notifiers that read the same feed at the same time report each event once, and none is lost', async () => {
  const owner = await newOwner(service)
  const anna = await newColleague(service, owner)
  const id = uuidOf(owner.organizationId)
  let isWritten = false
  const notifying = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!isWritten) await notify(service.database, id)
    }),
  )
  await Promise.all(
    Array.from({ length: 60 }, (_, number) =>
      created(owner.call, '/v5/tasks', { title: `Task ${number}`, assigneeId: anna.userId }),
    ),
  )
  isWritten = true
  await notifying
  await untilRead(service, owner)
  const reported = sql`select record_id from inbox_entries where user_id = ${uuidOf(anna.userId)}::uuid`
  const rows = await service.database.crossTenantQuery<{ record_id: string }>('check the database', reported)
  expect([rows.length, new Set(rows.map((row) => row.record_id)).size]).toEqual([60, 60])
  expect(sum((await entriesOf(anna, '?limit=100')).map(({ recordCount }) => recordCount))).toBe(60)
})

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
