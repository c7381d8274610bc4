import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { retentionPolicies } from '../../../retention-policies.ts'
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
  const limited = ['rows', 'audit events', 'contact history', 'company history', 'deal history']
  expect(namesWith(0).filter((name) => limited.includes(name))).toEqual([])
  expect(namesWith(1)).toEqual(expect.arrayContaining(limited))
})

test('events of the audit log and the history of records are purged after their days, and only by maintenance', async () => {
  const [recordId, organizationId] = [randomUUID(), randomUUID()]
  await fixture.insert('organizations', [{ id: organizationId, name: 'Any', slug: organizationId }])
  const event = { organization_id: organizationId, action: 'member.left', actor_kind: 'command' }
  await fixture.insert('audit_events', [
    { ...event, id: randomUUID(), created_at: ago(retention.auditLogDays + 1) },
    { ...event, id: randomUUID(), created_at: ago(retention.auditLogDays - 1) },
  ])
  const change = { organization_id: organizationId, action: 'updated', source: 'person', changes: {} }
  for (const kind of ['contact', 'company', 'deal']) {
    await fixture.insert(`${kind}_changes`, [
      { ...change, [`${kind}_id`]: recordId, id: randomUUID(), created_at: ago(retention.historyDays + 1) },
      { ...change, [`${kind}_id`]: recordId, id: randomUUID(), created_at: ago(retention.historyDays - 1) },
    ])
  }
  for (const change of ['delete from audit_events', `update audit_events set action = 'any'`, 'truncate audit_events'])
    await expect(fixture.client.query(change)).rejects.toThrow(/append-only/)
  await fixture.round()
  expect(fixture.purged).toMatchObject({ 'audit events': 1, 'contact history': 1, 'deal history': 1 })
  for (const table of ['audit_events', 'contact_changes', 'company_changes', 'deal_changes'])
    expect([table, await fixture.count(table, `organization_id = '${organizationId}'`)]).toEqual([table, 1])
})
