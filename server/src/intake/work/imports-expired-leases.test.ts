import { afterEach, beforeEach, expect, test as anyTest } from 'vitest'
import { decodeId } from '../../platform/model/ids.ts'
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

/** Slows down every insert of a contact, and makes those of one domain fail. */
const slowAndFailing = `
  create function slow_and_fail() returns trigger language plpgsql as $$ begin
    perform pg_sleep(0.01 + random() * 0.02);
    if new.email like '%@failing.example' then raise exception 'rejected by the test'; end if;
    return new;
  end $$;
  create trigger slow_and_fail before insert on contacts for each row execute function slow_and_fail()`

test('eight workers with expiring leases process every row exactly once', async (context) => {
  onlyOnSingleServer(context, 'its tables have no triggers, with which this test makes rows fail')
  await start({ IMPORT_WORKERS: '8', IMPORT_LEASE_SECONDS: '1' })
  await breakpoints.query(slowAndFailing)
  const failing = [1, 2].map((number) => ({ contact: { email: `${number}@failing.example`, note: `of ${number}` } }))
  const uuid = decodeId('org', organization.organizationId)
  // All rows are in one batch. As it fails, they are processed one by one, which takes longer than the lease.
  await breakpoints.query(`begin; insert into import_turns values ('${uuid}', 'claim') on conflict do nothing`)
  await breakpoints.query(`select from import_turns where organization_id = '${uuid}' and turn = 'claim' for update`)
  const accepted = await pushMany([...failing, ...fullLeads(60)])
  await breakpoints.query('commit')
  await until(
    'the other rows are done',
    async () => {
      const { PROCESSED = 0, DEAD = 0 } = await countsOf(service, organization)
      return PROCESSED + DEAD >= 60
    },
    120_000,
  )
  // Some leases must have expired, or the test proves nothing.
  expect((await failureCountsOf(service, organization)).losses).toBeGreaterThan(0)
  await audit(service, organization, { accepted })

  await breakpoints.query('drop trigger slow_and_fail on contacts')
  const rows = `/v5/imports/${organization.importId}/rows`
  await until(
    'every row is done',
    async () => {
      await organization.call('POST', `${rows}/retry`)
      return (await countsOf(service, organization)).PROCESSED === accepted.length
    },
    60_000,
  )
  await untilFinished(service, organization, accepted.length)
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: accepted.length })
  expect((await organization.call('GET', '/v5/contacts/count')).body).toEqual({ count: accepted.length })
  expect((await organization.call('GET', '/v5/notes/count')).body).toEqual({ count: accepted.length })
}, 240_000)

test('a batch that fails with a deadlock is retried by the same worker', async (context) => {
  onlyOnSingleServer(context, 'its tables have no triggers, with which this test makes rows fail')
  await start({ IMPORT_WORKERS: '4', IMPORT_LEASE_SECONDS: '3600' })
  // Two of three inserts of contacts fail with a deadlock.
  await breakpoints.query(`
    create sequence inserts;
    create function fail() returns trigger language plpgsql as $$ begin
      if nextval('inserts') % 3 > 0 then raise exception 'deadlock of the test' using errcode = 'deadlock_detected'; end if;
      return null;
    end $$;
    create trigger fail before insert on contacts for each statement execute function fail()`)
  const accepted: string[] = []
  for (let round = 0; round < 6; round++) accepted.push(...(await pushMany(fullLeads(30))))
  await untilFinished(service, organization, accepted.length)
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: accepted.length })
  expect(await failureCountsOf(service, organization)).toEqual({ losses: 0, attempts: 0 })
}, 180_000)
