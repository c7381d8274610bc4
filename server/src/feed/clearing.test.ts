import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import pg from 'pg'
import { isDistributed } from '../../test/engines.ts'
import { explain, recordsRead } from '../../test/explain.ts'
import { created } from '../../test/inbox-fixture.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../test/service.ts'
import { decodeId } from '../platform/model/ids.ts'
import { sessionOptions } from '../platform/database/database.ts'
import { type Sql, sql } from '../platform/model/sql.ts'
import { clearOldValues } from './clearing.ts'
import { clearedAtOnce, clearNextValues, nextSql } from './clearing-store.ts'

let database: TestDatabase
let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  database = await createDatabase()
  service = await startTestService({}, database)
})
beforeEach(async () => {
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const days = 30
const own = () => sql`${decodeId('org', organization.organizationId)}::uuid`
const query = (statement: Sql) => service.database.crossTenantQuery<Json>('check the database', statement)
const call: TestOrganization['call'] = (...request) => organization.call(...request)
const place = () => call('GET', '/v5/events/position')
const clear = () => {
  const ids = [decodeId('org', organization.organizationId) ?? '']
  const organizations = async (after: string | undefined) => (after === undefined ? ids : [])
  return clearOldValues({ database: service.database, days, organizations }, new AbortController().signal)
}
/** A day before what the feed reaches back to, with the hour that clearing waits. */
const past = new Date(Date.now() - 31 * 24 * 60 * 60_000)

/** Makes the events of a contact old, or without one those of what the organization has begun with. */
const age = (recordId?: string) =>
  query(sql`update events set created_at = ${past}::timestamptz where organization_id = ${own()} and case
      when ${recordId === undefined}::boolean then resource <> 'contact'
      else record_id = ${decodeId('con', recordId ?? '') ?? null}::uuid end returning id`)
const withValues = async (recordId: string): Promise<number> =>
  (
    await query(sql`select count(*)::int as count from events
      where organization_id = ${own()} and record_id = ${decodeId('con', recordId)}::uuid and "values" is not null`)
  )[0].count

test('events that the feed no longer reaches lose their values, and timelines show them as before', async () => {
  const [old, recent] = [
    await created(call, '/v5/contacts', { name: 'Old' }),
    await created(call, '/v5/contacts', { name: 'Recent' }),
  ]
  for (const { id } of [old, recent]) await call('PATCH', `/v5/contacts/${id}`, { body: { city: 'Rome' } })
  await place()
  for (const id of [undefined, old.id]) await age(id)
  const timeline = () => call('GET', `/v5/contacts/${old.id}/timeline`)
  const before = await timeline()
  expect(before.body).toHaveLength(2)
  await clear()
  expect([await withValues(old.id), await withValues(recent.id)]).toEqual([1, 2])
  // The first change of the other contact is before the second one of this contact.
  await age(recent.id)
  await created(call, '/v5/contacts', { name: 'New' })
  await place()
  await clear()
  expect([await withValues(old.id), await withValues(recent.id)]).toEqual([0, 0])
  expect((await timeline()).text).toBe(before.text)
  expect((await call('GET', '/v5/events?after=start')).status).toBe(410)
})

test('a step looks at a bounded number of events, by the index of positions, and says whether there may be more', async () => {
  const id = decodeId('org', organization.organizationId) ?? ''
  await place()
  const [{ last }] = await query(
    sql`select last_position::int as last from event_feeds where organization_id = ${own()}`,
  )
  await age()
  await query(sql`
    insert into events (organization_id, id, resource, record_id, kind, is_history, source, changes, "values", "position", created_at)
    select ${own()}, new_id(), 'contact', new_id(), 'updated', true, 'person', '[]', '{"city": "Rome"}',
      ${last}::int + number, now() - interval '40 days'
    from generate_series(1, ${2 * clearedAtOnce}::int) number returning 1`)
  await query(sql`update event_feeds set last_position = ${last}::int + ${2 * clearedAtOnce}::int
    where organization_id = ${own()} returning 1`)
  const steps = []
  for (let hasMore = true; hasMore;) {
    hasMore = await clearNextValues(service.database, id, days)
    steps.push(hasMore)
  }
  expect(steps).toEqual([true, true, false])
  const left = await query(sql`select resource, "position", created_at, is_history from events
    where organization_id = ${own()} and "values" is not null`)
  expect(left).toEqual([])
  // Nothing is looked at twice.
  expect(await clearNextValues(service.database, id, days)).toBe(false)
})

test.skipIf(isDistributed())(
  'a round without old events reads one step of events, however many there are',
  async () => {
    const client = new pg.Client({ ...database.connection, options: sessionOptions })
    await client.connect()
    await client.query(`
    insert into events (organization_id, id, resource, record_id, kind, is_history, source, changes, "position")
    select '${decodeId('org', organization.organizationId)}', new_id(), 'contact', new_id(), 'updated', true, 'person', '[]',
      100000 + number from generate_series(1, 20000) number;
    analyze events`)
    const nodes = await explain(client, nextSql(own(), '100000', days))
    expect(recordsRead(nodes)).toBeLessThanOrEqual(clearedAtOnce)
    expect(nodes.map((node) => node['Index Name'])).toContain('events_position')
    await client.end()
  },
)
