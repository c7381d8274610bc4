import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test as anyTest } from 'vitest'
import { isDistributed } from '../../../test/engines.ts'
import { audit, newFullLead, untilFinished } from '../../../test/import-audit.ts'
import { type Breakpoints, createBreakpoints, type Step } from '../../../test/import-breakpoints.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { type ServiceProcess, type ServiceProcesses, serviceProcesses } from '../../../test/service-process.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

/** Breakpoints are triggers, which Citus refuses. */
const test = anyTest.skipIf(isDistributed())

/** Seconds after which another process takes over the rows of a dead one. */
const lease = { IMPORT_LEASE_SECONDS: '1' }

let testDatabase: TestDatabase
/** Processes no rows; used to check what the others did. */
let auditor: TestService
let organization: TestOrganization
let path: string
let breakpoints: Breakpoints
let processes: ServiceProcesses

beforeEach(async () => {
  testDatabase = await createDatabase()
  auditor = await startTestService({}, { ...testDatabase, drop: async () => undefined })
  organization = await auditor.newOrganization()
  path = new URL(organization.triggerUrl).pathname
  breakpoints = await createBreakpoints(testDatabase.connection)
  processes = await serviceProcesses(testDatabase)
})
afterEach(async () => {
  await processes.close()
  await auditor.close()
  await breakpoints.end()
  await testDatabase.drop()
})

async function pushMany(service: ServiceProcess, count: number): Promise<string[]> {
  const responses = await Promise.all(Array.from({ length: count }, () => service.push(path, newFullLead())))
  expect(responses.map((response) => response?.status)).toEqual(responses.map(() => 200))
  return responses.map((response) => response?.body.id as string)
}

/** Kills the process without closing its connections; PostgreSQL notices later. */
async function kill(victim: ServiceProcess): Promise<void> {
  victim.signal('SIGKILL')
  await victim.ended
}

/** Suspends the process, lets the database finish the step, then kills the process before it gets the result. */
async function killSuspended(victim: ServiceProcess, step: Step, isDone: () => Promise<boolean>): Promise<void> {
  victim.signal('SIGSTOP')
  await breakpoints.resume(step)
  await until(`the database has finished ${step}`, isDone)
  await kill(victim)
}

const isAny = async (condition: string): Promise<boolean> =>
  (await breakpoints.query(`select from import_rows where ${condition} limit 1`)).length > 0

const crashes: [Step, string, (victim: ServiceProcess) => Promise<void>][] = [
  ['claiming', 'after the claim', (victim) => killSuspended(victim, 'claiming', () => isAny(`status = 'PROCESSING'`))],
  ['writing', 'before anything is written', killAndDisconnect('writing')],
  ['finishing', 'when everything is written', killAndDisconnect('finishing')],
  ['committing', 'at the commit, which fails', killAndDisconnect('committing')],
  [
    'committing',
    'at the commit, which succeeds',
    async (victim) => {
      await kill(victim)
      await breakpoints.resume('committing')
    },
  ],
  [
    'committing',
    'after the commit, before it gets the result',
    (victim) => killSuspended(victim, 'committing', async () => !(await isAny(`status = 'PROCESSING'`))),
  ],
]

function killAndDisconnect(step: Step): (victim: ServiceProcess) => Promise<void> {
  return async (victim) => {
    await kill(victim)
    await breakpoints.disconnect(victim.name)
    await breakpoints.resume(step)
  }
}

test('after kill -9 of a worker at any step, the next one takes over, and every row takes effect once', async () => {
  const accepted: string[] = []
  let service = await processes.start('worker 0', lease)
  for (const [index, [step, , crash]] of crashes.entries()) {
    await breakpoints.pauseAt(step)
    accepted.push(...(await pushMany(service, 20)))
    expect(await breakpoints.untilPausedAt(step)).toMatchObject({ service: service.name })
    await crash(service)
    service = await processes.start(`worker ${index + 1}`, lease)
    await untilFinished(auditor, organization, accepted.length)
    expect(await audit(auditor, organization, { accepted })).toEqual({ PROCESSED: accepted.length })
    const { body: count } = await organization.call('GET', '/v5/notes/count')
    expect(count).toEqual({ count: accepted.length })
  }
}, 180_000)

test('after kill -9 between acceptance and response, the push is one row, and a repeat with its key returns that row', async () => {
  const lead = newFullLead()
  const headers = { 'idempotency-key': randomUUID() }
  const first = await processes.start('first', { ...lease, IMPORT_WORKERS: '0' })
  await breakpoints.pauseAt('accepting')
  const lost = first.push(path, lead, headers)
  await breakpoints.untilPausedAt('accepting')
  await killSuspended(first, 'accepting', () => isAny('true'))
  expect(await lost).toBeUndefined()

  const second = await processes.start('second', lease)
  const again = await second.push(path, lead, headers)
  expect([again?.status, again?.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
  await untilFinished(auditor, organization, 1)
  expect(await audit(auditor, organization, { accepted: [again?.body.id] })).toEqual({ PROCESSED: 1 })

  // Before the acceptance there is no row, so the repeated push is accepted as new.
  await breakpoints.pauseAt('accepting')
  const other = newFullLead()
  const reusedKey = second.push(path, other, headers)
  expect((await reusedKey)?.status).toBe(400)
  const newKey = { 'idempotency-key': randomUUID() }
  const refused = second.push(path, other, newKey)
  await breakpoints.untilPausedAt('accepting')
  await kill(second)
  await breakpoints.disconnect(second.name)
  await breakpoints.resume('accepting')
  expect(await refused).toBeUndefined()
  const third = await processes.start('third', lease)
  const retried = await third.push(path, other, newKey)
  expect([retried?.status, retried?.headers.get('idempotent-replayed')]).toEqual([200, null])
  await untilFinished(auditor, organization, 2)
  expect(await audit(auditor, organization, { accepted: [again?.body.id, retried?.body.id] })).toEqual({ PROCESSED: 2 })
}, 120_000)
