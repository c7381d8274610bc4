import { afterEach, beforeEach, expect, test as anyTest } from 'vitest'
import { decodeId } from '../../platform/model/ids.ts'
import { isDistributed } from '../../../test/engines.ts'
import { audit, countsOf, newFullLead, untilFinished } from '../../../test/import-audit.ts'
import { onlyOnSingleServer } from '../../../test/single-server.ts'
import { type Breakpoints, createBreakpoints } from '../../../test/import-breakpoints.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { pusher } from '../../../test/pushes.ts'
import { type ServiceProcesses, serviceProcesses } from '../../../test/service-process.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

/** Breakpoints are triggers, which Citus refuses. */
const test = anyTest.skipIf(isDistributed())

let testDatabase: TestDatabase
let breakpoints: Breakpoints
let service: TestService
let organization: TestOrganization
let processes: ServiceProcesses

async function start(environment: Record<string, string> = {}): Promise<void> {
  service = await startTestService(environment, { ...testDatabase, drop: async () => undefined })
  organization = await service.newOrganization()
}

beforeEach(async () => {
  testDatabase = await createDatabase()
  breakpoints = await createBreakpoints(testDatabase.connection)
  processes = await serviceProcesses(testDatabase)
})
afterEach(async () => {
  await processes.close()
  await service.close()
  await breakpoints.end()
  await testDatabase.drop()
})

const poison = { contact: { email: 'poison@example.com', note: 'Do not touch' } }

/** Pushes ten leads, the fifth of which is the poison; returns all row ids and that of the poison. */
async function pushWithPoison(): Promise<{ accepted: string[]; poisonedId: string }> {
  const push = pusher(service, new URL(organization.triggerUrl).pathname)
  const accepted: string[] = []
  for (let index = 0; index < 10; index++) accepted.push((await push(index === 4 ? poison : newFullLead())).body.id)
  return { accepted, poisonedId: accepted[4] ?? '' }
}

const rowOf = async (id: string): Promise<Json> =>
  (await organization.call('GET', `/v5/imports/${organization.importId}/rows/${id}`)).body

test('a row that crashes its process is processed alone after the second crash and is DEAD after the third, which its creator learns', async (context) => {
  onlyOnSingleServer(context, 'its tables have no triggers, with which this test makes rows fail')
  await start()
  await breakpoints.query('update imports set created_by_id = $1::uuid', [decodeId('usr', organization.userId)])
  await breakpoints.query(`
    drop trigger writing on contacts;
    create trigger poisoned before insert on contacts
      for each row when (new.email = '${poison.contact.email}') execute function pause_at(2)`)
  await breakpoints.pauseAt('writing')
  const { accepted, poisonedId } = await pushWithPoison()
  const companions: number[] = []
  for (const name of ['first', 'second', 'third']) {
    const victim = await processes.start(name, { IMPORT_LEASE_SECONDS: '1' })
    expect(await breakpoints.untilPausedAt('writing')).toMatchObject({ service: name })
    const [shared] = await breakpoints.query<{ count: number }>(
      `select count(*)::int - 1 as count from import_rows
        where lease = (select lease from import_rows where id = $1)`,
      [decodeId('row', poisonedId)],
    )
    companions.push(shared?.count ?? Number.NaN)
    victim.signal('SIGKILL')
    await victim.ended
    await breakpoints.disconnect(name)
  }
  expect(companions).toEqual([9, 9, 0])

  // The trigger is still active, but the next process does not process the row.
  await processes.start('last', { IMPORT_LEASE_SECONDS: '1' })
  await untilFinished(service, organization, accepted.length)
  expect(await audit(service, organization, { accepted })).toEqual({ DEAD: 1, PROCESSED: 9 })
  expect(await rowOf(poisonedId)).toMatchObject({
    status: 'DEAD',
    errorCodes: ['worker_lost'],
    errors: [{ code: 'worker_lost' }],
    changes: [],
    contactId: null,
    runAt: null,
  })
  const reported = "select user_id, record_id from inbox_entries where kind = 'importFailed'"
  expect(await breakpoints.query(reported, [])).toEqual([
    { user_id: decodeId('usr', organization.userId), record_id: decodeId('imp', organization.importId) },
  ])

  await breakpoints.resume('writing')
  const retried = await organization.call('POST', `/v5/imports/${organization.importId}/rows/${poisonedId}/retry`)
  expect(retried.status).toBe(200)
  await until('it is done after all', async () => (await rowOf(poisonedId)).status === 'PROCESSED')
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: 10 })
}, 120_000)

