import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { contacts } from '../../../crm/contacts/resource.ts'
import { contactStore } from '../../../crm/contacts/store.ts'
import { isDistributed } from '../../../../test/engines.ts'
import { until } from '../../../../test/processes.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'
import { serviceActor } from '../../model/caller.ts'
import { decodeId, encodeId } from '../../model/ids.ts'
import { type Sql, sql } from '../../model/sql.ts'
import { maintainIndexes } from './index-builds.ts'

let service: TestService
let organization: TestOrganization
let propertyId: string
let ids: string[]
const query = <Row extends object>(statement: Sql): Promise<Row[]> =>
  service.database.crossTenantQuery<Row>('check the database', statement)

/** While somebody holds this lock, each new entry of an index waits for it: in a trigger, which Citus refuses. */
const lock = 4712

beforeAll(async () => {
  service = await startTestService()
  if (isDistributed()) return
  await query(sql`create function wait_for_lock() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock_shared(4712); return new; end'`)
  await query(sql`create trigger wait before insert on property_entries for each row execute function wait_for_lock()`)
})
afterAll(() => service.close())

/** An organization with a property and 40 contacts that have it. */
beforeEach(async () => {
  organization = await service.newOrganization()
  const body = { resource: 'contacts', key: 'score', type: 'number', label: 'Score' }
  propertyId = (await organization.call('POST', '/v5/properties', { body })).body.id
  const changes = Array.from({ length: 40 }, (_, score) => creation(score))
  const written = await service.database.transaction(actor(), (transaction) => contactStore.write(transaction, changes))
  ids = written.map(({ id }) => encodeId('con', id))
})

const uuid = () => decodeId('org', organization.organizationId) ?? ''
const actor = () => serviceActor('command', uuid(), decodeId('usr', organization.userId))
const creation = (score: number) => ({ kind: 'create' as const, values: { name: 'Ada', customProperties: { score } } })
const setIndexed = (indexed: boolean) =>
  organization.call('PATCH', `/v5/properties/${propertyId}`, { body: { indexed } })
const setScore = (id: string | undefined, score: number | null) =>
  organization.call('PATCH', `/v5/contacts/${id}`, { body: { customProperties: { score } } })
const state = async (): Promise<string> =>
  (await organization.call('GET', `/v5/properties/${propertyId}`)).body.indexState

const build = (errors: unknown[] = []) =>
  maintainIndexes(
    { database: service.database, definable: [contacts], onError: (error) => void errors.push(error) },
    new AbortController().signal,
    7,
  )

async function buildUntilReady(): Promise<void> {
  await vi.waitFor(
    async () => {
      await build()
      expect(await state()).toBe('ready')
    },
    { timeout: 20_000 },
  )
}

/** The differences between the entries and the values of the records that are not deleted. */
async function differences(): Promise<object[]> {
  const stored = sql`select record_id, value_hash, number, created_at from property_entries
    where organization_id = ${uuid()}::uuid`
  const expected = sql`select record.id, entry.value_hash, entry.number, record.created_at
    from property_indexes index join contacts record using (organization_id)
    cross join lateral property_values_of(index.id, index.type, '', record.custom_properties -> index.key) entry
    where organization_id = ${uuid()}::uuid and record.deleted_at is null and index.state <> 'dropped'`
  return query(sql`(${stored} except ${expected}) union all (${expected} except ${stored})`)
}

const countOf = async (score: number): Promise<number> =>
  (await organization.call('GET', `/v5/contacts/count?customProperties.score=${score}`)).body.count

/** Runs while nobody can add entries; resolves once the work has begun to wait for it. */
async function whileEntriesWait(work: () => Promise<void>): Promise<void> {
  await service.database.crossTenantTransaction(
    'check the database',
    async (connection) => {
      await connection.query(sql`select pg_advisory_xact_lock(${lock})`)
      await work()
    },
    { timeout: 20_000 },
  )
}

const waitingFor = (kind: string) =>
  vi.waitFor(
    async () => {
      const rows = await query<{ pid: number }>(
        sql`select pid from pg_stat_activity where datname = current_database() and wait_event = ${kind}`,
      )
      expect(rows.length).toBeGreaterThan(0)
      return rows
    },
    { timeout: 10_000 },
  )

