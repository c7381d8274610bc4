import { roleScopes } from '../src/app.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../src/platform/model/sql.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { loggedIn, newOwner } from './people.ts'
import { until } from './processes.ts'
import { startTestService, type TestService } from './service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const refresh = (token: string) => service.anonymous('POST', '/auth', { body: { token } })

/** Moves the start of the session this many days into the past. */
const backdateSession = (sessionId: string, days: number) =>
  service.database.crossTenantQuery(
    'manage an account',
    sql`update sessions set created_at = now() - make_interval(days => ${days}), expires_at = now() + interval '1 hour'
      where id = ${decodeId('session', sessionId)}::uuid`,
  )

async function secondsLeft(sessionId: string): Promise<number> {
  const [row] = await service.database.crossTenantQuery<{ seconds: number }>(
    'manage an account',
    sql`select extract(epoch from expires_at - now())::int as seconds from sessions
      where id = ${decodeId('session', sessionId)}::uuid`,
  )
  return row?.seconds ?? Number.NaN
}

const day = 24 * 60 * 60

test('a session in constant use ends 90 days after its login', async () => {
  const { email, password } = await newOwner(service)
  const { call, sessionId, refreshToken } = await loggedIn(service, email, password)
  await backdateSession(sessionId, 10)
  const early = await refresh(refreshToken)
  expect(early.status).toBe(200)
  // Within the first sixty days a refresh extends the session by thirty days.
  expect(await secondsLeft(sessionId)).toBeGreaterThan(29.9 * day)
  await backdateSession(sessionId, 89)
  const late = await refresh(early.body.refreshToken)
  expect(late.status).toBe(200)
  expect(await secondsLeft(sessionId)).toBeLessThanOrEqual(day)
  await backdateSession(sessionId, 91)
  // `backdateSession` leaves an hour for one more refresh, which finds that the 90 days are over.
  const afterLimit = await refresh(late.body.refreshToken)
  expect(await secondsLeft(sessionId)).toBeLessThan(0)
  expect((await refresh(afterLimit.body.refreshToken ?? late.body.refreshToken)).status).toBe(401)
  expect((await call('GET', '/v5/me')).status).toBe(401)
})

test('a person can have many sessions, and ending all of them ends each one', async () => {
  const { email, password } = await newOwner(service)
  const people = []
  for (let count = 0; count < 12; count++) people.push(await loggedIn(service, email, password))
  const [first] = people
  const listed = await first?.call('GET', '/v5/me/sessions')
  // The session of `bootstrap` counts too.
  expect(listed?.body).toHaveLength(13)
  expect((await first?.call('DELETE', '/v5/me/sessions'))?.status).toBe(204)
  for (const { call, refreshToken } of people) {
    expect((await call('GET', '/v5/me')).status).toBe(401)
    expect((await refresh(refreshToken)).status).toBe(401)
  }
})

test('an access token contains ids and scopes, but no personal data', async () => {
  const { email, password } = await newOwner(service)
  const { accessToken, userId } = await loggedIn(service, email, password)
  const [header = '', payload = ''] = accessToken.split('.').map((part) => Buffer.from(part, 'base64url').toString())
  expect(Object.keys(JSON.parse(header)).sort()).toEqual(['alg', 'kid', 'typ'])
  const claims = JSON.parse(payload)
  expect(Object.keys(claims).sort()).toEqual(['aud', 'exp', 'iat', 'iss', 'jti', 'org', 'scope', 'sid', 'sub'])
  expect([claims.sub, claims.scope.split(' ')]).toEqual([userId, roleScopes('owner')])
  expect(payload).not.toContain(email)
})

test('passwords do not expire with age', async () => {
  const { email, password } = await newOwner(service)
  await service.database.crossTenantQuery(
    'manage an account',
    sql`update users set password_changed_at = now() - interval '10 years', created_at = now() - interval '11 years'
      where email = ${email}`,
  )
  await loggedIn(service, email, password)
})

test('a caller cannot inject a log line or a property into one', async () => {
  const injected = 'a","level":60,"msg":"forged","b":"\\n{"level":60}\\u000a\u00e9'
  const headers = {
    'x-request-id': injected,
    'user-agent': injected,
    origin: injected,
    authorization: `Bearer ${injected}`,
  }
  const before = service.logged.length
  await service.anonymous('GET', '/v5/me', { headers })
  // Lines of an earlier request or of background work may come between.
  const ofThis = () => service.logged.slice(before).filter((line) => line.includes('forged'))
  await until('the request is logged', () => ofThis().length > 0)
  const lines = ofThis()
  expect(lines).toHaveLength(1)
  expect(lines[0]?.trimEnd()).not.toContain('\n')
  const entry = JSON.parse(lines[0] ?? '') as Record<string, unknown>
  expect([entry.level, entry.msg, entry.callerRequestId]).toEqual([30, 'request', injected])
})
