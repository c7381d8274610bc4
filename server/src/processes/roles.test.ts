import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import pg from 'pg'
import { audit, countsOf, newFullLead, untilFinished } from '../../test/import-audit.ts'
import { databaseUrlOf } from '../../test/command-line.ts'
import { goodPassword, newEmail, setUpToken } from '../../test/people.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'
import {
  type ServiceProcess,
  type ServiceProcesses,
  serviceProcesses,
  sharedSecret,
} from '../../test/service-process.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../test/service.ts'
import { parseSecret } from '../platform/secret/secret.ts'

/** Four processes with ROLE=api and two with ROLE=work on one database; a client sends each request to the next one. */
let testDatabase: TestDatabase
/** Creates organizations and reads what the processes did. */
let auditor: TestService
let client: pg.Client
let processes: ServiceProcesses
let apis: ServiceProcess[]
let works: ServiceProcess[]
let owner: { email: string; accessToken: string }

// The built-in rate limits, and leases that end soon after their process.
const environment = { RATE_LIMIT_PER_MINUTE: '', IMPORT_LEASE_SECONDS: '2', REASONING_CONCURRENCY: '1' }
const start = (role: 'api' | 'work', index: number) => {
  // One of them is a primary with two workers of its own.
  const PROCESSES = role === 'api' && index === 2 ? '2' : '1'
  return processes.start(`${role} ${index}`, { ...environment, ROLE: role, IMPORT_WORKERS: '1', PROCESSES })
}

beforeAll(async () => {
  testDatabase = await createDatabase()
  // With ROLE=api, it does not do the work of the processes.
  const settings = { ROLE: 'api', DATABASE_URL: databaseUrlOf(testDatabase) }
  const secret = parseSecret(sharedSecret)
  auditor = await startTestService(settings, { ...testDatabase, secret, drop: async () => undefined })
  client = new pg.Client(testDatabase.connection)
  await client.connect()
  await client.query(
    `insert into login_failures (id, account_key, address, source, failed_at)
     select gen_random_uuid(), '\\x00', '192.0.2.1', 'stranger', now() - interval '3 days' from generate_series(1, 250)`,
  )
  processes = await serviceProcesses(testDatabase)
  apis = await Promise.all([0, 1, 2, 3].map((index) => start('api', index)))
  owner = await setUp()
}, 120_000)
afterAll(async () => {
  await processes.close()
  await client.end()
  await auditor.close()
  await testDatabase.drop()
})

interface Sent {
  status: number
  headers: Headers
  body: Json
}

interface Request {
  token?: string
  organization?: string
  idempotencyKey?: string
  body?: unknown
}

