import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAs, loggedIn, newOwner } from '../../../test/people.ts'
import { sendRaw } from '../../../test/raw-http.ts'
import { startTestService, type TestService } from '../../../test/service.ts'

let local: TestService
let secure: TestService
const publicUrl = 'https://crm.example.com'
beforeAll(async () => {
  ;[local, secure] = await Promise.all([
    startTestService(),
    startTestService({ PUBLIC_URL: publicUrl, TRUST_PROXY: '1' }),
  ])
})
afterAll(() => Promise.all([local.close(), secure.close()]))

interface Jar {
  refresh: string | undefined
  device: string | undefined
  lines: string[]
}

/** The cookies that a response sets. */
function jarOf(headers: Headers): Jar {
  const lines = headers.getSetCookie()
  const valueOf = (name: RegExp) => lines.map((line) => name.exec(line)?.[1]).find((value) => value !== undefined)
  return {
    refresh: valueOf(/^(?:__Host-)?rapport=([^;]*)/),
    device: valueOf(/^(?:__Host-)?rapport-device=([^;]*)/),
    lines,
  }
}

async function logInWithCookie(service: TestService, origin: string, more: Record<string, string> = {}) {
  const { email, password } = await newOwner(service)
  const body = { email, password, cookie: true }
  const response = await service.anonymous('POST', '/auth/login', { body, headers: { origin, ...more } })
  expect(response.status, response.text).toBe(200)
  return { email, password, response, jar: jarOf(response.headers) }
}

const refresh = (service: TestService, token: string | undefined, headers: Record<string, string>, prefix = '') =>
  service.anonymous('POST', '/auth/refresh', { body: {}, headers: { cookie: `${prefix}rapport=${token}`, ...headers } })

test('a browser gets the refresh token in an HttpOnly cookie, not in the body', async () => {
  const { response, jar } = await logInWithCookie(local, local.url)
  expect(response.body.refreshToken).toBeUndefined()
  expect(response.text).not.toContain(jar.refresh)
  expect(jar.lines).toHaveLength(2)
  for (const line of jar.lines) {
    expect(line).toMatch(/^rapport(?:-device)?=[\w-]{43,}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/)
  }
})

test('over HTTPS, cookies are bound to this host and HSTS is sent', async () => {
  const { response, jar } = await logInWithCookie(secure, publicUrl)
  for (const line of jar.lines) {
    expect(line).toMatch(
      /^__Host-rapport(?:-device)?=[\w-]{43,}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict; Secure$/,
    )
  }
  expect(response.headers.get('strict-transport-security')).toMatch(/^max-age=\d{8}/)
  const refused = await sendRaw(secure.url, 'NOT HTTP\r\n\r\n')
  expect(refused.status).toBe(400)
  expect(refused.headers['strict-transport-security']).toMatch(/^max-age=\d{8}/)
  expect(refused.headers['content-security-policy']).toContain("default-src 'none'")
  expect((await local.anonymous('GET', '/v5/docs')).headers.get('strict-transport-security')).toBeNull()
  const plain = await secure.anonymous('POST', '/auth/refresh', {
    body: {},
    headers: { origin: publicUrl, cookie: `rapport=${jar.refresh}` },
  })
  expect(plain.status).toBe(401)
  expect((await refresh(secure, jar.refresh, { origin: publicUrl }, '__Host-')).status).toBe(200)
})

test('the cookie is exchanged for an access token and a new cookie, and the old one stops working', async () => {
  const { jar } = await logInWithCookie(local, local.url)
  const next = await refresh(local, jar.refresh, { origin: local.url })
  expect(next.status).toBe(200)
  expect(Object.keys(next.body).sort()).toEqual(['accessToken', 'sessionId', 'userId'])
  const successor = jarOf(next.headers).refresh
  expect(successor).not.toBe(jar.refresh)
  expect((await callAs(local, next.body.accessToken)('GET', '/v5/me')).status).toBe(200)
  expect((await refresh(local, successor, { origin: local.url })).status).toBe(200)
  expect((await refresh(local, jar.refresh, { origin: local.url })).status).toBe(401)
})

test.each([
  ['no origin', {}],
  ['another site', { origin: 'https://evil.example' }],
  ['another port of this machine', { origin: 'http://127.0.0.1:1' }],
  ['a sandboxed page', { origin: 'null' }],
  ['a host name that only begins like ours', { origin: 'OURS.evil.example' }],
])('a request with the cookie and %s is rejected and changes nothing', async (_, headers: Record<string, string>) => {
  const { jar } = await logInWithCookie(local, local.url)
  const sent = headers.origin?.startsWith('OURS') ? { origin: `${local.url}.evil.example` } : headers
  const cookie = { cookie: `rapport=${jar.refresh}` }
  for (const path of ['/auth/refresh', '/auth/logout']) {
    const response = await local.anonymous('POST', path, { body: {}, headers: { ...cookie, ...sent } })
    expect([path, response.status]).toEqual([path, 403])
    expect(response.headers.get('set-cookie')).toBeNull()
  }
  expect((await refresh(local, jar.refresh, { origin: local.url })).status).toBe(200)
})

