import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { isDistributed } from '../../test/engines.ts'
import { created, maintain } from '../../test/inbox-fixture.ts'
import { rowsWith } from '../../test/personal-values.ts'
import { until } from '../../test/processes.ts'
import { type Call, type Json, startTestService, type TestOrganization, type TestService } from '../../test/service.ts'
import { lockWork, tryLockClaims } from '../intake/work/work-store.ts'
import { serviceActor } from '../platform/model/caller.ts'
import { decodeId, newId } from '../platform/model/ids.ts'
import { type Sql, sql } from '../platform/model/sql.ts'
import { emptiedAtOnce } from '../platform/records/write/events.ts'

let service: TestService
let organization: TestOrganization
let call: Call
beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  organization = await service.newOrganization()
  call = organization.call
})
afterAll(() => service.close())

const own = () => sql`${decodeId('org', organization.organizationId)}::uuid`
const query = (statement: Sql) => service.database.crossTenantQuery<Json>('check the database', statement)
const erase = (id: string) => call('POST', `/v5/contacts/${id}/erase`)

/** So many changes of a contact, as if they had been made one by one. */
const addChanges = (id: string, count: number, word: string) =>
  query(sql`insert into events (organization_id, id, resource, record_id, kind, is_history, revision, source, changes,
      "values", "position", created_at)
    select ${own()}, new_id(), 'contact', ${decodeId('con', id)}::uuid, 'updated', true, 1, 'person',
      jsonb_build_array(jsonb_build_object('field', 'bio', 'before', ${word}::text, 'after', ${word}::text)),
      json_build_object('bio', ${word}::text), 0, now() - make_interval(secs => number)
    from generate_series(1, ${count}::int) number returning 1`)

/** Locks a note while it works, as somebody who changes it. */
const whileLocked = (id: string, work: () => Promise<void>) =>
  service.database.crossTenantTransaction('check the database', async (db) => {
    await db.query(sql`select id from notes
      where organization_id = ${own()} and id = ${decodeId('not', id)}::uuid for update`)
    await work()
  })

test('what a request cannot finish is finished by maintenance, and nobody finds the contact meanwhile', async () => {
  const word = `zq${newId().replaceAll('-', '').slice(12)}`
  const { id } = await created(call, '/v5/contacts', { name: word, email: `${word}@example.com` })
  const note = await created(call, `/v5/contacts/${id}/notes`, { body: word })
  // Several steps.
  await addChanges(id, 2 * emptiedAtOnce + 1, word)
  await whileLocked(note.id, async () => {
    expect((await erase(id)).status).toBe(204)
    expect(await query(sql`select body from notes where organization_id = ${own()}`)).toEqual([{ body: word }])
    expect((await call('GET', `/v5/contacts/${id}`)).status).toBe(404)
  })
  expect((await call('POST', `/v5/contacts/${id}/restore`)).status).toBe(404)
  expect((await erase(id)).status).toBe(404)
  await maintain(service)
  expect(await rowsWith(service.database, [word])).toEqual([])
  const { events } = (await call('GET', '/v5/events?after=start&kind=erased,purged')).body
  expect(events.map(({ type }: Json) => type)).toEqual(['note.erased', 'contact.erased'])
})

test('a person who cannot be erased yet delays no other record that is to be purged', async () => {
  const erased = await created(call, '/v5/contacts', { name: 'Ada' })
  const note = await created(call, `/v5/contacts/${erased.id}/notes`, { body: 'Any' })
  const expired = await created(call, '/v5/contacts', { name: 'Grace' })
  await call('DELETE', `/v5/contacts/${expired.id}`)
  await query(sql`update contacts set deleted_at = now() - interval '31 days'
    where organization_id = ${own()} and id = ${decodeId('con', expired.id)}::uuid`)
  const names = () => query(sql`select name from contacts where organization_id = ${own()}`)
  await whileLocked(note.id, async () => {
    expect((await erase(erased.id)).status).toBe(204)
    expect(await names()).toHaveLength(2)
    await maintain(service)
    expect(await names()).toEqual([{ name: 'Ada' }])
  })
  await maintain(service)
  expect(await names()).toEqual([])
})

test.skipIf(isDistributed())('erasing waits for a worker that claims rows, and does not stop its work', async () => {
  const { id } = await created(call, '/v5/contacts', { name: 'Ada' })
  const actor = serviceActor('work', decodeId('org', organization.organizationId) ?? '')
  let request: Promise<unknown> = Promise.resolve()
  await service.database.transaction(actor, async (claiming) => {
    expect(await tryLockClaims(claiming)).toBe(true)
    request = erase(id)
    await until('the request waits for the worker', async () => {
      const [waiting] = await query(sql`select count(*)::int as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%import_turns%'`)
      return waiting.count === 1
    })
    // As a worker does before its claim ends.
    await service.database.transaction(actor, lockWork)
  })
  expect(await request).toMatchObject({ status: 204 })
})
