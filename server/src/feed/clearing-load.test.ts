import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isDistributed } from '../../test/engines.ts'
import { created } from '../../test/inbox-fixture.ts'
import { createDatabase } from '../../test/postgres.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../test/service.ts'
import { decodeId } from '../platform/model/ids.ts'
import { clearedAtOnce } from './clearing-store.ts'
import { clearOldValues } from './clearing.ts'

const events = 100_000
const days = 30

let service: TestService
let organization: TestOrganization
/** Has no statement timeout. */
let client: pg.Client
beforeAll(async () => {
  const database = await createDatabase()
  service = await startTestService({}, database)
  organization = await service.newOrganization()
  client = new pg.Client(database.connection)
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await service.close()
})

const ownId = () => decodeId('org', organization.organizationId) ?? ''
/** `$1` is the organization. */
const query = async (text: string, values: unknown[] = []): Promise<Json[]> =>
  (await client.query(text, [ownId(), ...values])).rows

/** Adds changes of a contact to the feed that are older than it reaches back. */
async function addOldChanges(contactId: string): Promise<void> {
  await query(`update events set created_at = now() - interval '40 days' where organization_id = $1`)
  const [{ last }] = await query('select last_position as last from event_feeds where organization_id = $1')
  await query(
    `insert into events (organization_id, id, resource, record_id, kind, is_history, source, changes, "values",
        "position", created_at)
      select $1, new_id(), 'contact', $2, 'updated', true, 'person',
        '[{"field": "city", "before": null, "after": "Rome"}]', '{"city": "Rome"}', $3::bigint + number,
        now() - interval '40 days' + number * interval '1 second'
      from generate_series(1, $4::int) number`,
    [decodeId('con', contactId), last, events],
  )
  await query('update event_feeds set last_position = last_position + $2 where organization_id = $1', [events])
}

test('a hundred thousand old events lose their values in small steps, while others read and write', async () => {
  const { call } = organization
  const contact = await created(call, '/v5/contacts', { name: 'Ada' })
  const { position } = (await call('GET', '/v5/events/position')).body
  await addOldChanges(contact.id)
  const organizations = async (after: string | undefined) => (after === undefined ? [ownId()] : [])
  let isCleared = false
  const options = { database: service.database, days, organizations }
  const clearing = clearOldValues(options, new AbortController().signal).finally(() => (isCleared = true))
  let changes = 0
  let timeline: string | undefined
  do {
    const changed = await call('PATCH', `/v5/contacts/${contact.id}`, { body: { city: `City ${changes++}` } })
    expect(changed.status, changed.text).toBe(200)
    const oldest = await call('GET', `/v5/contacts/${contact.id}/timeline?sort=asc&limit=100`)
    expect(oldest.body).toHaveLength(100)
    timeline ??= oldest.text
    expect(oldest.text).toBe(timeline)
  } while (!isCleared)
  await clearing
  const isOld = `organization_id = $1 and created_at < now() - interval '1 day'`
  const left = await query(`select count(*)::int as count from events where ${isOld} and "values" is not null`)
  expect(left).toEqual([{ count: 0 }])
  expect((await call('GET', `/v5/events?after=${position}`)).status).toBe(410)
  // The changes that were made meanwhile have theirs.
  const recent = await query(`select count(*)::int as count from events
    where organization_id = $1 and created_at >= now() - interval '1 day' and "values" is not null`)
  expect(recent).toEqual([{ count: changes }])
  // No transaction has written more than one step.
  if (isDistributed()) return
  const steps = await query(`select count(*)::int as count from events where ${isOld} group by xmin::text`)
  expect(Math.max(...steps.map(({ count }) => count))).toBeLessThanOrEqual(clearedAtOnce)
  expect(steps.length).toBeGreaterThanOrEqual(events / clearedAtOnce)
}, 300_000)