test.each(['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x'])(
  'a form of another site (%s) can neither log in, log out nor refresh',
  async (type) => {
    const { email, password, jar } = await logInWithCookie(local, local.url)
    const headers = { 'content-type': type, origin: 'https://evil.example', cookie: `rapport=${jar.refresh}` }
    const login = JSON.stringify({ email, password, cookie: true })
    for (const [path, body] of [
      ['/auth/refresh', '{}'],
      ['/auth/logout', '{}'],
      ['/auth/login', login],
    ] as const) {
      const response = await local.anonymous('POST', path, { body, headers })
      expect([path, response.status]).toEqual([path, 415])
    }
    expect((await refresh(local, jar.refresh, { origin: local.url })).status).toBe(200)
  },
)

test('another site cannot log a visitor in: a login that sets cookies must come from our origin', async () => {
  const { email, password } = await newOwner(local)
  const body = { email, password, cookie: true }
  for (const headers of [{ origin: 'https://evil.example' }, {}]) {
    const response = await local.anonymous('POST', '/auth/login', { body, headers })
    expect(response.status).toBe(403)
    expect(response.headers.getSetCookie()).toEqual([])
  }
})

test('a login never adopts an existing session: each one creates a new session', async () => {
  const attacker = await logInWithCookie(local, local.url)
  const planted = `rapport=${attacker.jar.refresh}; rapport-device=planted`
  const victim = await logInWithCookie(local, local.url, { cookie: planted })
  expect(victim.response.body.sessionId).not.toBe(attacker.response.body.sessionId)
  expect(victim.jar.refresh).not.toBe(attacker.jar.refresh)
  expect(victim.jar.device).toMatch(/^[\w-]{43}$/)
  // The planted session is of no use to the attacker.
  expect((await refresh(local, attacker.jar.refresh, { origin: local.url })).status).toBe(401)
})

test('a login in a browser that already has a session ends that session', async () => {
  const { email, password, response, jar } = await logInWithCookie(local, local.url)
  const again = await local.anonymous('POST', '/auth/login', {
    body: { email, password, cookie: true },
    headers: { origin: local.url, cookie: `rapport=${jar.refresh}` },
  })
  expect(again.status).toBe(200)
  expect((await callAs(local, response.body.accessToken)('GET', '/v5/me')).status).toBe(401)
  expect((await callAs(local, again.body.accessToken)('GET', '/v5/me')).status).toBe(200)
})

test('failed logins from the same address and user agent do not lock out a person’s known browser', async () => {
  const { email, password, jar } = await logInWithCookie(local, local.url)
  const guess = (body: object, headers: Record<string, string> = {}) =>
    local.anonymous('POST', '/auth/login', { body: { email, ...body }, headers })
  for (let count = 0; count < 10; count++) await guess({ password: 'guess after guess after guess' })
  expect((await guess({ password })).status).toBe(429)
  const own = { origin: local.url, cookie: `rapport-device=${jar.device}` }
  expect((await guess({ password, cookie: true }, own)).status).toBe(200)
})

test('logging out removes the cookie and ends its session', async () => {
  const { jar, response } = await logInWithCookie(local, local.url)
  const headers = { origin: local.url, cookie: `rapport=${jar.refresh}` }
  const out = await local.anonymous('POST', '/auth/logout', { body: {}, headers })
  expect(out.status).toBe(204)
  expect(out.headers.getSetCookie()).toEqual(['rapport=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict'])
  expect((await callAs(local, response.body.accessToken)('GET', '/v5/me')).status).toBe(401)
  expect((await refresh(local, jar.refresh, { origin: local.url })).status).toBe(401)
})

test('over plain HTTP from another host, no cookie is set', async () => {
  const { email, password } = await newOwner(local)
  const host = new URL(local.url).host.replace('127.0.0.1', 'crm.example.com')
  const response = await local.anonymous('POST', '/auth/login', {
    body: { email, password, cookie: true },
    headers: { 'x-forwarded-host': host, origin: `http://${host}` },
  })
  expect(response.status).toBe(403)
})

test('a browser is recognized by its device cookie, from any address', async () => {
  const { email, password, jar } = await logInWithCookie(secure, publicUrl, { 'x-forwarded-for': '192.0.2.1' })
  const headers = {
    origin: publicUrl,
    cookie: `__Host-rapport-device=${jar.device}`,
    'x-forwarded-for': '198.51.100.1',
    'user-agent': 'another program',
  }
  const again = await secure.anonymous('POST', '/auth/login', { body: { email, password, cookie: true }, headers })
  expect(jarOf(again.headers).device).toBe(jar.device)
  const { call } = await loggedIn(secure, email, password, { 'x-forwarded-for': '192.0.2.1' })
  const log = await call('GET', '/v5/audit-log?filter.action.equals=login.succeeded&limit=100')
  const event = log.body.find(({ address }: { address: string }) => address === '198.51.100.1')
  expect(event.details.isNewDevice).toBe(false)
})

test('every response forbids framing, sniffing and referrers, and pages run only their own scripts', async () => {
  for (const path of ['/v5/docs', '/v5/me', '/nothing', '/account', '/account/start.js', '/v5/swagger']) {
    const { headers } = await local.anonymous('GET', path)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy, path).toContain("frame-ancestors 'none'")
    expect(policy, path).not.toMatch(/unsafe|\*/)
    expect(headers.get('x-content-type-options'), path).toBe('nosniff')
    expect(headers.get('referrer-policy'), path).toBe('no-referrer')
  }
})
