import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { decodeId } from '../platform/model/ids.ts'
import { type Sql, sql } from '../platform/model/sql.ts'
import { isDistributed } from '../../test/engines.ts'
import { expectPlaced } from '../../test/feed-audit.ts'
import { numberOf, readPages } from '../../test/feed-readers.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
  withoutBackground,
} from '../../test/service.ts'
import { placeEvents } from './positions-store.ts'

let database: TestDatabase
let service: TestService
let organization: TestOrganization
let call: Call
beforeAll(async () => {
  database = await createDatabase()
  // Positions are given to readers only.
  service = await startTestService(withoutBackground, database)
})
beforeEach(async () => {
  organization = await service.newOrganization()
  call = organization.call
})
afterAll(() => service.close())

async function create(path: string, body: object): Promise<Json> {
  const created = await call('POST', path, { body })
  expect(created.status, created.text).toBe(201)
  return created.body
}

const uuid = () => decodeId('org', organization.organizationId) ?? ''
const query = (statement: Sql) => service.database.crossTenantQuery<Json>('check the database', statement)

async function follow(after = 'start', parameters = ''): Promise<Json[]> {
  const reader = readPages(call, { limit: 1000, wait: 0, after, query: parameters })
  const { position } = (await call('GET', '/v5/events/position')).body
  await reader.finish(position, Infinity)
  return [...reader.events]
}

const position = async (): Promise<string> => (await call('GET', '/v5/events/position')).body.position

/** Events of campaigns that are not there, in one statement. */
const insertEvents = `insert into events (organization_id, id, resource, is_history, record_id, kind, revision, source,
    changes, "values")
  select $1, new_id(), 'campaign', false, new_id(), 'created', 1, 'command', '[]', '{"name":"Any"}'
  from generate_series(1, $2::integer)`

/** Runs in a session of its own, which ends afterwards. */
async function inSession<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client(database.connection)
  client.on('error', () => undefined)
  await client.connect()
  return work(client).finally(() => client.end())
}

test('a transaction that writes first and commits last comes last, and leaves no gap', async () => {
  const after = await position()
  await inSession(async (client) => {
    await client.query('begin')
    await client.query(insertEvents, [uuid(), 1])
    const company = await create('/v5/companies', { name: 'Engines' })
    const before = await follow(after)
    expect(before.map(({ recordId }) => recordId)).toEqual([company.id])
    await client.query('commit')
    const late = await follow(before[0].position)
    expect(late.map(({ type }) => type)).toEqual(['campaign.created'])
    expect(numberOf(late[0].position)).toBe(numberOf(before[0].position) + 1)
  })
  await expectPlaced(service.database, organization.organizationId)
})

test('the changes of a record are in their order, also if the clock was set back between them', async () => {
  const after = await position()
  const { id } = await create('/v5/companies', { name: 'First' })
  await create('/v5/contacts', { name: 'Ada' })
  for (const name of ['Second', 'Third']) await call('PATCH', `/v5/companies/${id}`, { body: { name } })
  for (const revision of [2, 3]) {
    const earlier = new Date(Date.now() - revision * 60_000)
    await query(sql`update events set written_at = ${earlier}::timestamptz
      where organization_id = ${uuid()}::uuid and record_id = ${decodeId('com', id)}::uuid
        and revision = ${revision}::integer and "position" is null returning id`)
  }
  const own = (await follow(after)).filter(({ recordId }) => recordId === id)
  expect(own.map(({ values }) => values.name)).toEqual(['First', 'Second', 'Third'])
})

test('a reader that finds many thousand events without positions gets all of them, and knows when it has', async () => {
  // Its subject is a single server; on Citus, each step takes longer.
  const count = isDistributed() ? 10_000 : 100_000
  const after = await position()
  await inSession((client) => client.query(insertEvents, [uuid(), count]))
  const nothing = await call('GET', `/v5/events?after=${after}&resource=deal`)
  expect(nothing.body).toMatchObject({ events: [], hasMore: true })
  const deals = readPages(call, { limit: 1, wait: 1, after, query: '&resource=deal' })
  const { id } = await create('/v5/deals', { name: 'The last' })
  await deals.finish(await position(), 1)
  expect(deals.events.map(({ recordId }) => recordId)).toEqual([id])
  const all = await follow(after)
  expect(all.map((event) => numberOf(event.position) - numberOf(after))).toEqual(all.map((_, index) => index + 1))
  expect(all).toHaveLength(count + 1)
  await expectPlaced(service.database, organization.organizationId)
})

test.skipIf(isDistributed())(
  'when the session that gives positions is ended before its commit, they are given again without a gap',
  async () => {
    const after = await position()
    await inSession((client) => client.query(insertEvents, [uuid(), 3]))
    await inSession(async (client) => {
      await client.query('begin')
      await client.query('select from events where organization_id = $1 and "position" is null for update', [uuid()])
      const placing = placeEvents(service.database, uuid()).catch((error: unknown) => error)
      const isPlacing = `wait_event_type = 'Lock' and query like '%"position" = waiting."position"%'`
      const ended = 'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and '
      await until(
        'positions are being given',
        async () =>
          (
            await query(sql`select 1 as found from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`)
          ).length > 0,
      )
      const { rowCount } = await client.query(ended + isPlacing)
      expect(rowCount).toBe(1)
      await client.query('rollback')
      expect(await placing).toBeInstanceOf(Error)
    })
    const events = await follow(after)
    expect(events.map((event) => numberOf(event.position) - numberOf(after))).toEqual([1, 2, 3])
    await expectPlaced(service.database, organization.organizationId)
  },
)
