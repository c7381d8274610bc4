import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { commonTenant } from '../../database/connection-queue.ts'
import { generateApiKey } from '../../../identity/access/api-key.ts'
import { Database } from '../../database/database.ts'
import { decodeId } from '../../model/ids.ts'
import { sql } from '../../model/sql.ts'
import { createDatabase, type TestDatabase } from '../../../../test/postgres.ts'
import { until } from '../../../../test/processes.ts'
import { pusher } from '../../../../test/pushes.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'

const origin = 'https://app.example'

let testDatabase: TestDatabase
let service: TestService
let organization: TestOrganization
let holder: pg.Client
beforeEach(async () => {
  testDatabase = await createDatabase()
  service = await startTestService({ CORS_ORIGINS: origin }, testDatabase)
  organization = await service.newOrganization()
  holder = new pg.Client(testDatabase.connection)
  await holder.connect()
})
afterEach(async () => {
  await holder.end()
  await service.close()
})

const tenantKey = () => decodeId('org', organization.organizationId) ?? ''

/** Blocks requests on a table lock until the organization's connections are in use and others have waited a while. */
async function occupyConnections(): Promise<Promise<{ status: number }>[]> {
  await holder.query('begin')
  await holder.query('lock table contacts in access exclusive mode')
  return sendWaiting()
}

async function sendWaiting(): Promise<Promise<{ status: number }>[]> {
  // Eight have a connection, and twelve wait for one.
  const pending = Array.from({ length: 20 }, () => organization.call('GET', '/v5/contacts', { once: true }))
  await until('requests wait long', async () => service.database.longestWait(tenantKey()) > 600)
  return pending
}

test('while requests wait too long, new ones are rejected immediately, and the waiting ones are answered', async () => {
  const pending = await occupyConnections()
  const refused = await organization.call('GET', '/v5/contacts', { once: true })
  expect(refused.status).toBe(503)
  expect(refused.body).toMatchObject({ code: 'overloaded', status: 503, message: expect.any(String) })
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(refused.headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/)
  expect(refused.headers.get('version')).toMatch(/^\d{4}-\d{2}-\d{2}$/)
  const post = await organization.call('POST', '/v5/companies', { body: { name: 'never created' }, once: true })
  expect(post.status).toBe(503)
  await holder.query('rollback')
  expect((await Promise.all(pending)).map(({ status }) => status)).toEqual(pending.map(() => 200))
  await until('no request is in progress', () => service.database.counts.idle === service.database.counts.total)
  const after = await organization.call('GET', '/v5/companies')
  expect([after.status, after.body]).toEqual([200, []])
  // Only the served one is logged, after its response.
  await expect.poll(() => service.logged.filter((line) => line.includes('"route":"/v5/companies"'))).toHaveLength(1)
})

test('requests of other organizations, and those of anonymous clients, are served meanwhile', async () => {
  const other = await service.newOrganization()
  const pending = await occupyConnections()
  // One after the other: many at once may have to wait for each other.
  for (let round = 0; round < 20; round++) {
    // Those that have waited for five seconds are refused.
    if (round % 5 === 4) pending.push(...(await sendWaiting()))
    const responses = [
      await other.call('GET', '/v5/companies', { once: true }),
      await service.anonymous('GET', '/auth/settings', { once: true }),
    ]
    expect(responses.map(({ status }) => status)).toEqual([200, 200])
  }
  pending.push(...(await sendWaiting()))
  expect((await organization.call('GET', '/v5/companies', { once: true })).status).toBe(503)
  await holder.query('rollback')
  await Promise.all(pending)
})

test('anonymous clients whose requests wait too long get a page that says so', async () => {
  await holder.query('begin')
  await holder.query('lock table api_key_previous_hashes in access exclusive mode')
  const unknown = Array.from({ length: 20 }, () =>
    service.anonymous('GET', '/v5/contacts', { headers: { authorization: `Bearer ${generateApiKey()}` }, once: true }),
  )
  await until('requests wait long', async () => service.database.longestWait(commonTenant) > 600)
  const page = await service.anonymous('GET', '/', { headers: { accept: 'text/html,*/*;q=0.8' }, once: true })
  expect([page.status, page.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8'])
  expect(page.text).toContain(`<code>${page.headers.get('x-request-id')}</code>`)
  await holder.query('rollback')
  expect(new Set((await Promise.all(unknown)).map(({ status }) => status))).toEqual(new Set([401]))
})

test('pushes and health checks are not rejected under overload', async () => {
  const pending = await occupyConnections()
  expect((await service.anonymous('GET', '/healthz', { once: true })).status).toBe(200)
  expect((await pusher(service, new URL(organization.triggerUrl).pathname)()).status).toBe(200)
  expect((await service.anonymous('GET', '/v5/docs', { once: true })).status).toBe(200)
  await holder.query('rollback')
  await Promise.all(pending)
})

test('a page of an allowed origin passes its preflight and can read the rejection', async () => {
  const pending = await occupyConnections()
  const preflight = { headers: { origin, 'access-control-request-method': 'GET' }, once: true }
  expect((await service.anonymous('OPTIONS', '/v5/contacts', preflight)).status).toBe(204)
  const refused = await organization.call('GET', '/v5/contacts', { headers: { origin }, once: true })
  expect(refused.status).toBe(503)
  expect(refused.headers.get('access-control-allow-origin')).toBe(origin)
  expect(refused.headers.get('access-control-expose-headers')).toContain('Retry-After')
  await holder.query('rollback')
  await Promise.all(pending)
})

test('rejections are logged once a second with a count, not one by one', async () => {
  const pending = await occupyConnections()
  const before = service.logged.length
  await Promise.all(Array.from({ length: 5 }, () => organization.call('GET', '/v5/contacts', { once: true })))
  const rejectionLines = () => service.logged.slice(before).filter((line) => line.includes('requests were rejected'))
  const counts = () => rejectionLines().map((line): number => JSON.parse(line).requests)
  await until('they are logged', () => counts().reduce((sum, count) => sum + count, 0) >= 5)
  // A second may end between them, and the one in which they begin may contain earlier rejections.
  expect(counts().length).toBeLessThanOrEqual(2)
  await holder.query('rollback')
  await Promise.all(pending)
})

test('a queue of sixteen statements per connection counts as overload, however short the wait', async () => {
  const database = new Database({ connection: testDatabase.connection, size: 2 })
  const runQuery = () => database.crossTenantQuery('check the database', sql`select pg_sleep(0.01)`)
  const statements = Array.from({ length: 31 }, runQuery)
  expect(database.longestWait(commonTenant)).toBe(0)
  statements.push(runQuery())
  expect(database.longestWait(commonTenant)).toBe(Infinity)
  await Promise.all(statements)
  expect(database.longestWait(commonTenant)).toBe(0)
  await database.close()
})
