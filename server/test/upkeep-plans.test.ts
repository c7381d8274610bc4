import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expiredSql, type RetentionPolicy } from '../src/platform/maintenance/retention-store.ts'
import { resources } from '../src/app.ts'
import { retentionPolicies } from '../src/retention-policies.ts'
import { explain, recordsRead } from './explain.ts'
import { leastRow } from './table-rows.ts'
import { ago, importRowsDays, upkeepWorld, type UpkeepWorld } from './upkeep-world.ts'

const all = retentionPolicies({ importRowsDays })
const kept = 400
const over = 7

let world: UpkeepWorld
beforeAll(async () => {
  world = await upkeepWorld()
  const organization_id = randomUUID()
  const [user, team, home] = [randomUUID(), randomUUID(), randomUUID()]
  await world.insert('organizations', [{ id: organization_id, name: 'Any', slug: organization_id }])
  await world.insert('users', [{ id: user, email: 'a@b.com', email_key: 'a@b.com', name: 'Any' }])
  await world.insert('teams', [{ organization_id, id: team, name: 'Any' }])
  await world.insert('imports', [{ organization_id, id: home, name: 'Any', team_id: team }])
  await world.insert('root_contacts', [{ organization_id, id: home }])
  await world.insert('contacts', [{ organization_id, id: home, team_id: team, root_contact_id: home }])
  const connection = { name: 'Any', issuer: 'https://id.example', client_id: 'any', enabled: true }
  await world.insert('sso_connections', [{ organization_id, id: home, ...connection }])
  const key = { hash: hash(), name: 'Any', scopes: [], created_by: user }
  await world.insert('api_keys', [{ organization_id, id: home, ...key }])
  const hashes = () => ({ key_hash: hash(), request_hash: hash() })
  const shapes: Record<string, () => Record<string, unknown>> = {
    contacts: () => ({ id: randomUUID(), team_id: team, root_contact_id: home }),
    imports: () => ({ id: randomUUID(), name: 'Any', team_id: team }),
    teams: () => ({ id: randomUUID(), name: randomUUID() }),
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
    api_key_previous_hashes: () => ({ hash: hash(), api_key_id: home }),
    root_contacts_left: () => ({ id: randomUUID() }),
    import_rows: () => ({ id: randomUUID(), import_id: home, status: 'PROCESSED', payload: {} }),
    import_push_keys: () => ({ import_id: home, row_id: randomUUID(), ...hashes() }),
    import_triggers: () => ({ import_id: home, hash: hash() }),
    idempotency_answers: () => ({ credential_id: randomUUID(), ...hashes(), answer_encrypted: hash() }),
    sessions: () => ({ id: randomUUID(), user_id: user, nonce: hash(), proved_at: ago(0), expires_at: ago(-1) }),
    sso_steps: () => ({ hash: hash(), kind: 'flow', connection_id: home }),
    spent_challenges: () => ({ hash: hash() }),
    factor_failures: () => ({ id: randomUUID(), user_id: user, kind: 'totp', place: 'session' }),
    mails: () => ({ id: randomUUID(), ...mail, ended_at: ago(0) }),
  }
  for (const { table, since, ttlSeconds: keptSeconds, isPersonal } of all) {
    const resource = resources.find((one) => one.table === table)
    const known = { contacts: home, imports: home, teams: team }
    const shape = shapes[table] ?? (resource && (() => leastRow(resource, known)))
    if (!shape) throw new Error(`say what a row of ${table} looks like`)
    const days = keptSeconds / 86_400
    const rows = Array.from({ length: kept + over }, (_, index) => ({
      ...(!isPersonal && { organization_id }),
      ...shape(),
      [since]: index < over ? ago(days + 1 + index) : ago(days - 0.01 * (1 + index / kept)),
    }))
    await world.insert(table, rows)
  }
  await world.client.query('analyze; set enable_seqscan = off; set enable_bitmapscan = off; set timezone = utc')
})
afterAll(() => world.close())

const mail = { kind: 'sign-up', recipient: 'a@b.c', recipient_key: 'a@b.c', status: 'kept', run_at: null }

const hash = () => `\\x${randomUUID().replaceAll('-', '')}`

test.each(all.map((one): [string, RetentionPolicy] => [one.name, one]))(
  '%s: what is over is found by an index that has nothing else to look at, from the start and from a place',
  async (_, perishable) => {
    const nodes = await explain(world.client, expiredSql(perishable, { limit: 100, after: undefined }))
    expect(recordsRead(nodes)).toBe(over)
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan')
    const { text, values } = expiredSql(perishable, { limit: 3, after: undefined }).render()
    const first = await world.client.query(text, values)
    const rest = expiredSql(perishable, { limit: 100, after: first.rows[2] })
    // The place itself is looked at again where the index does not have all of the key.
    expect(recordsRead(await explain(world.client, rest))).toBeLessThanOrEqual(over - 3 + 1)
  },
)
