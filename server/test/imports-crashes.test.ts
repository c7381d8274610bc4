import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { audit, newEffects, untilEnded } from './import-audit.ts'
import { type Gates, makeGates, type Step } from './import-gates.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { until } from './processes.ts'
import { type ServiceProcess, type ServiceProcesses, serviceProcesses } from './service-process.ts'
import { startTestService, type TestOrganization, type TestService } from './service.ts'

/** Seconds after which another process takes over what a dead one had. */
const lease = { IMPORT_LEASE_SECONDS: '1' }

let made: TestDatabase
/** Works on nothing: tells what the others did. */
let auditor: TestService
let organization: TestOrganization
let path: string
let gates: Gates
let processes: ServiceProcesses

beforeEach(async () => {
  made = await createDatabase()
  auditor = await startTestService({}, { ...made, drop: async () => undefined })
  organization = await auditor.newOrganization()
  path = new URL(organization.triggerUrl).pathname
  gates = await makeGates(made.connection)
  processes = await serviceProcesses(made)
})
afterEach(async () => {
  await processes.close()
  await auditor.close()
  await gates.end()
  await made.drop()
})

async function pushMany(service: ServiceProcess, count: number): Promise<string[]> {
  const answers = await Promise.all(Array.from({ length: count }, () => service.push(path, newEffects())))
  expect(answers.map((answer) => answer?.status)).toEqual(answers.map(() => 200))
  return answers.map((answer) => answer?.body.id as string)
}

/** The process is gone as if the machine had taken it away; PostgreSQL notices when it next looks. */
async function kill(victim: ServiceProcess): Promise<void> {
  victim.signal('SIGKILL')
  await victim.ended
}

/** Stops the process for good while the database goes on: it never hears of what comes after the step. */
async function dieUnheard(victim: ServiceProcess, step: Step, isDone: () => Promise<boolean>): Promise<void> {
  victim.signal('SIGSTOP')
  await gates.open(step)
  await until(`the database has done what comes after ${step}`, isDone)
  await kill(victim)
}

const isAny = async (condition: string): Promise<boolean> =>
  (await gates.query(`select from import_rows where ${condition} limit 1`)).length > 0

const deaths: [Step, string, (victim: ServiceProcess) => Promise<void>][] = [
  ['claiming', 'after the claim', (victim) => dieUnheard(victim, 'claiming', () => isAny(`status = 'PROCESSING'`))],
  ['writing', 'before anything is written', dieWithConnections('writing')],
  ['ending', 'when all is written', dieWithConnections('ending')],
  ['committing', 'at the commit, which does not come about', dieWithConnections('committing')],
  [
    'committing',
    'at the commit, which comes about all the same',
    async (victim) => {
      await kill(victim)
      await gates.open('committing')
    },
  ],
  [
    'committing',
    'after the commit, before it heard of it',
    (victim) => dieUnheard(victim, 'committing', async () => !(await isAny(`status = 'PROCESSING'`))),
  ],
]

function dieWithConnections(step: Step): (victim: ServiceProcess) => Promise<void> {
  return async (victim) => {
    await kill(victim)
    await gates.cut(victim.name)
    await gates.open(step)
  }
}

test('kill -9 of a worker at each step: the next one takes over, every row has its effect once', async () => {
  const accepted: string[] = []
  let service = await processes.start('worker 0', lease)
  for (const [index, [step, , die]] of deaths.entries()) {
    await gates.close(step)
    accepted.push(...(await pushMany(service, 20)))
    expect(await gates.stoppedAt(step)).toMatchObject({ service: service.name })
    await die(service)
    service = await processes.start(`worker ${index + 1}`, lease)
    await untilEnded(auditor, organization, accepted.length)
    expect(await audit(auditor, organization, { accepted })).toEqual({ PROCESSED: accepted.length })
    const { body: count } = await organization.call('GET', '/v5/notes/count')
    expect(count).toEqual({ count: accepted.length })
  }
}, 180_000)

test('kill -9 between acceptance and answer: the push is one row, and with its key repeated it is the same', async () => {
  const lead = newEffects()
  const headers = { 'idempotency-key': randomUUID() }
  const first = await processes.start('first', { ...lease, IMPORT_WORKERS: '0' })
  await gates.close('accepting')
  const lost = first.push(path, lead, headers)
  await gates.stoppedAt('accepting')
  await dieUnheard(first, 'accepting', () => isAny('true'))
  expect(await lost).toBeUndefined()

  const second = await processes.start('second', lease)
  const again = await second.push(path, lead, headers)
  expect([again?.status, again?.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
  await untilEnded(auditor, organization, 1)
  expect(await audit(auditor, organization, { accepted: [again?.body.id] })).toEqual({ PROCESSED: 1 })

  // Before the acceptance there is no row, and the repeated push is the first.
  await gates.close('accepting')
  const other = newEffects()
  const unmade = second.push(path, other, headers)
  expect((await unmade)?.status).toBe(400)
  const keyed = { 'idempotency-key': randomUUID() }
  const refused = second.push(path, other, keyed)
  await gates.stoppedAt('accepting')
  await kill(second)
  await gates.cut(second.name)
  await gates.open('accepting')
  expect(await refused).toBeUndefined()
  const third = await processes.start('third', lease)
  const kept = await third.push(path, other, keyed)
  expect([kept?.status, kept?.headers.get('idempotent-replayed')]).toEqual([200, null])
  await untilEnded(auditor, organization, 2)
  expect(await audit(auditor, organization, { accepted: [again?.body.id, kept?.body.id] })).toEqual({ PROCESSED: 2 })
}, 120_000)
