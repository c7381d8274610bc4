import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { retentionPolicies } from '../../../retention-policies.ts'
import { eventRow } from '../../../../test/purged-events.ts'
import {
  ago,
  retention,
  createMaintenanceFixture,
  type MaintenanceFixture,
} from '../../../../test/maintenance-fixture.ts'

let fixture: MaintenanceFixture
beforeAll(async () => {
  fixture = await createMaintenanceFixture()
})
afterAll(() => fixture.close())

test('with a retention of 0 days rows are never purged', () => {
  const namesWith = (days: number) =>
    retentionPolicies({ importRowsDays: days, auditLogDays: days, historyDays: days, eventDays: 30 }).map(
      ({ name }) => name,
    )
  const limited = ['rows', 'audit events', 'history', 'contact history', 'company history', 'deal history']
  expect(namesWith(0).filter((name) => limited.includes(name))).toEqual([])
  expect(namesWith(1)).toEqual(expect.arrayContaining(limited))
})

test('events of the audit log are purged after their days, and only by maintenance', async () => {
  const organizationId = randomUUID()
  await fixture.insert('organizations', [{ id: organizationId, name: 'Any', slug: organizationId }])
  const event = { organization_id: organizationId, action: 'member.left', actor_kind: 'command' }
  await fixture.insert('audit_events', [
    { ...event, id: randomUUID(), created_at: ago(retention.auditLogDays + 1) },
    { ...event, id: randomUUID(), created_at: ago(retention.auditLogDays - 1) },
  ])
  for (const change of ['delete from audit_events', `update audit_events set action = 'any'`, 'truncate audit_events'])
    await expect(fixture.client.query(change)).rejects.toThrow(/append-only/)
  await fixture.round()
  expect(fixture.purged).toMatchObject({ 'audit events': 1 })
  expect(await fixture.count('audit_events', `organization_id = '${organizationId}'`)).toBe(1)
})

test('changes expire as history or as events of the feed, and those of release 0.1.0 as history', async () => {
  const [recordId, organizationId] = [randomUUID(), randomUUID()]
  await fixture.insert('organizations', [{ id: organizationId, name: 'Any', slug: organizationId }])
  const change = { organization_id: organizationId, action: 'updated', source: 'person', changes: {} }
  for (const kind of ['contact', 'company', 'deal']) {
    await fixture.insert(`${kind}_changes`, [
      { ...change, [`${kind}_id`]: recordId, id: randomUUID(), created_at: ago(retention.historyDays + 1) },
      { ...change, [`${kind}_id`]: recordId, id: randomUUID(), created_at: ago(retention.historyDays - 1) },
    ])
  }
  const of = { organization_id: organizationId, record_id: recordId }
  await fixture.insert('events', [
    eventRow(of, true, retention.historyDays + 1),
    eventRow(of, true, retention.historyDays - 1),
    eventRow(of, false, retention.eventDays + 1),
    eventRow(of, false, retention.eventDays - 1),
  ])
  await fixture.round()
  const former = { 'contact history': 1, 'company history': 1, 'deal history': 1 }
  expect(fixture.purged).toMatchObject({ history: 1, events: 1, ...former })
  const left = (table: string, condition = 'true') =>
    fixture.count(table, `organization_id = '${organizationId}' and ${condition}`)
  for (const table of ['contact_changes', 'company_changes', 'deal_changes'])
    expect([table, await left(table)]).toEqual([table, 1])
  expect([await left('events', 'is_history'), await left('events', 'not is_history')]).toEqual([1, 1])
})

test('the feed reaches back no further than the histories that are a part of it', () => {
  const days = (historyDays: number) =>
    retentionPolicies({ ...retention, historyDays })
      .filter(({ table }) => table === 'events')
      .map(({ name, ttlSeconds }) => [name, Math.floor(ttlSeconds / 86_400)])
  expect(days(7)).toEqual([
    ['history', 7],
    ['events', 7],
  ])
  expect(days(365)).toEqual([
    ['history', 365],
    ['events', 30],
  ])
})
