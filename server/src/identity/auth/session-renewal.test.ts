import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { Authenticator } from '../../../test/authenticator.ts'
import { enrolApp } from '../../../test/second-factors.ts'
import { callAfterReauthentication, callAs, loggedIn, newOwner, type TestPerson } from '../../../test/people.ts'
import { requestText, sendRaw } from '../../../test/raw-http.ts'
import { type Json, startTestService, type TestResponse, type TestService } from '../../../test/service.ts'

let service: TestService
let serviceWithAuthOrigin: TestService
const origin = 'https://crm.example.com'
const authOrigin = 'https://auth.example.com'
beforeAll(async () => {
  ;[service, serviceWithAuthOrigin] = await Promise.all([
    startTestService({ PUBLIC_URL: origin }),
    startTestService({ AUTH_ORIGIN: authOrigin }),
  ])
})
afterAll(() => Promise.all([service.close(), serviceWithAuthOrigin.close()]))

const refresh = (token: string) => service.anonymous('POST', '/auth', { body: { token } })

const sessionOf = async ({ sessionId }: Pick<TestPerson, 'sessionId'>): Promise<Json> => {
  const [row] = await service.database.crossTenantQuery<Json>(
    'check the database',
    sql`select ended_at is not null as ended, created_at, expires_at, user_agent, device_hash, organization_id,
      begun_by, second_factor_at is not null as strong from sessions where id = ${decodeId('session', sessionId)}::uuid`,
  )
  return row
}

/** The methods of re-authentication, each with its preparation. */
const methods: [string, (person: TestPerson) => Promise<() => Promise<TestResponse<Json>>>][] = [
  [
    'the password',
    async ({ call, password }) =>
      () =>
        call('POST', '/v5/me/reauthenticate', { body: { password } }),
  ],
  [
    'a code',
    async (person) => {
      const { app } = await enrolApp(person)
      return () => person.call('POST', '/v5/me/reauthenticate/totp', { body: { code: app.code() } })
    },
  ],
  [
    'a passkey',
    async ({ call }) => {
      const authenticator = new Authenticator(origin)
      const { body } = await call('POST', '/v5/me/passkeys/options')
      const credential = authenticator.create(body)
      await call('POST', '/v5/me/passkeys', { body: { name: 'Key', credential } })
      const requestOptions = (await call('POST', '/v5/me/reauthenticate/passkey/options')).body
      return () =>
        call('POST', '/v5/me/reauthenticate/passkey', { body: { credential: authenticator.get(requestOptions) } })
    },
  ],
]

test.each(methods)(
  're-authentication with %s creates a new session and new tokens and ends the old ones',
  async (_, prepare) => {
    const owner = await newOwner(service)
    const person = await loggedIn(service, owner.email, owner.password)
    const reauthenticate = await prepare(person)
    const before = await sessionOf(person)
    const response = await reauthenticate()
    expect(response.status, response.text).toBe(200)
    const { sessionId, accessToken, refreshToken } = response.body
    expect(sessionId).not.toBe(person.sessionId)
    // Both old tokens are rejected, and using the old refresh token does not end the new session.
    expect((await person.call('GET', '/v5/me')).status).toBe(401)
    expect((await refresh(person.refreshToken)).status).toBe(401)
    const call = callAfterReauthentication(service, response)
    expect((await call('GET', '/v5/contacts')).status).toBe(200)
    expect((await call('POST', '/v5/me/address', { body: { email: 'new@example.com' } })).status).toBe(202)
    // The session keeps its start, so that it still ends after 90 days, and its device.
    expect(await sessionOf(person)).toMatchObject({ ended: true })
    const { ended, created_at, user_agent, organization_id, begun_by } = await sessionOf({ sessionId })
    const { created_at: at, user_agent: agent, organization_id: organizationId, begun_by: begunBy } = before
    expect([ended, created_at, user_agent, organization_id, begun_by]).toEqual([
      false,
      at,
      agent,
      organizationId,
      begunBy,
    ])
    const refreshed = await refresh(refreshToken)
    expect([refreshed.status, refreshed.body.sessionId]).toEqual([200, sessionId])
    expect((await callAs(service, accessToken)('GET', '/v5/me')).status).toBe(200)
  },
)

