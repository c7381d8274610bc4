import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '../../model/ids.ts'
import { createDatabase, type TestDatabase } from '../../../../test/postgres.ts'
import { callAs } from '../../../../test/people.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'

// A create that refers to other records looks them up and locks them in the statement that writes it.
let database: TestDatabase
let service: TestService
let organization: TestOrganization
let client: pg.Client
let companyId: string
beforeAll(async () => {
  database = await createDatabase()
  service = await startTestService({}, database)
  organization = await service.newOrganization()
  client = new pg.Client(database.connection)
  await client.connect()
  companyId = (await create('/v5/companies', { name: 'Engines', domain: 'engines.example' })).id
})
afterAll(async () => {
  await client.end()
  await service.close()
})

const post = (path: string, body: object, headers = {}) => organization.call('POST', path, { body, headers })
async function create(path: string, body: object): Promise<Json> {
  const { status, text, body: created } = await post(path, body)
  expect([status, text]).toEqual([201, text])
  return created
}
const uuidOf = (id: string) => decodeId(id.slice(0, 3), id)

async function countContacts(): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select (select count(*) from contacts)::integer + (select count(*) from root_contacts)::integer
      + (select count(*) from events where resource = 'contact')::integer as count`,
  )
  return rows[0]?.count ?? Number.NaN
}

test('a create with references returns the same as a read, and keeps what was sent', async () => {
  const { body: team } = await post('/v5/teams', { name: 'Sales' })
  const body = { email: 'ada@example.com', companyId, ownerId: organization.userId, teamId: team.id }
  const response = await post('/v5/contacts', body)
  expect(response.body).toMatchObject({
    ...body,
    company: { id: companyId, name: 'Engines', domain: 'engines.example' },
  })
  const read = await organization.call('GET', `/v5/contacts/${response.body.id}`)
  expect([read.body, read.headers.get('etag')]).toEqual([response.body, response.headers.get('etag')])
})

test('a create that names missing records reports all of them, as with an Idempotency-Key, and writes nothing', async () => {
  const before = await countContacts()
  const none = '0'.repeat(32)
  const { id: deleted } = await create('/v5/companies', { name: 'Gone' })
  await organization.call('DELETE', `/v5/companies/${deleted}`)
  const other = await service.newOrganization()
  const bodies = [
    { companyId: `com_${none}` },
    { companyId: deleted, ownerId: organization.userId },
    { companyId, ownerId: other.userId, teamId: `tea_${none}` },
    { companyId: `com_${none}`, ownerId: `usr_${none}`, teamId: other.teamId },
  ]
  for (const [index, body] of bodies.entries()) {
    const sent = { email: 'nobody@example.com', ...body }
    const single = await post('/v5/contacts', sent)
    const several = await post('/v5/contacts', sent, { 'idempotency-key': `missing-${index}` })
    expect([single.status, single.body.details]).toEqual([422, several.body.details])
  }
  expect(await countContacts()).toBe(before)
})

test('a taken address names its contact, in the team that was sent', async () => {
  const { body: team } = await post('/v5/teams', { name: 'Support' })
  const first = await create('/v5/contacts', { email: 'grace@example.com', companyId, teamId: team.id })
  await create('/v5/contacts', { email: 'grace@example.com', companyId })
  const again = await post('/v5/contacts', { email: 'grace@example.com', companyId, teamId: team.id })
  expect([again.status, again.body.details?.[0]?.id]).toEqual([409, first.id])
})

test('what a person enters with references is stored as edits', async () => {
  const asPerson = callAs(service, organization.accessToken)
  const { body } = await asPerson('POST', '/v5/contacts', { body: { name: 'Emmy', companyId, tags: ['a'] } })
  const { rows } = await client.query<{ field: string }>(
    'select field from contact_edits where contact_id = $1 order by 1',
    [uuidOf(body.id)],
  )
  const fields = rows.map(({ field }) => field)
  expect(fields).toEqual(expect.arrayContaining(['companyId', 'name', 'tags']))
  expect(fields).not.toContain('nickname')
})

/** Sends a create while this statement about the company is not committed. */
async function createDuring(statement: string): Promise<Awaited<ReturnType<typeof post>>> {
  await client.query('begin')
  await client.query('select from companies where id = $1 for update', [uuidOf(companyId)])
  await client.query(statement, [uuidOf(companyId)])
  const creating = post('/v5/contacts', { name: 'Waiting', companyId })
  // It has to wait for the lock.
  for (let waiting = 0; waiting === 0; await delay(20)) {
    // A transaction sees the sessions as they were at its first look.
    await client.query('select pg_stat_clear_snapshot()')
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::integer as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    )
    waiting = rows[0]?.count ?? 0
  }
  await client.query('commit')
  return creating
}

test('a create that waits for a renamed company returns its new name, and none is made for one that is deleted', async () => {
  await create('/v5/contacts', { name: 'First', companyId })
  const renamed = await createDuring(`update companies set name = 'Looms' where id = $1`)
  expect(renamed.body.company).toEqual({ id: companyId, name: 'Looms', domain: 'engines.example' })
  const before = await countContacts()
  const refused = await createDuring('update companies set deleted_at = now() where id = $1')
  expect(refused.body.details).toEqual([{ field: 'companyId', message: 'no company with this id exists' }])
  expect(await countContacts()).toBe(before)
})