test('a row that fails in the database fails alone, is retried with increasing delays, and ends as DEAD', async (context) => {
  onlyOnSingleServer(context, 'its tables have no triggers, with which this test makes rows fail')
  await start({ IMPORT_WORKERS: '2' })
  await breakpoints.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'rejected by the test: %', new.id; end $$;
    create trigger refuse before insert on contacts
      for each row when (new.email = '${poison.contact.email}') execute function refuse()`)
  const { accepted, poisonedId } = await pushWithPoison()
  const delays: number[] = []
  for (let attempt = 1; attempt <= 8; attempt++) {
    await until(`attempt ${attempt} has failed`, async () => (await rowOf(poisonedId)).attempts === attempt)
    await until('the others are done', async () => (await countsOf(service, organization)).PROCESSED === 9)
    const row = await rowOf(poisonedId)
    expect(row).toMatchObject({
      status: attempt < 8 ? 'RETRYING' : 'DEAD',
      errorCodes: ['processing_failed'],
      changes: [],
      contactId: null,
    })
    if (row.runAt !== null) delays.push((Date.parse(row.runAt) - Date.parse(row.updatedAt)) / 1000)
    // A process was killed while it had the row; the next one ended normally, so the count of crashes starts again.
    expect(
      await breakpoints.query('select losses from import_rows where id = $1', [decodeId('row', poisonedId)]),
    ).toEqual([{ losses: 0 }])
    if (attempt < 8) {
      const due = 'update import_rows set run_at = now(), losses = 1 where id = $1'
      await breakpoints.query(due, [decodeId('row', poisonedId)])
    }
  }
  // The delay doubles each time, with a jitter of 25 %.
  for (const [index, delay] of delays.entries()) {
    const usual = 5 * 2 ** index
    expect([index, delay >= usual * 0.74, delay <= usual * 1.26]).toEqual([index, true, true])
  }
  expect(delays).toHaveLength(7)
  expect(await audit(service, organization, { accepted })).toEqual({ DEAD: 1, PROCESSED: 9 })
  // The log contains the id of the row, but not its content.
  const failureLines = service.logged.filter((line) => line.includes('a row failed'))
  expect(failureLines).toHaveLength(8)
  expect(failureLines.filter((line) => !line.includes(poisonedId))).toEqual([])
  expect(service.logged.filter((line) => line.includes(poison.contact.email) || line.includes('touch'))).toEqual([])

  await breakpoints.query('drop trigger refuse on contacts')
  await organization.call('POST', `/v5/imports/${organization.importId}/rows/${poisonedId}/retry`)
  await until('it is done after all', async () => (await rowOf(poisonedId)).status === 'PROCESSED')
  expect(await rowOf(poisonedId)).toMatchObject({ errors: [], errorCodes: [], attempts: 0 })
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: 10 })
}, 120_000)

test('a failed row is processed by a later retry once the cause is gone', async (context) => {
  onlyOnSingleServer(context, 'its tables have no triggers, with which this test makes rows fail')
  await start({ IMPORT_WORKERS: '1' })
  // The cause is gone once the row has failed, however soon it is retried.
  await breakpoints.query(`
    create function refuse() returns trigger language plpgsql as $$ begin
      if exists (select from import_rows where attempts > 0) then return new; end if;
      raise exception 'not now';
    end $$;
    create trigger refuse before insert on contacts
      for each row when (new.email = '${poison.contact.email}') execute function refuse()`)
  const { accepted, poisonedId } = await pushWithPoison()
  await until('it has failed', async () => (await rowOf(poisonedId)).attempts === 1)
  // The delay is tested above.
  await breakpoints.query(`update import_rows set run_at = run_at - interval '3 seconds' where run_at is not null`)
  await untilFinished(service, organization, accepted.length)
  expect(await rowOf(poisonedId)).toMatchObject({ status: 'PROCESSED', attempts: 1, errors: [] })
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: 10 })
}, 60_000)
