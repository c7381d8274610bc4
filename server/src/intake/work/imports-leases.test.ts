import { afterEach, beforeEach, expect, test as anyTest } from 'vitest'
import { serviceActor } from '../../platform/model/caller.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { processClaim } from './batch.ts'
import { type Claim, claimRows, failRow, releaseRows } from './work-store.ts'
import { isDistributed } from '../../../test/engines.ts'
import { audit, countsOf, newFullLead, failureCountsOf, untilFinished } from '../../../test/import-audit.ts'
import { onlyOnSingleServer } from '../../../test/single-server.ts'
import { type Breakpoints, createBreakpoints } from '../../../test/import-breakpoints.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { pusher } from '../../../test/pushes.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

/** Breakpoints are triggers, which Citus refuses. */
const test = anyTest.skipIf(isDistributed())

let testDatabase: TestDatabase
let breakpoints: Breakpoints
let service: TestService
let organization: TestOrganization

async function start(environment: Record<string, string>): Promise<void> {
  service = await startTestService(environment, { ...testDatabase, drop: async () => undefined })
  organization = await service.newOrganization()
}

beforeEach(async () => {
  testDatabase = await createDatabase()
  breakpoints = await createBreakpoints(testDatabase.connection)
})
afterEach(async () => {
  await service.close()
  await breakpoints.end()
  await testDatabase.drop()
})

async function pushMany(leads: readonly unknown[]): Promise<string[]> {
  const push = pusher(service, new URL(organization.triggerUrl).pathname)
  const responses = await Promise.all(leads.map((lead) => push(lead)))
  expect(responses.map(({ status }) => status)).toEqual(leads.map(() => 200))
  return responses.map(({ body }) => body.id)
}

const fullLeads = (count: number): unknown[] => Array.from({ length: count }, () => newFullLead())

const claim = (leaseSeconds: number): Promise<Claim> =>
  service.database.transaction(
    serviceActor('work', decodeId('org', organization.organizationId) ?? ''),
    (transaction) => claimRows(transaction, { maxRows: 100, leaseSeconds }),
  )

const retryPolicy = { attempts: 8, firstDelaySeconds: 1, maxDelaySeconds: 1 }

test('a worker whose lease was taken over can neither write, finish nor release rows', async () => {
  await start({})
  const accepted = await pushMany(fullLeads(5))
  const late = await claim(0)
  const current = await claim(60)
  expect(late.rowIds).toHaveLength(5)
  expect(current.rowIds).toEqual(late.rowIds)
  await processClaim(service.database, late)
  for (const rowId of late.rowIds) await failRow(service.database, { ...late, rowIds: [rowId] }, retryPolicy)
  await releaseRows(service.database, late)
  await releaseRows(service.database, { ...late, rowIds: 'all' })
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSING: 5 })
  expect((await organization.call('GET', '/v5/contacts/count')).body).toEqual({ count: 0 })

  await processClaim(service.database, current)
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: 5 })
  // The worker that finished the rows cannot process them again.
  await processClaim(service.database, current)
  await processClaim(service.database, late)
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: 5 })
  expect((await organization.call('GET', '/v5/notes/count')).body).toEqual({ count: 5 })
})

test('rows whose lease expires during their write are not claimed by another worker', async () => {
  await start({})
  const accepted = await pushMany(fullLeads(5))
  await breakpoints.pauseAt('finishing')
  const first = await claim(0)
  const working = processClaim(service.database, first)
  await breakpoints.untilPausedAt('finishing')
  expect((await claim(60)).rowIds).toEqual([])
  await breakpoints.resume('finishing')
  await working
  expect((await claim(60)).rowIds).toEqual([])
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: 5 })
})

test('a batch that cannot get its lock again after a deadlock is released as a whole', async (context) => {
  onlyOnSingleServer(context, 'its tables have no triggers, with which this test makes rows fail')
  await start({ IMPORT_WORKERS: '1', IMPORT_LEASE_SECONDS: '3600' })
  // The first write fails with a deadlock as soon as another session waits for the lock.
  await breakpoints.query(`
    create sequence inserts;
    create function fail() returns trigger language plpgsql as $$ begin
      if nextval('inserts') > 1 then return null; end if;
      while not exists (select from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))) loop
        perform pg_sleep(0.01);
      end loop;
      raise exception 'deadlock of the test' using errcode = 'deadlock_detected';
    end $$;
    create trigger fail before insert on contacts for each statement execute function fail()`)
  const accepted = await pushMany(fullLeads(5))
  const isWritten = async () => (await breakpoints.query('select from inserts where is_called')).length > 0
  await until('it is being written', isWritten)
  await breakpoints.query('begin')
  await breakpoints.query(`insert into import_turns values ('${decodeId('org', organization.organizationId)}', 'work')`)
  await until('the rows are released', async () => (await countsOf(service, organization)).PENDING === 5)
  await breakpoints.query('commit')
  await untilFinished(service, organization, accepted.length)
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: 5 })
  expect(await failureCountsOf(service, organization)).toEqual({ losses: 0, attempts: 0 })
})

test('a row whose contact is locked for long is processed after the lock is released, without a failed attempt', async () => {
  await start({ IMPORT_WORKERS: '2', IMPORT_LEASE_SECONDS: '3600' })
  const lead = { contact: { email: 'held@example.com', bio: 'Found at last' } }
  await organization.call('POST', '/v5/contacts', { body: { email: lead.contact.email } })
  await breakpoints.query('begin')
  await breakpoints.query('select from contacts for update')
  const accepted = await pushMany([lead, ...fullLeads(3)])
  await until('the others are done', async () => (await countsOf(service, organization)).PROCESSED === 3)
  await until('the row is released', async () => (await countsOf(service, organization)).PENDING === 1)
  await breakpoints.query('commit')
  await untilFinished(service, organization, accepted.length)
  expect(await countsOf(service, organization)).toEqual({ PROCESSED: 4 })
  expect(await failureCountsOf(service, organization)).toEqual({ losses: 0, attempts: 0 })
  const { body } = await organization.call('GET', '/v5/contacts?filter.email.equals=held@example.com')
  expect(body).toMatchObject([{ bio: 'Found at last' }])
})

test('a lead is merged into a contact that is created after its batch looked for matches', async () => {
  await start({ IMPORT_WORKERS: '2', IMPORT_LEASE_SECONDS: '3600' })
  // The final states of the rows are written first.
  await breakpoints.pauseAt('finishing')
  const lead = { contact: { email: 'eve@example.com', bio: 'From the fair' }, company: { name: 'Eve Ltd' } }
  const [id] = await pushMany([lead])
  await breakpoints.untilPausedAt('finishing')
  const byHand = await organization.call('POST', '/v5/contacts', { body: { email: 'Eve@example.com', name: 'Eve' } })
  expect(byHand.status).toBe(201)
  await breakpoints.resume('finishing')
  await untilFinished(service, organization, 1)
  expect(await failureCountsOf(service, organization)).toEqual({ losses: 0, attempts: 0 })
  const { body: row } = await organization.call('GET', `/v5/imports/${organization.importId}/rows/${id}`)
  expect(row.changes).toMatchObject([
    { object: 'company', action: 'created' },
    { object: 'contact', action: 'updated', id: byHand.body.id, after: { bio: 'From the fair' } },
  ])
  expect((await organization.call('GET', `/v5/contacts/${byHand.body.id}`)).body).toMatchObject({
    email: 'Eve@example.com',
    name: 'Eve',
    bio: 'From the fair',
    company: { name: 'Eve Ltd' },
  })
})
