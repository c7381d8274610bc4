import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expiredSql, type RetentionPolicy } from './retention-store.ts'
import { resources } from '../../../app.ts'
import { retentionPolicies } from '../../../retention-policies.ts'
import { isDistributed } from '../../../../test/engines.ts'
import { explain, recordsRead } from '../../../../test/explain.ts'
import { eventRow } from '../../../../test/purged-events.ts'
import { minimalRow } from '../../../../test/table-rows.ts'
import {
  ago,
  retention,
  createMaintenanceFixture,
  type MaintenanceFixture,
} from '../../../../test/maintenance-fixture.ts'

const policies = retentionPolicies(retention)
const storedCount = 400
const expiredCount = 7

let fixture: MaintenanceFixture
beforeAll(async () => {
  fixture = await createMaintenanceFixture()
  const organization_id = randomUUID()
  const [user, team, recordId] = [randomUUID(), randomUUID(), randomUUID()]
  await fixture.insert('organizations', [{ id: organization_id, name: 'Any', slug: organization_id }])
  await fixture.insert('users', [{ id: user, email: 'a@b.com', email_key: 'a@b.com', name: 'Any' }])
  await fixture.insert('teams', [{ organization_id, id: team, name: 'Any' }])
  await fixture.insert('imports', [{ organization_id, id: recordId, name: 'Any', team_id: team }])
  await fixture.insert('root_contacts', [{ organization_id, id: recordId }])
  await fixture.insert('contacts', [{ organization_id, id: recordId, team_id: team, root_contact_id: recordId }])
  await fixture.insert('pipelines', [{ organization_id, id: recordId, name: 'Any' }])
  const place = { pipeline_id: recordId, position: 0 }
  await fixture.insert('stages', [{ organization_id, id: recordId, name: 'Any', probability: 0, ...place }])
  const deal = { name: 'Any', currency: 'EUR', stage_id: recordId, stage_changed_at: ago(0), ...place }
  await fixture.insert('deals', [{ organization_id, id: recordId, ...deal }])
  const connection = { name: 'Any', issuer: 'https://id.example', client_id: 'any', enabled: true }
  await fixture.insert('sso_connections', [{ organization_id, id: recordId, ...connection }])
  const webhook = { url: 'https://example.com', created_by: user }
  await fixture.insert('webhooks', [{ organization_id, id: recordId, ...webhook }])
  const key = { hash: hash(), name: 'Any', scopes: [], created_by: user }
  await fixture.insert('api_keys', [{ organization_id, id: recordId, ...key }])
  const hashes = () => ({ key_hash: hash(), request_hash: hash() })
  const rowFactories: Record<string, () => Record<string, unknown>> = {
    contacts: () => ({ id: randomUUID(), team_id: team, root_contact_id: recordId }),
    imports: () => ({ id: randomUUID(), name: 'Any', team_id: team }),
    teams: () => ({ id: randomUUID(), name: randomUUID() }),
    pipelines: () => ({ id: randomUUID(), name: randomUUID() }),
    notes: () => ({ id: randomUUID(), contact_id: recordId, body: 'Any' }),
    invitations: () => ({
      id: randomUUID(),
      email: 'a@b.c',
      email_key: randomUUID(),
      role: 'member',
      expires_at: ago(0),
    }),
    login_failures: () => ({ id: randomUUID(), account_key: hash(), address: '192.0.2.1', source: 'stranger' }),
    one_time_tokens: () => ({ hash: hash(), purpose: 'sign-up' }),
    pending_logins: () => ({ id: randomUUID(), hash: hash(), user_id: user, wants_cookie: false }),
    api_key_previous_hashes: () => ({ hash: hash(), api_key_id: recordId }),
    root_contacts_left: () => ({ id: randomUUID() }),
    import_rows: () => ({ id: randomUUID(), import_id: recordId, status: 'PROCESSED', payload: {} }),
    import_push_keys: () => ({ import_id: recordId, row_id: randomUUID(), ...hashes() }),
    refused_pushes: () => ({ id: randomUUID(), import_id: recordId, ...refused, address: '-' }),
    refused_senders: () => ({ import_id: recordId, ...refused, sender: randomUUID(), refused: 1, since: ago(0) }),
    refused_push_counts: () => ({ import_id: recordId, code: randomUUID(), count: 1 }),
    import_pushed_bytes: () => ({ import_id: recordId, slot: 0, bytes: 1 }),
    import_triggers: () => ({ import_id: recordId, hash: hash() }),
    import_secrets: () => ({ import_id: recordId, hash: hash() }),
    idempotency_answers: () => ({ credential_id: randomUUID(), ...hashes(), answer_encrypted: hash() }),
    sessions: () => ({ id: randomUUID(), user_id: user, nonce: hash(), proved_at: ago(0), expires_at: ago(-1) }),
    sso_steps: () => ({ hash: hash(), kind: 'flow', connection_id: recordId }),
    spent_challenges: () => ({ hash: hash() }),
    factor_failures: () => ({ id: randomUUID(), user_id: user, kind: 'totp', place: 'session' }),
    audit_events: () => ({ id: randomUUID(), action: 'any', actor_kind: 'command' }),
    history: () => eventRow({ organization_id, record_id: randomUUID() }),
    events: () => eventRow({ organization_id, record_id: randomUUID() }, false),
    inbox_entries: () => ({
      ...{ id: randomUUID(), user_id: user, kind: 'assigned', resource: 'tasks', record_id: randomUUID() },
      key: randomUUID(),
    }),
    webhook_secrets: () => ({ webhook_id: recordId, id: randomUUID(), secret_sealed: hash() }),
    presences: () => ({ session_id: randomUUID(), tab: 'main', user_id: user, places: '[]' }),
    webhook_deliveries: () => ({
      ...{
        webhook_id: recordId,
        id: randomUUID(),
        event_id: randomUUID(),
        type: 'contact.created',
        record_id: 'con_1',
      },
      status: 'delivered',
    }),
    contact_changes: () => ({ id: randomUUID(), contact_id: recordId, ...recordChange }),
    company_changes: () => ({ id: randomUUID(), company_id: recordId, ...recordChange }),
    deal_changes: () => ({ id: randomUUID(), deal_id: recordId, ...recordChange }),
    mails: () => ({ id: randomUUID(), ...mail, ended_at: ago(0) }),
  }
  for (const { name, table, since, ttlSeconds, isPersonal } of policies) {
    const resource = resources.find((one) => one.table === table)
    const rowIds = {
      contacts: recordId,
      imports: recordId,
      teams: team,
      pipelines: recordId,
      stages: recordId,
      deals: recordId,
    }
    const createRow = rowFactories[name] ?? rowFactories[table] ?? (resource && (() => minimalRow(resource, rowIds)))
    if (!createRow) throw new Error(`add a row of ${table} to rowFactories`)
    const days = ttlSeconds / 86_400
    const rows = Array.from({ length: storedCount + expiredCount }, (_, index) => ({
      ...(!isPersonal && { organization_id }),
      ...createRow(),
      [since]: index < expiredCount ? ago(days + 1 + index) : ago(days - 0.01 * (1 + index / storedCount)),
    }))
    await fixture.insert(table, rows)
  }
  await fixture.client.query('analyze; set enable_seqscan = off; set enable_bitmapscan = off; set timezone = utc')
})
afterAll(() => fixture.close())

const refused = { code: 'any', message: 'any', sender: '-' }
const recordChange = { action: 'updated', source: 'person', changes: {} }
const mail = { kind: 'sign-up', recipient: 'a@b.c', recipient_key: 'a@b.c', status: 'kept', run_at: null }

const hash = () => `\\x${randomUUID().replaceAll('-', '')}`

test.skipIf(isDistributed()).each(policies.map((one): [string, RetentionPolicy] => [one.name, one]))(
  '%s: expired rows are found with an index that reads no other rows, from the start and from a position',
  async (_, policy) => {
    const nodes = await explain(fixture.client, expiredSql(policy, { limit: 100, after: undefined }))
    expect(recordsRead(nodes)).toBe(expiredCount)
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan')
    const { text, values } = expiredSql(policy, { limit: 3, after: undefined }).render()
    const first = await fixture.client.query(text, values)
    const rest = expiredSql(policy, { limit: 100, after: first.rows[2] })
    // The row of the position is read again if the index does not contain the whole key.
    expect(recordsRead(await explain(fixture.client, rest))).toBeLessThanOrEqual(expiredCount - 3 + 1)
  },
)