test.skipIf(isDistributed())(
  'a record whose transaction began before its property was indexed is found through the index',
  async () => {
    let release = () => undefined as void
    const isReleased = new Promise<void>((resolve) => (release = resolve))
    let isWritten = () => undefined as void
    const written = new Promise<void>((resolve) => (isWritten = resolve))
    const writing = service.database.transaction(actor(), async (transaction) => {
      await contactStore.write(transaction, [creation(1000)])
      isWritten()
      await isReleased
    })
    await written
    const indexing = setIndexed(true)
    await waitingFor('transactionid')
    // Nothing can be indexed before the record is committed.
    expect(await state()).toBe('none')
    release()
    await writing
    expect((await indexing).status).toBe(200)
    await buildUntilReady()
    expect(await differences()).toEqual([])
    expect(await countOf(1000)).toBe(1)
  },
)

test.skipIf(isDistributed())(
  'a change of a record during the construction comes completely before or after its indexing',
  async () => {
    await setIndexed(true)
    let building: Promise<unknown> = Promise.resolve()
    let changing: Promise<unknown> = Promise.resolve()
    await whileEntriesWait(async () => {
      building = build()
      await waitingFor('advisory')
      changing = Promise.all([
        setScore(ids[0], 2000),
        setScore(ids[1], null),
        organization.call('DELETE', `/v5/contacts/${ids[2]}`),
      ])
      await waitingFor('transactionid')
    })
    await Promise.all([building, changing])
    await buildUntilReady()
    expect(await differences()).toEqual([])
    expect(await Promise.all([2000, 0, 1, 2, 3].map(countOf))).toEqual([1, 0, 0, 0, 1])
  },
)

test.skipIf(isDistributed())(
  'an index that was interrupted anywhere is continued by another process, without gaps or repetitions',
  async () => {
    const errors: unknown[] = []
    const terminateBuilder = async () => {
      const [waiting] = await waitingFor('advisory')
      await query(sql`select pg_terminate_backend(${waiting?.pid}::int)`)
    }
    await whileEntriesWait(async () => {
      await setIndexed(true)
      // The service's own builder tries again in a minute.
      await terminateBuilder()
    })
    for (let round = 0; round < 4; round++) {
      await whileEntriesWait(async () => {
        const building = build(errors).catch((error: unknown) => void errors.push(error))
        await terminateBuilder()
        await building
      })
      // One step succeeds.
      await setScore(ids[round], 3000 + round)
    }
    await Promise.all([
      build(),
      build(),
      setScore(ids[20], 5),
      organization.call('POST', '/v5/contacts', { body: { name: 'Ada', customProperties: { score: 5 } } }),
    ])
    await buildUntilReady()
    expect(await differences()).toEqual([])
    expect(await countOf(5)).toBe(3)
  },
)

test('deleted records leave the index and restored ones return; a dropped index is emptied and can be declared again', async () => {
  await setIndexed(true)
  await buildUntilReady()
  const entries = async () =>
    (await query(sql`select from property_entries where organization_id = ${uuid()}::uuid`)).length
  await organization.call('DELETE', `/v5/contacts/${ids[7]}`)
  expect([await countOf(7), await entries()]).toEqual([0, 39])
  await organization.call('POST', `/v5/contacts/${ids[7]}/restore`)
  expect([await countOf(7), await entries(), await differences()]).toEqual([1, 40, []])
  await setIndexed(false)
  expect([await state(), await countOf(7)]).toEqual(['none', 1])
  await setScore(ids[8], 7)
  // The service builds the new index at once.
  await whileEntriesWait(async () => {
    await setIndexed(true)
    expect([await state(), await countOf(7)]).toEqual(['building', 2])
  })
  await buildUntilReady()
  await until('the entries of the dropped index are gone', async () => {
    await build()
    return (await differences()).length === 0
  })
  expect(await countOf(7)).toBe(2)
  await organization.call('DELETE', `/v5/properties/${propertyId}`)
  await until('the entries are gone', async () => {
    await build()
    return (await entries()) === 0
  })
  expect(await query(sql`select from property_indexes where organization_id = ${uuid()}::uuid`)).toEqual([])
  expect(await countOf(7)).toBe(2)
})
