import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PurgeRounds } from '../src/platform/operations/maintenance/maintenance.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { retentionPolicies } from '../src/retention-policies.ts'
import { createDatabase } from './postgres.ts'
import { until } from './processes.ts'
import { expectRefusal } from './refusals.ts'
import { type Json, startTestService, type TestOrganization, type TestService, withoutBackground } from './service.ts'
import { disableAdvisoryLocks } from './without-safeguards.ts'

let service: TestService
let organization: TestOrganization
let connection: pg.ClientConfig
let client: pg.Client
beforeAll(async () => {
  const database = await createDatabase()
  connection = database.connection
  await disableAdvisoryLocks(connection)
  // Without purges of its own.
  service = await startTestService(withoutBackground, database)
  organization = await service.newOrganization()
  client = new pg.Client(connection)
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await service.close()
})

const create = async (path: string, body: Json): Promise<Json> => (await organization.call('POST', path, { body })).body
const rows = async (statement: string): Promise<Json[]> => (await client.query(statement)).rows
const count = async (table: string) => (await rows(`select count(*)::int as count from ${table}`))[0]?.count
const uuid = (prefix: string, id: string) => decodeId(prefix, id) ?? ''

/** Waits until this many sessions wait for a lock. */
const waitForLocks = (sessions: number) =>
  until('sessions wait for a lock', async () => {
    // A transaction sees the sessions as they were at its first look.
    await rows('select pg_stat_clear_snapshot()')
    const waiting = await rows(`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and pid <> pg_backend_pid()`)
    return waiting.length === sessions
  })

/** Rounds of two processes at the same time. */
async function purgeTwice(): Promise<Record<string, number>> {
  const purged: Record<string, number> = {}
  const process = () =>
    new PurgeRounds({
      database: service.database,
      log: { error: (error: unknown) => expect.unreachable(JSON.stringify(error)) } as never,
      retentionPolicies: retentionPolicies({ importRowsDays: 90, auditLogDays: 0, historyDays: 0, eventDays: 30 }),
      purged: (name, added) => (purged[name] = (purged[name] ?? 0) + added),
    }).run()
  for (let round = 0; round < 2; round++) await Promise.all([process(), process()])
  return purged
}

test('without locks, purged records take along their renderings and unused root contacts', async () => {
  const company = await create('/v5/companies', { name: 'Engines' })
  const moved = await create('/v5/contacts', { email: 'ada@example.com' })
  const contacts = await Promise.all(
    Array.from({ length: 60 }, (_, index) => create('/v5/contacts', { email: `${index}@example.com` })),
  )
  await organization.call('PATCH', `/v5/contacts/${moved.id}`, { body: { email: 'lovelace@example.com' } })
  for (const { id } of contacts) await organization.call('DELETE', `/v5/contacts/${id}`)
  await organization.call('DELETE', `/v5/companies/${company.id}`)
  for (const table of ['contacts', 'companies'])
    await client.query(`update ${table} set deleted_at = deleted_at - interval '31 days' where deleted_at is not null`)
  const purged = await purgeTwice()
  expect(purged).toEqual({ contacts: 60, companies: 1 })
  expect([await count('contact_renderings'), await count('company_renderings')]).toEqual([1, 0])
  expect(await count('root_contacts')).toBe(62)
  await client.query(`update root_contacts_left set left_at = left_at - interval '61 minutes'`)
  expect(await purgeTwice()).toEqual({ root_contacts: 61 })
  expect(await rows('select email_key from root_contacts')).toEqual([{ email_key: 'lovelace@example.com' }])
  expect(await count('root_contacts_left')).toBe(0)
})

test('without locks, of two requests with the same Idempotency-Key one commits and the other gets 409', async () => {
  const name = randomUUID()
  const headers = { 'idempotency-key': randomUUID() }
  const send = () => organization.call('POST', '/v5/contacts', { body: { name }, headers })
  // Both have read that there is no response, and wait to create the contact.
  await client.query('begin')
  await client.query('lock table contacts in share mode')
  const requests = [send(), send()]
  await waitForLocks(2)
  await client.query('commit')
  const responses = await Promise.all(requests)
  expect(responses.map(({ status }) => status).sort()).toEqual([201, 409])
  const [refused] = responses.filter(({ status }) => status === 409)
  if (!refused) expect.unreachable()
  expectRefusal(refused, 409, 'idempotency_in_progress')
  expect(refused.headers.get('retry-after')).toBe('1')
  const again = await send()
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
  expect((await rows(`select from contacts where name = '${name}'`)).length).toBe(1)
})

test('a response that has expired is replaced', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const send = () => organization.call('POST', '/v5/contacts', { body: { name: 'Ada' }, headers })
  const first = await send()
  await client.query(`update idempotency_answers set created_at = created_at - interval '24 hours'`)
  const second = await send()
  expect(second.status).toBe(201)
  expect(second.body.id).not.toBe(first.body.id)
  expect((await send()).text).toBe(second.text)
})

test('no record gets an owner who is being removed, and a removal waits for records that get the person as owner', async () => {
  const other = await service.newOrganization()
  const person = uuid('usr', other.userId)
  const inOrganization = uuid('org', organization.organizationId)
  await client.query(
    `insert into members (organization_id, user_id, role) values ('${inOrganization}', '${person}', 'member')`,
  )
  const removal = `delete from members where organization_id = '${inOrganization}' and user_id = '${person}'`
  const send = (email: string) => organization.call('POST', '/v5/contacts', { body: { email, ownerId: other.userId } })
  const holder = await create('/v5/contacts', { email: 'holder@example.com' })

  // The record's statement has checked its owner and waits for its address: the removal cannot overtake it.
  const blocker = new pg.Client(connection)
  await blocker.connect()
  await blocker.query('begin')
  await blocker.query(`update contacts set email_key = 'first@example.com' where id = '${uuid('con', holder.id)}'`)
  const first = send('first@example.com')
  await waitForLocks(1)
  await client.query(`set lock_timeout = '200ms'`)
  await expect(client.query(removal)).rejects.toThrow(/lock timeout/)
  await client.query('reset lock_timeout')
  await blocker.query('rollback')
  await blocker.end()
  expect((await first).status).toBe(201)

  // The removal is not committed yet: the check of the owner waits for it.
  await client.query('begin')
  await client.query(removal)
  const second = send('second@example.com')
  await waitForLocks(1)
  await client.query('commit')
  expect(await second).toMatchObject({ status: 422, body: { details: [{ field: 'ownerId' }] } })
})
