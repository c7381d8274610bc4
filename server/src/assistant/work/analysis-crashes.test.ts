import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isDistributed } from '../../../test/engines.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { type ServiceProcesses, serviceProcesses } from '../../../test/service-process.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

const notes = 20

let testDatabase: TestDatabase
/** Analyses no notes. */
let auditor: TestService
let organization: TestOrganization
let processes: ServiceProcesses
let client: pg.Client
beforeAll(async () => {
  testDatabase = await createDatabase()
  auditor = await startTestService({}, { ...testDatabase, drop: async () => undefined })
  organization = await auditor.newOrganization()
  processes = await serviceProcesses(testDatabase)
  client = new pg.Client(testDatabase.connection)
  await client.connect()
})
afterAll(async () => {
  await processes.close()
  await auditor.close()
  await client.end()
  await testDatabase.drop()
})

const leases = 'note_leases'
const queued = 'notes where reasoning_queued_at is not null'

const count = async (from: string): Promise<number> =>
  (await client.query<{ count: number }>(`select count(*)::int as count from ${from}`)).rows[0]?.count ?? 0

test(
  'a process that is killed while it stores results loses none, and none is stored twice',
  { timeout: 120_000 },
  async () => {
    const { call } = organization
    const { body: contact } = await call('POST', '/v5/contacts', { body: { name: 'Ada', email: 'ada@example.com' } })
    const addNotes = () =>
      Promise.all(
        Array.from({ length: notes }, () =>
          call('POST', `/v5/contacts/${contact.id}/notes`, { body: { body: 'Please call me.' } }),
        ),
      )
    const victim = await processes.start('victim', { REASONING_CONCURRENCY: '2' })
    await addNotes()
    await until('the first notes are analysed', async () => (await count('note_analyses')) === notes, 60_000)
    expect([await count(leases), await count(queued)]).toEqual([0, 0])

    // The result is written, but not committed: the notes leave the queue last.
    await client.query('begin; lock table suggestions in share mode')
    await addNotes()
    const isStoring = isDistributed()
      ? `citus_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      : `pg_stat_activity where datname = current_database() and application_name = 'victim' and wait_event_type = 'Lock'`
    await until('the process is storing results', async () => {
      // A transaction sees the sessions as they were at its first look.
      await client.query('select pg_stat_clear_snapshot()')
      return (await count(isStoring)) > 0
    })
    victim.signal('SIGKILL')
    await victim.ended
    await client.query('rollback')
    await until(
      'its transactions have ended',
      async () =>
        (await count(`pg_stat_activity where datname = current_database() and application_name = 'victim'`)) === 0,
    )
    expect(await count('note_analyses')).toBe(notes)
    expect(await count(leases)).toBeGreaterThan(0)

    // As if the leases were over.
    await client.query(`update note_leases set expires_at = now() where expires_at > now()`)
    await processes.start('successor', { REASONING_CONCURRENCY: '2' })
    await until('all notes are analysed', async () => (await count(queued)) === 0, 60_000)
    expect(await count('note_analyses')).toBe(2 * notes)
    expect(await count('(select distinct note_id from note_analyses) each')).toBe(2 * notes)
    expect(await count(`suggestions where status = 'pending'`)).toBe(2 * notes)
    expect(await count(leases)).toBe(0)
  },
)
