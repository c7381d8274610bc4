import { Agent, get, type IncomingMessage } from 'node:http'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { childrenOf } from '../../../lab/shared/usage.ts'
import { createApiKey } from '../cli/create-api-key.ts'
import { sql } from '../platform/model/sql.ts'
import { audit, newFullLead, untilFinished } from '../../test/import-audit.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'
import { type ServiceProcess, type ServiceProcesses, serviceProcesses } from '../../test/service-process.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../test/service.ts'
import { freePort } from '../../../lab/shared/free-port.ts'

// Two processes of one command (`PROCESSES=2`) share their state.

const limit = 120

let testDatabase: TestDatabase
/** Creates organizations and receives no other requests. */
let creatingService: TestService
let processes: ServiceProcesses
let service: ServiceProcess
let metricsUrl: string

beforeAll(async () => {
  testDatabase = await createDatabase()
  creatingService = await startTestService({}, { ...testDatabase, drop: async () => undefined })
  processes = await serviceProcesses(testDatabase)
  const metricsPort = String(await freePort())
  metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`
  service = await processes.start('several', {
    PROCESSES: '2',
    METRICS_PORT: metricsPort,
    RATE_LIMIT_PER_MINUTE: String(limit),
    DRAIN_MILLISECONDS: '1000',
  })
})
afterAll(async () => {
  await processes.close()
  await creatingService.close()
  await testDatabase.drop()
})

type ProcessResponse = { status: number; headers: Headers; body: Json }

/** Sends a request on a new connection, so that the processes take turns. */
async function send(
  { apiKey, organizationId }: Pick<TestOrganization, 'apiKey' | 'organizationId'>,
  path: string,
  { method = 'GET', body }: { method?: string; body?: unknown } = {},
): Promise<ProcessResponse> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      'service-organization-id': organizationId,
      connection: 'close',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}

const statusWith = (agent: Agent, path: string) =>
  new Promise<number>((resolve, reject) => {
    const onResponse = (response: IncomingMessage) =>
      response.resume().once('end', () => resolve(response.statusCode ?? 0))
    get(`${service.url}${path}`, { agent }, onResponse).once('error', reject)
  })

/** The sum of a metric over the lines that contain all of these texts. */
async function metric(name: string, ...texts: readonly string[]): Promise<number> {
  const lines = (await (await fetch(metricsUrl)).text()).split('\n')
  const found = lines.filter((line) => line.startsWith(name) && texts.every((text) => line.includes(text)))
  return found.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const perSecond = limit / 60

test('a rate limit applies to both processes together, and each response reports the total left', async () => {
  const organization = await creatingService.newOrganization()
  const began = performance.now()
  const responses: ProcessResponse[] = []
  const isLimited = () => responses.some(({ status }) => status === 429)
  // The slower the requests are, the more tokens are refilled meanwhile.
  const sendTwenty = async () => {
    for (let request = 0; request < 20 || !isLimited(); request++)
      responses.push(await send(organization, '/v5/contacts'))
  }
  await Promise.all(Array.from({ length: 8 }, sendTwenty))
  const refilled = Math.ceil(((performance.now() - began) / 1000) * perSecond)
  const allowed = responses.filter(({ status }) => status === 200)
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 429]))
  expect(allowed.length).toBeGreaterThanOrEqual(limit)
  expect(allowed.length).toBeLessThanOrEqual(limit + refilled)
  const remaining = allowed.map(({ headers }) => Number(/;r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]))
  expect(Math.min(...remaining)).toBe(0)
  // Each response reports a different number, except for tokens that were refilled meanwhile.
  expect(remaining.length - new Set(remaining).size).toBeLessThanOrEqual(refilled)
})

test('a key that one process revokes is rejected by both from then on', async () => {
  const owner = await creatingService.newOrganization()
  const scopes = ['urn:service:contact:*:read']
  const { apiKey, id } = await createApiKey({
    database: creatingService.database,
    organization: owner.organizationId,
    name: 'Reports',
    scopes,
  })
  const statuses = async () => {
    const found = []
    for (let request = 0; request < 4; request++) found.push((await send({ ...owner, apiKey }, '/v5/contacts')).status)
    return found
  }
  expect(await statuses()).toEqual([200, 200, 200, 200])
  expect((await send(owner, `/v5/api-keys/${id}/revoke`, { method: 'POST' })).status).toBe(200)
  expect(await statuses()).toEqual([401, 401, 401, 401])
})

test('rows pushed to both processes are each processed once', async () => {
  const organization = await creatingService.newOrganization()
  const path = new URL(organization.triggerUrl).pathname
  const responses = await Promise.all(
    Array.from({ length: 80 }, () => send(organization, path, { method: 'POST', body: newFullLead() })),
  )
  await untilFinished(creatingService, organization, responses.length)
  const accepted = responses.map(({ body }) => body.id as string)
  expect(await audit(creatingService, organization, { accepted })).toEqual({ PROCESSED: responses.length })
})

test('an organization whose requests wait for locks does not delay another one, in any process', async () => {
  const [greedy, other] = [await creatingService.newOrganization(), await creatingService.newOrganization()]
  const holder = new pg.Client(testDatabase.connection)
  await holder.connect()
  onTestFinished(() => holder.end())
  await holder.query('begin')
  await holder.query('lock table contacts in access exclusive mode')
  const waiting = Array.from({ length: 60 }, () => send(greedy, '/v5/contacts'))
  const waitingStatements = () =>
    creatingService.database.crossTenantQuery(
      'check the database',
      sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
  // Each process has eight connections, and leaves a quarter of them to others.
  await until('its requests wait', async () => (await waitingStatements()).length >= 8)
  const responses = await Promise.all(Array.from({ length: 20 }, () => send(other, '/v5/companies')))
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
  await holder.query('rollback')
  await Promise.all(waiting)
})

test('metrics are the sums of all processes; a killed process is replaced and its counts remain', async () => {
  const organization = await creatingService.newOrganization()
  const requestCount = () => metric('rapport_http_request_duration_seconds_count', '"/v5/campaigns"', '"200"')
  const sendTen = async () => {
    for (let request = 0; request < 10; request++) {
      expect((await send(organization, '/v5/campaigns')).status).toBe(200)
    }
  }
  await sendTen()
  // A request is counted after its response was sent.
  await expect.poll(requestCount).toBe(10)
  expect(await metric('rapport_process_resident_memory_bytes')).toBeGreaterThan(150e6)
  const workers = childrenOf(service.pid)
  expect(workers.length).toBe(2)
  const [killed = 0] = workers
  const replaced = await metric('rapport_workers_replaced_total')
  process.kill(killed, 'SIGKILL')
  await until('the process is replaced', () => {
    const current = childrenOf(service.pid)
    return current.length === 2 && !current.includes(killed)
  })
  // The other process serves requests meanwhile.
  await sendTen()
  await expect.poll(requestCount).toBe(20)
  expect(await metric('rapport_workers_replaced_total')).toBe(replaced + 1)
})

test('a stop under load answers every request and leaves no process behind', async () => {
  const processIds = [service.pid, ...childrenOf(service.pid)]
  expect(processIds.length).toBe(3)
  const statuses: number[] = []
  // Like a load balancer, each client stops when the service is not ready; half of them keep their connection.
  const load = async (keepAlive: boolean) => {
    const agent = new Agent({ keepAlive, maxSockets: 1 })
    for (let status = 200; status === 200;) {
      status = await statusWith(agent, '/readyz')
      statuses.push(status)
    }
    agent.destroy()
  }
  const allLoads = Promise.all(Array.from({ length: 8 }, (_, index) => load(index % 2 === 0)))
  await until('the service is busy', () => statuses.length > 100)
  // A terminal signals every process; the workers leave the stop to the primary.
  for (const pid of processIds.toReversed()) process.kill(pid, 'SIGINT')
  await allLoads
  const { code, errors } = await service.ended
  expect(code).toBe(0)
  expect(new Set(statuses)).toEqual(new Set([200, 503]))
  expect(statuses.filter((status) => status === 503).length).toBe(8)
  expect(processIds.filter(isAlive)).toEqual([])
  const lines = errors
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { process: unknown; msg: string })
  expect(new Set(lines.map((line) => line.process))).toEqual(new Set(['primary', 1, 2]))
  expect(errors).toContain('a process of the service ended; it is replaced')
  const mailLines = lines.filter(({ msg }) => msg.startsWith('mail:'))
  expect(new Set(mailLines.map((line) => line.process))).toEqual(new Set([1]))
})
