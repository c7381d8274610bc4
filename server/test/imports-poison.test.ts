import { afterEach, beforeEach, expect, test } from 'vitest'
import { readId } from '../src/platform/model/ids.ts'
import { audit, countsOf, newEffects, untilEnded } from './import-audit.ts'
import { type Gates, makeGates } from './import-gates.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { until } from './processes.ts'
import { pusher } from './pushes.ts'
import { type ServiceProcesses, serviceProcesses } from './service-process.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from './service.ts'

let made: TestDatabase
let gates: Gates
let service: TestService
let organization: TestOrganization
let processes: ServiceProcesses

async function begin(environment: Record<string, string> = {}): Promise<void> {
  service = await startTestService(environment, { ...made, drop: async () => undefined })
  organization = await service.newOrganization()
}

beforeEach(async () => {
  made = await createDatabase()
  gates = await makeGates(made.connection)
  processes = await serviceProcesses(made)
})
afterEach(async () => {
  await processes.close()
  await service.close()
  await gates.end()
  await made.drop()
})

const poison = { contact: { email: 'poison@example.com', note: 'Do not touch' } }

/** Pushes ten leads, the fifth of which is the poison; all ids, and its own. */
async function pushWithPoison(): Promise<{ accepted: string[]; poisonous: string }> {
  const push = pusher(service, new URL(organization.triggerUrl).pathname)
  const accepted: string[] = []
  for (let place = 0; place < 10; place++) accepted.push((await push(place === 4 ? poison : newEffects())).body.id)
  return { accepted, poisonous: accepted[4] ?? '' }
}

const rowOf = async (id: string): Promise<Json> =>
  (await organization.call('GET', `/v5/imports/${organization.importId}/rows/${id}`)).body

test('a row under which its process dies is worked on alone after the second time, and dead after the third', async () => {
  await begin()
  await gates.query(`
    drop trigger writing on contacts;
    create trigger poisoned before insert on contacts
      for each row when (new.email = '${poison.contact.email}') execute function pass_gate(2)`)
  await gates.close('writing')
  const { accepted, poisonous } = await pushWithPoison()
  const companions: number[] = []
  for (const name of ['first', 'second', 'third']) {
    const victim = await processes.start(name, { IMPORT_LEASE_SECONDS: '1' })
    expect(await gates.stoppedAt('writing')).toMatchObject({ service: name })
    const [held] = await gates.query<{ count: number }>(
      `select count(*)::int - 1 as count from import_rows
        where lease = (select lease from import_rows where id = $1)`,
      [readId('row', poisonous)],
    )
    companions.push(held?.count ?? Number.NaN)
    victim.signal('SIGKILL')
    await victim.ended
    await gates.cut(name)
  }
  expect(companions).toEqual([9, 9, 0])

  // Still poisonous: who takes the row over does not touch it.
  await processes.start('last', { IMPORT_LEASE_SECONDS: '1' })
  await untilEnded(service, organization, accepted.length)
  expect(await audit(service, organization, { accepted })).toEqual({ DEAD: 1, PROCESSED: 9 })
  expect(await rowOf(poisonous)).toMatchObject({
    status: 'DEAD',
    errorCodes: ['worker_lost'],
    errors: [{ code: 'worker_lost' }],
    changes: [],
    contactId: null,
    runAt: null,
  })

  await gates.open('writing')
  const retried = await organization.call('POST', `/v5/imports/${organization.importId}/rows/${poisonous}/retry`)
  expect(retried.status).toBe(200)
  await until('it is done after all', async () => (await rowOf(poisonous)).status === 'PROCESSED')
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: 10 })
}, 120_000)

test('a row that fails in the database fails alone, is tried again later and later, and is dead at last', async () => {
  await begin({ IMPORT_WORKERS: '2' })
  await gates.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'the test refuses %', new.id; end $$;
    create trigger refuse before insert on contacts
      for each row when (new.email = '${poison.contact.email}') execute function refuse()`)
  const { accepted, poisonous } = await pushWithPoison()
  const delays: number[] = []
  for (let attempt = 1; attempt <= 8; attempt++) {
    await until(`attempt ${attempt} has failed`, async () => (await rowOf(poisonous)).attempts === attempt)
    await until('the others are done', async () => (await countsOf(service, organization)).PROCESSED === 9)
    const row = await rowOf(poisonous)
    expect(row).toMatchObject({
      status: attempt < 8 ? 'RETRYING' : 'DEAD',
      errorCodes: ['processing_failed'],
      changes: [],
      contactId: null,
    })
    if (row.runAt !== null) delays.push((Date.parse(row.runAt) - Date.parse(row.updatedAt)) / 1000)
    if (attempt < 8)
      await gates.query('update import_rows set run_at = now() where id = $1', [readId('row', poisonous)])
  }
  // Twice as long each time, a quarter more or less.
  for (const [index, delay] of delays.entries()) {
    const usual = 5 * 2 ** index
    expect([index, delay >= usual * 0.74, delay <= usual * 1.26]).toEqual([index, true, true])
  }
  expect(delays).toHaveLength(7)
  expect(await audit(service, organization, { accepted })).toEqual({ DEAD: 1, PROCESSED: 9 })
  // The log says which row, and nothing of what it holds.
  const told = service.logged.filter((line) => line.includes('a row failed'))
  expect(told).toHaveLength(8)
  expect(told.filter((line) => !line.includes(poisonous))).toEqual([])
  expect(service.logged.filter((line) => line.includes(poison.contact.email) || line.includes('touch'))).toEqual([])

  await gates.query('drop trigger refuse on contacts')
  await organization.call('POST', `/v5/imports/${organization.importId}/rows/${poisonous}/retry`)
  await until('it is done after all', async () => (await rowOf(poisonous)).status === 'PROCESSED')
  expect(await rowOf(poisonous)).toMatchObject({ errors: [], errorCodes: [], attempts: 0 })
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: 10 })
}, 120_000)

test('a row that failed is done by itself once what was in its way is gone', async () => {
  await begin({ IMPORT_WORKERS: '1' })
  await gates.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$;
    create trigger refuse before insert on contacts
      for each row when (new.email = '${poison.contact.email}') execute function refuse()`)
  const { accepted, poisonous } = await pushWithPoison()
  await until('it has failed', async () => (await rowOf(poisonous)).status === 'RETRYING')
  await gates.query('drop trigger refuse on contacts')
  // How long it waits is proved above.
  await gates.query(`update import_rows set run_at = run_at - interval '3 seconds' where run_at is not null`)
  await untilEnded(service, organization, accepted.length)
  expect(await rowOf(poisonous)).toMatchObject({ status: 'PROCESSED', attempts: 1, errors: [] })
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: 10 })
}, 60_000)
