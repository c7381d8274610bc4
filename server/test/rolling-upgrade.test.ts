import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import pg from 'pg'
import { createSetUpLink } from '../src/cli/set-up-link.ts'
import { Database } from '../src/platform/database/database.ts'
import { databaseUrlOf, run } from './command-line.ts'
import { newFullLead } from './import-audit.ts'
import { goodPassword, newEmail, tokenInLink } from './people.ts'
import { createEmptyDatabase, type TestDatabase } from './postgres.ts'
import { buildPreviousRelease, hasPreviousRelease, type PreviousRelease } from './previous-release.ts'
import { until } from './processes.ts'
import { type ServiceProcess, type ServiceProcesses, serviceProcesses, sharedSecret } from './service-process.ts'
import type { Json } from './service.ts'

let testDatabase: TestDatabase
let client: pg.Client
let previous: PreviousRelease
let processes: ServiceProcesses
/** The services that get requests, in turn. */
const active: ServiceProcess[] = []

beforeAll(async () => {
  if (!hasPreviousRelease) return
  ;[testDatabase, previous] = await Promise.all([createEmptyDatabase(), buildPreviousRelease()])
  client = new pg.Client(testDatabase.connection)
  await client.connect()
  processes = await serviceProcesses(testDatabase)
  active.push(await processes.start('previous 0', {}, previous.program))
  active.push(await processes.start('previous 1', {}, previous.program))
}, 120_000)
afterAll(async () => {
  await processes?.close()
  await client?.end()
  await testDatabase?.drop()
  await previous?.remove()
})

interface Request {
  token?: string
  idempotencyKey?: string
  body?: unknown
}

/** Requests in progress by service. */
const inProgress = new Map<ServiceProcess, number>()
const failures: string[] = []
let turn = 0

/** Sends a request to the next service. Records what fails; `expected` is the status. */
async function send(method: string, path: string, expected: number, request: Request = {}): Promise<Json> {
  const service = active[turn++ % active.length] as ServiceProcess
  const { token, idempotencyKey, body } = request
  inProgress.set(service, (inProgress.get(service) ?? 0) + 1)
  try {
    const response = await fetch(`${service.url}${path}`, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (response.status !== expected) failures.push(`${method} ${path} of ${service.name}: ${response.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  } catch (error) {
    failures.push(`${method} ${path} of ${service.name}: ${String(error)}`)
    return undefined
  } finally {
    inProgress.set(service, (inProgress.get(service) ?? 1) - 1)
  }
}

interface Owner {
  email: string
  token: string
}

async function setUp(): Promise<Owner> {
  const database = new Database({ connection: testDatabase.connection, size: 1 })
  const email = newEmail()
  const link = await createSetUpLink(database, active[0]?.url ?? '').finally(() => database.close())
  const body = { token: tokenInLink(link ?? ''), email, name: 'Ada', organization: 'Engines', password: goodPassword }
  const { accessToken: token } = await send('POST', '/auth/set-up', 200, { body })
  return { email, token }
}

/** Uses what an earlier round, perhaps of another release, has made. */
async function round(owner: Owner, made: { companies: string[]; pushed: number; contacts: number; imports: string[] }) {
  const { token } = owner
  const idempotencyKey = randomUUID()
  const company = await send('POST', '/v5/companies', 201, { token, body: { name: `Company ${idempotencyKey}` } })
  made.companies.push(company?.id)
  const contact = { name: 'Grace', email: newEmail(), companyId: made.companies.at(-3) ?? company?.id }
  const created = await send('POST', '/v5/contacts', 201, { token, idempotencyKey, body: contact })
  const again = await send('POST', '/v5/contacts', 201, { token, idempotencyKey, body: contact })
  if (created?.id !== again?.id) failures.push(`${created?.id} was created again as ${again?.id}`)
  made.contacts++
  const path = `/v5/contacts/${created?.id}`
  await send('PATCH', path, 200, { token, body: { name: 'Grace Hopper' } })
  await send('POST', `${path}/notes`, 201, { token, body: { body: 'Please call me tomorrow.' } })
  await send('GET', path, 200, { token })
  await send('GET', '/v5/contacts?limit=5', 200, { token })
  await send('GET', `/v5/contacts?email=${encodeURIComponent(contact.email)}`, 200, { token })
  const url = made.imports[turn % made.imports.length] as string
  await send('POST', new URL(url).pathname, 200, { idempotencyKey, body: newFullLead() })
  made.pushed++
}

/** What members do rarely. */
async function rareRound({ email, token }: Owner, imports: string[]) {
  const made = await send('POST', '/v5/imports', 201, { token, body: { name: `Import ${randomUUID()}` } })
  imports.push(made?.triggerUrl)
  const login = await send('POST', '/auth/login', 200, { body: { email, password: goodPassword } })
  await send('GET', '/v5/me', 200, { token: login?.accessToken })
  await send('POST', '/auth/logout', 204, { body: { token: login?.refreshToken } })
  const team = await send('POST', '/v5/teams', 201, { token, body: { name: `Team ${randomUUID()}` } })
  await send('POST', '/v5/invitations', 201, { token, body: { email: newEmail(), role: 'member', teamId: team?.id } })
  const company = await send('POST', '/v5/companies', 201, { token, body: { name: `Company ${randomUUID()}` } })
  await send('DELETE', `/v5/companies/${company?.id}`, 204, { token })
}

// Without the history of the repository, there is no previous release to upgrade from.
test.skipIf(!hasPreviousRelease)(
  'an upgrade of one process after the other, with the previous release on the new schema, fails no request',
  { timeout: 120_000 },
  async () => {
    const owner = await setUp()
    const made = { companies: [] as string[], pushed: 0, contacts: 0, imports: [] as string[] }
    await rareRound(owner, made.imports)
    expect(failures).toEqual([])
    let isOver = false
    let rounds = 0
    const load = Promise.all([
      ...[0, 1].map(async () => {
        for (; !isOver; rounds++) await round(owner, made)
      }),
      (async () => {
        while (!isOver) await rareRound(owner, made.imports)
      })(),
    ])
    const someRounds = async () => {
      const enough = rounds + 6
      await until('requests are served', () => rounds >= enough || failures.length > 0, 60_000)
    }
    const stopFirst = async () => {
      const [stopping] = active.splice(0, 1)
      if (!stopping) throw new Error('no service is left')
      await until('its requests are finished', () => inProgress.get(stopping) === 0)
      stopping.signal('SIGTERM')
      expect((await stopping.ended).code).toBe(0)
    }
    try {
      await someRounds()
      const environment = { DATABASE_URL: databaseUrlOf(testDatabase), SECRET: sharedSecret }
      const migrated = await run(['migrate', '--json'], { environment })
      expect(migrated.code, migrated.errors).toBe(0)
      expect(JSON.parse(migrated.output).applied).toEqual(previous.laterMigrations)
      await someRounds()
      for (const index of [0, 1]) {
        active.push(await processes.start(`new ${index}`, { ROLE: index === 0 ? 'all' : 'api' }))
        await someRounds()
        await stopFirst()
        await someRounds()
      }
    } finally {
      isOver = true
      await load
    }
    expect(failures).toEqual([])
    const read = async (statement: string) => (await client.query<{ count: number }>(statement)).rows[0]?.count
    await until(
      'all rows are processed',
      async () =>
        (await read(`select count(*)::int as count from import_rows where status = 'PROCESSED'`)) === made.pushed,
      30_000,
    )
    expect(await read('select count(*)::int as count from contacts')).toBe(made.contacts + made.pushed)
  },
)