/** The response of a process; undefined if it did not answer. */
async function send(
  to: ServiceProcess,
  method: string,
  path: string,
  request: Request = {},
): Promise<Sent | undefined> {
  const { token, organization, idempotencyKey, body } = request
  try {
    const response = await fetch(`${to.url}${path}`, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(organization !== undefined && { 'service-organization-id': organization }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  } catch {
    return undefined
  }
}

let turn = 0
const next = (): ServiceProcess => apis[turn++ % apis.length] as ServiceProcess
const inTurn = (method: string, path: string, request?: Request) => send(next(), method, path, request)
const byAll = (method: string, path: string, request?: Request) =>
  Promise.all(apis.map((process) => send(process, method, path, request)))
const statuses = (all: readonly (Sent | undefined)[]) => all.map((response) => response?.status)

/** Creates the first owner and organization. */
async function setUp(): Promise<typeof owner> {
  const email = newEmail()
  const token = await setUpToken(auditor)
  const body = { token, email, name: 'Ada Lovelace', organization: 'Engines', password: goodPassword }
  const created = await inTurn('POST', '/auth/set-up', { body })
  return { email, accessToken: created?.body.accessToken }
}

const credentialOf = ({ apiKey: token, organizationId: organization }: TestOrganization) => ({ token, organization })
const pathOf = ({ triggerUrl }: TestOrganization): string => new URL(triggerUrl).pathname

const expiredCount = async () =>
  (
    await client.query<{ count: number }>(
      `select count(*)::int as count from login_failures where address = '192.0.2.1'`,
    )
  ).rows[0]?.count

test('processes with ROLE=api do no background work; those with ROLE=work do all of it and serve no API', async () => {
  const organization = await auditor.newOrganization()
  const pushes = await Promise.all(Array.from({ length: 40 }, () => next().push(pathOf(organization), newFullLead())))
  expect(pushes.map((push) => push?.status)).toEqual(pushes.map(() => 200))
  expect(await countsOf(auditor, organization)).toEqual({ PENDING: 40 })
  expect(await expiredCount()).toBe(250)
  works = await Promise.all([0, 1].map((index) => start('work', index)))
  await untilFinished(auditor, organization, 40)
  const accepted = pushes.map((push) => push?.body.id as string)
  expect(await audit(auditor, organization, { accepted })).toEqual({ PROCESSED: 40 })
  await until('expired rows are purged', async () => (await expiredCount()) === 0)
  for (const work of works) {
    expect((await send(work, 'GET', '/healthz'))?.status).toBe(200)
    expect((await send(work, 'GET', '/readyz'))?.status).toBe(200)
    for (const path of ['/', '/v5/contacts', '/v5/docs', '/contacts', '/auth/settings']) {
      const refused = await send(work, 'GET', path, credentialOf(organization))
      expect([path, refused?.status, refused?.body.code]).toEqual([path, 503, 'overloaded'])
      expect(refused?.body.description).toMatch(/ROLE=work/)
    }
    const page = await fetch(work.url, { headers: { accept: 'text/html' } })
    expect([page.status, await page.text()]).toEqual([503, expect.stringContaining('ROLE=work')])
    const push = await work.push(pathOf(organization), newFullLead())
    expect(push?.status).toBe(503)
  }
}, 60_000)

test('a request that is repeated at another process is answered again, and done once', async () => {
  const organization = await auditor.newOrganization()
  const credential = credentialOf(organization)
  for (let round = 0; round < 8; round++) {
    const request = { ...credential, idempotencyKey: randomUUID(), body: { name: `Round ${round}` } }
    const first = await inTurn('POST', '/v5/contacts', request)
    const repeated: (Sent | undefined)[] = []
    for (const process of apis) repeated.push(await send(process, 'POST', '/v5/contacts', request))
    expect(first?.status).toBe(201)
    expect(repeated.map((response) => [response?.status, response?.body.id])).toEqual(
      apis.map(() => [201, first?.body.id]),
    )
    expect(repeated.map((response) => response?.headers.get('idempotent-replayed'))).toEqual(apis.map(() => 'true'))
  }
  const request = { ...credential, idempotencyKey: randomUUID(), body: { name: 'All at once' } }
  const all = await byAll('POST', '/v5/contacts', request)
  expect(statuses(all).every((status) => status === 201 || status === 409)).toBe(true)
  expect((await inTurn('GET', '/v5/contacts/count', credential))?.body).toEqual({ count: 9 })
})

test('a revoked key and an ended session are refused by every process at once', async () => {
  const list = async (token: string) => statuses(await byAll('GET', '/v5/contacts', { token, ...of }))
  const of = {
    organization: (await inTurn('GET', '/v5/organization', { token: owner.accessToken }))?.body.id as string,
  }
  const login = await inTurn('POST', '/auth/login', { body: { email: owner.email, password: goodPassword } })
  const { accessToken, refreshToken } = (login as Sent).body
  expect(await list(accessToken)).toEqual([200, 200, 200, 200])
  expect((await inTurn('POST', '/auth/logout', { body: { token: refreshToken } }))?.status).toBe(204)
  expect(await list(accessToken)).toEqual([401, 401, 401, 401])
  expect(await list(owner.accessToken)).toEqual([200, 200, 200, 200])
  const scopes = ['contact:list:read']
  const created = await inTurn('POST', '/v5/api-keys', { token: owner.accessToken, body: { name: 'Reader', scopes } })
  expect(created?.status, JSON.stringify(created?.body)).toBe(201)
  expect(await list(created?.body.apiKey)).toEqual([200, 200, 200, 200])
  const revoke = `/v5/api-keys/${created?.body.id}/revoke`
  expect((await inTurn('POST', revoke, { token: owner.accessToken }))?.status).toBe(200)
  expect(await list(created?.body.apiKey)).toEqual([401, 401, 401, 401])
})

test('a mail that a process with ROLE=work composes leads to the API', async () => {
  const token = owner.accessToken
  const invited = await inTurn('POST', '/v5/invitations', { token, body: { email: newEmail(), role: 'member' } })
  expect(invited?.status, JSON.stringify(invited?.body)).toBe(201)
  let content: Sent | undefined
  await until('the mail is composed', async () => {
    const mails = (await inTurn('GET', '/v5/mails?kind=invitation', { token }))?.body
    content = await inTurn('GET', `/v5/mails/${mails[0]?.id}/content`, { token })
    return content?.status === 200
  })
  expect(apis.map(({ url }) => url)).toContain(new URL(content?.body.links[0]).origin)
})

/** Repeats a request at one process after the other until one acknowledges it, as a client behind a load balancer does. */
async function untilAcknowledged(method: string, path: string, request: Request): Promise<Sent> {
  for (let attempt = 0; attempt < 300; attempt++) {
    const response = await inTurn(method, path, request)
    if (response && response.status < 300) return response
    // Busy, stopping, or still doing what an earlier attempt began.
    if (response && ![503, 409].includes(response.status)) throw new Error(JSON.stringify(response.body))
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${method} ${path} was never acknowledged`)
}

test('whichever process is killed, every acknowledged change is stored, and nothing happens twice', async () => {
  const [organization, importing] = await Promise.all([auditor.newOrganization(), auditor.newOrganization()])
  const created: string[] = []
  const pushed: string[] = []
  let isOver = false
  const write = async (index: number) => {
    for (let count = 0; !isOver; count++) {
      const idempotencyKey = randomUUID()
      if (index % 2 === 0) {
        const request = { ...credentialOf(organization), idempotencyKey, body: { name: `Client ${index}, ${count}` } }
        created.push((await untilAcknowledged('POST', '/v5/contacts', request)).body.id)
      } else {
        const push = await untilAcknowledged('POST', pathOf(importing), { idempotencyKey, body: newFullLead() })
        pushed.push(push.body.id)
      }
    }
  }
  const clients = Promise.all([0, 1, 2, 3].map(write))
  const kill = async (among: ServiceProcess[], index: number) => {
    const before = created.length + pushed.length
    await until('the load goes on', () => created.length + pushed.length > before + 10)
    among[index]?.signal('SIGKILL')
    await among[index]?.ended
  }
  const killing = (async () => {
    await Promise.all([kill(apis, 1), kill(works, 0)])
    const [api, work] = await Promise.all([start('api', 1), start('work', 0)])
    apis[1] = api
    works[0] = work
    await Promise.all([kill(apis, 3), kill(works, 1)])
    apis.pop()
    await until('the load goes on', () => created.length + pushed.length > 60)
  })().finally(() => (isOver = true))
  await Promise.all([clients, killing])
  expect(created.length).toBeGreaterThan(20)
  expect(pushed.length).toBeGreaterThan(20)
  await untilFinished(auditor, importing, pushed.length)
  expect(await audit(auditor, importing, { accepted: pushed })).toEqual({ PROCESSED: pushed.length })
  expect(new Set(created).size).toBe(created.length)
  const { body } = (await inTurn('GET', '/v5/contacts/count', credentialOf(organization))) as Sent
  expect(body).toEqual({ count: created.length })
}, 90_000)

test('the processes apply a rate limit together', async () => {
  const began = performance.now()
  const body = { email: newEmail() }
  const all = await Promise.all(Array.from({ length: 60 }, () => inTurn('POST', '/auth/forgot-password', { body })))
  const seconds = (performance.now() - began) / 1000
  const allowed = all.filter((response) => response?.status === 202).length
  expect(all.filter((response) => response?.status === 429).length).toBe(60 - allowed)
  // Twenty at once, and one every three seconds.
  expect(allowed).toBeGreaterThanOrEqual(20)
  expect(allowed).toBeLessThanOrEqual(20 + Math.ceil(seconds / 3))
})
