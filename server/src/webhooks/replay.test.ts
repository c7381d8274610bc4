import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type Json, type TestOrganization, type TestService } from '../../test/service.ts'
import { created, newContact, newWebhook } from '../../test/webhook-fixture.ts'
import { decodeId } from '../platform/model/ids.ts'
import { sql } from '../platform/model/sql.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  // Nothing is sent.
  service = await startTestService({ EGRESS_ALLOW: '127.0.0.1' })
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const receiver = { url: 'http://127.0.0.1:1/' }
const since = '2026-01-01T00:00:00Z'

const countOf = async ({ id }: Json): Promise<Json> => {
  const answer = await organization.call('POST', `/v5/webhooks/${id}/replay?dryRun=true`, { body: { since } })
  expect(answer.status, answer.text).toBe(200)
  const { dryRun, eventCount, isEstimate } = answer.body
  expect(dryRun).toBe(true)
  return { eventCount, isEstimate }
}

/** Gives all events of the feed their positions, and moves all webhooks behind them, as if they had been sent. */
async function passAll(): Promise<void> {
  await organization.call('GET', '/v5/events/position')
  await service.database.crossTenantQuery(
    'check the database',
    sql`update webhook_states state set "position" = feed.last_position from event_feeds feed
      where feed.organization_id = state.organization_id`,
  )
}

test('a dry run counts the events that a replay would send: by type, changed fields and filter', async () => {
  const { call } = organization
  const ids: string[] = []
  for (const [name, tags] of [
    ['One', ['vip']],
    ['Two', []],
    ['Three', ['vip']],
  ] as const)
    ids.push((await newContact(call, { name, tags })).id)
  await call('PATCH', `/v5/contacts/${ids[0]}`, { body: { city: 'Rome' } })
  await call('PATCH', `/v5/contacts/${ids[1]}`, { body: { city: 'Paris' } })
  await call('PATCH', `/v5/contacts/${ids[2]}`, { body: { employmentTitle: 'Engineer' } })
  await created(call, '/v5/companies', { name: 'Engines' })
  const hooks = [
    await newWebhook(call, receiver),
    await newWebhook(call, receiver, { events: ['contact.updated'] }),
    await newWebhook(call, receiver, { events: ['contact.updated'], changedFields: ['city'] }),
    await newWebhook(call, receiver, { filter: { tags: { has: 'vip' } } }),
    await newWebhook(call, receiver, { events: ['*'], scopes: ['company:list:read', 'contact:list:read'] }),
  ]
  await passAll()
  const counts = await Promise.all(hooks.map(countOf))
  expect(counts.map(({ eventCount }) => eventCount)).toEqual([6, 3, 2, 4, 7])
  expect(counts.every(({ isEstimate }) => !isEstimate)).toBe(true)
  const { body } = await call('GET', `/v5/webhooks/${hooks[0].id}/deliveries/count`)
  expect(body).toEqual({ count: 0 })
  for (const dryRun of ['yes', ''])
    expect(
      (await call('POST', `/v5/webhooks/${hooks[0].id}/replay?dryRun=${dryRun}`, { body: { since } })).status,
    ).toBe(400)
})

test('of many changes, the number is an estimate', async () => {
  const { call, organizationId } = organization
  const id = decodeId('org', organizationId)
  const [total, every] = [30_000, 10]
  // One change in ten is of a contact.
  await service.database.crossTenantQuery(
    'check the database',
    sql`insert into events (organization_id, id, record_id, resource, kind, is_history, source, changes, "position")
      select ${id}::uuid, gen_random_uuid(), gen_random_uuid(), case when number % ${every}::integer = 0 then 'contact' else 'company' end,
        'deleted', false, 'command', '[]', feed.last_position + number
      from event_feeds feed, generate_series(1, ${total}::integer) number where feed.organization_id = ${id}::uuid`,
  )
  await service.database.crossTenantQuery(
    'check the database',
    sql`update event_feeds set last_position = last_position + ${total}::integer where organization_id = ${id}::uuid`,
  )
  const webhook = await newWebhook(call, receiver, { events: ['contact.deleted'] })
  await passAll()
  const { eventCount, isEstimate } = await countOf(webhook)
  expect(isEstimate).toBe(true)
  expect(Math.abs(eventCount - total / every)).toBeLessThan(total / every / 10)
})