test('a failed re-authentication changes no token', async () => {
  const owner = await newOwner(service)
  const person = await loggedIn(service, owner.email, owner.password)
  expect((await person.call('POST', '/v5/me/reauthenticate', { body: { password: 'not my password' } })).status).toBe(
    422,
  )
  expect((await person.call('GET', '/v5/me')).status).toBe(200)
  expect((await refresh(person.refreshToken)).status).toBe(200)
  const { body } = await person.call('GET', '/v5/audit-log?filter.action.equals=reauthentication.failed')
  expect(body).toMatchObject([{ details: { factor: 'password' }, address: '127.0.0.1' }])
})

test('of two concurrent re-authentications one succeeds, and the session is not duplicated', async () => {
  const owner = await newOwner(service)
  const { call } = await loggedIn(service, owner.email, owner.password)
  const body = { password: owner.password }
  const responses = await Promise.all([1, 2].map(() => call('POST', '/v5/me/reauthenticate', { body })))
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 401])
  const [successful] = responses.filter(({ status }) => status === 200)
  const sessions = await callAfterReauthentication(service, successful as TestResponse<Json>)('GET', '/v5/me/sessions')
  // The session of `bootstrap` and this one.
  expect(sessions.body).toHaveLength(2)
})

test('re-authentication sets the refresh token as a cookie on request, only for the service’s own pages', async () => {
  const { email, password } = await newOwner(service)
  const headers = { origin }
  const login = await service.anonymous('POST', '/auth/login', { body: { email, password, cookie: true }, headers })
  const cookie = login.headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0])
    .join('; ')
  const call = callAs(service, login.body.accessToken)
  const body = { password, cookie: true }
  expect(
    (await call('POST', '/v5/me/reauthenticate', { body, headers: { origin: 'https://evil.example' } })).status,
  ).toBe(403)
  const reauthentication = await call('POST', '/v5/me/reauthenticate', { body, headers: { ...headers, cookie } })
  expect([reauthentication.status, reauthentication.body.refreshToken]).toEqual([200, undefined])
  const renewed = reauthentication.headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0])
    .join('; ')
  const refreshWithCookie = (cookieHeader: string) =>
    service.anonymous('POST', '/auth/refresh', { body: {}, headers: { ...headers, cookie: cookieHeader } })
  expect((await refreshWithCookie(cookie)).status).toBe(401)
  expect((await refreshWithCookie(renewed)).body.sessionId).toBe(reauthentication.body.sessionId)
})

test('with AUTH_ORIGIN, pages re-authenticate on that host, which owns the cookie', async () => {
  const { accessToken, password } = await newOwner(serviceWithAuthOrigin)
  const postFromAuthOrigin = (path: string) =>
    sendRaw(
      serviceWithAuthOrigin.url,
      requestText('POST', path, {
        headers: {
          host: new URL(authOrigin).host,
          origin: authOrigin,
          'content-type': 'application/json',
          authorization: `Bearer ${accessToken}`,
        },
        body: JSON.stringify({ password, cookie: true }),
      }),
    )
  const reauthentication = await postFromAuthOrigin('/v5/me/reauthenticate')
  expect(reauthentication.status, reauthentication.body).toBe(200)
  expect(reauthentication.headers['set-cookie']).toMatch(/^__Host-rapport=rft_/)
  expect(JSON.parse(reauthentication.body)).not.toHaveProperty('refreshToken')
  // That host serves nothing else of the API.
  expect((await postFromAuthOrigin('/v5/me/password')).status).toBe(404)
})
