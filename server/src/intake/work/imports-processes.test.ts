import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '../../platform/model/ids.ts'
import { onlyOnSingleServer } from '../../../test/single-server.ts'
import { isDistributed } from '../../../test/engines.ts'
import { audit, newFullLead, failureCountsOf, untilFinished } from '../../../test/import-audit.ts'
import { type Breakpoints, createBreakpoints } from '../../../test/import-breakpoints.ts'
import { untilServed } from '../../../test/people.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { type ServiceProcess, type ServiceProcesses, serviceProcesses } from '../../../test/service-process.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let testDatabase: TestDatabase
/** Gets no pushes and processes no rows; used to create organizations and to check what the processes did. */
let auditor: TestService
let breakpoints: Breakpoints
let processes: ServiceProcesses
let left: ServiceProcess
let right: ServiceProcess

/** Records which connection finished which row. */
const journal = `
  create table ends (row_id uuid, organization_id uuid, service text);
  create function note_end() returns trigger language plpgsql as $$ begin
    insert into ends values (new.id, new.organization_id, current_setting('application_name'));
    return null;
  end $$;
  create trigger note_end after update on import_rows
    for each row when (old.finished_at is null and new.finished_at is not null) execute function note_end()`

beforeAll(async () => {
  testDatabase = await createDatabase()
  auditor = await startTestService({}, { ...testDatabase, drop: async () => undefined })
  if (!isDistributed()) {
    breakpoints = await createBreakpoints(testDatabase.connection)
    await breakpoints.query(journal)
  }
  processes = await serviceProcesses(testDatabase)
  const lease = { IMPORT_LEASE_SECONDS: '3600' }
  ;[left, right] = await Promise.all([processes.start('left', lease), processes.start('right', lease)])
})
afterAll(async () => {
  await processes.close()
  await auditor.close()
  if (!isDistributed()) await breakpoints.end()
  await testDatabase.drop()
})

const pathOf = ({ triggerUrl }: TestOrganization): string => new URL(triggerUrl).pathname

/** A push of a new lead, again if the process is overloaded. */
const pushed = (to: ServiceProcess, path: string) => {
  const [lead, headers] = [newFullLead(), { 'idempotency-key': randomUUID() }]
  return untilServed(() => to.push(path, lead, headers))
}

const processOf = (index: number): ServiceProcess => (index % 2 === 0 ? left : right)

test('fifty identical concurrent pushes to two processes create one contact', async () => {
  const organization = await auditor.newOrganization()
  const lead = { contact: { email: 'gus@g.example', note: 'Hi' }, company: { name: 'G' } }
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, index) => processOf(index).push(pathOf(organization), lead)),
  )
  expect(responses.map((response) => response?.status)).toEqual(responses.map(() => 200))
  await untilFinished(auditor, organization, 50)
  const accepted = responses.map((response) => response?.body.id as string)
  expect(await audit(auditor, organization, { accepted })).toEqual({ DUPLICATE: 49, PROCESSED: 1 })
  for (const noun of ['contacts', 'companies', 'notes']) {
    expect([noun, (await organization.call('GET', `/v5/${noun}/count`)).body]).toEqual([noun, { count: 1 }])
  }
})

test('two processes share the rows of several organizations, and only one of them processes each row', async (context) => {
  onlyOnSingleServer(context, 'a trigger notes who finished a row')
  const organizations = await Promise.all(Array.from({ length: 4 }, () => auditor.newOrganization()))
  await breakpoints.pauseAt('finishing')
  const accepted = await Promise.all(
    organizations.map((organization) =>
      Promise.all(
        Array.from({ length: 60 }, async (_, index) => {
          // All pushes go to one process; either can process them.
          const response = await pushed(left, pathOf(organization))
          expect([index, response?.status]).toEqual([index, 200])
          return response?.body.id as string
        }),
      ),
    ),
  )
  await breakpoints.untilAllPausedAt('finishing', ['left', 'right'])
  await breakpoints.resume('finishing')
  for (const [index, organization] of organizations.entries()) {
    await untilFinished(auditor, organization, 60)
    expect(await audit(auditor, organization, { accepted: accepted[index] ?? [] })).toEqual({ PROCESSED: 60 })
    expect(await failureCountsOf(auditor, organization)).toEqual({ losses: 0, attempts: 0 })
  }
  const ids = organizations.map(({ organizationId }) => decodeId('org', organizationId))
  const shares = await breakpoints.query<{ service: string; rows: number; different: number }>(
    `select service, count(*)::int as rows, count(distinct row_id)::int as different from ends
      where organization_id = any($1::uuid[]) group by 1 order by 1`,
    [ids],
  )
  expect(shares.map(({ service }) => service)).toEqual(['left', 'right'])
  expect(shares.map(({ different }) => different)).toEqual(shares.map(({ rows }) => rows))
  expect(shares.reduce((sum, { rows }) => sum + rows, 0)).toBe(240)
})

test('an import disabled or rotated in one process is closed immediately in the other', async () => {
  const { call, importId, ...organization } = await auditor.newOrganization()
  const path = new URL(organization.triggerUrl).pathname
  const pushToBoth = async (at: string) => [
    (await left.push(at, newFullLead()))?.status,
    (await right.push(at, newFullLead()))?.status,
  ]
  expect(await pushToBoth(path)).toEqual([200, 200])
  for (let round = 0; round < 3; round++) {
    expect((await call('POST', `/v5/imports/${importId}/disable`)).status).toBe(200)
    expect(await pushToBoth(path)).toEqual([404, 404])
    expect((await call('POST', `/v5/imports/${importId}/enable`)).status).toBe(200)
    expect(await pushToBoth(path)).toEqual([200, 200])
  }
  const { body } = await call('POST', `/v5/imports/${importId}/rotate`, { body: { overlapSeconds: 0 } })
  expect(await pushToBoth(path)).toEqual([404, 404])
  expect(await pushToBoth(new URL(body.triggerUrl).pathname)).toEqual([200, 200])
})

test('a process that is stopped during processing releases its rows immediately', async (context) => {
  onlyOnSingleServer(context, 'breakpoints are triggers')
  const organization = await auditor.newOrganization()
  const path = pathOf(organization)
  const responses = await Promise.all(Array.from({ length: 300 }, () => pushed(left, path)))
  expect(new Set(responses.map((response) => response?.status))).toEqual(new Set([200]))
  left.signal('SIGTERM')
  expect((await left.ended).code).toBe(0)
  const accepted = responses.map((response) => response?.body.id as string)
  await untilFinished(auditor, organization, 300)
  expect(await audit(auditor, organization, { accepted })).toEqual({ PROCESSED: 300 })
  expect(await failureCountsOf(auditor, organization)).toEqual({ losses: 0, attempts: 0 })
})
