import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { sql } from '../../platform/model/sql.ts'
import { Browser } from '../../../test/browser.ts'
import { type IdentityProvider, startIdentityProvider } from '../../../test/identity-provider.ts'
import { startTestService, type TestService } from '../../../test/service.ts'
import {
  logInAtProvider,
  followToCallback,
  createSsoFixture,
  verifyDomain,
  type SsoFixture,
  startWithProviders,
} from '../../../test/single-sign-on-fixture.ts'

let service: TestService
let provider: IdentityProvider
let attacker: IdentityProvider
let close: () => Promise<unknown>
const txtRecords = new Map<string, string[]>()
beforeAll(async () => {
  ;({ started: service, provider, other: attacker, close } = await startWithProviders(startTestService, txtRecords))
})
afterAll(() => close())
afterEach(() => {
  for (const { overrides: answers } of [provider, attacker]) answers.clear()
})

/** Creates a connection whose next person joins. */
async function createOpenFixture(identityProvider = provider): Promise<SsoFixture & { domain: string }> {
  const fixture = await createSsoFixture(service, identityProvider, { defaultRole: 'member' })
  const { domain } = await verifyDomain(fixture, txtRecords)
  identityProvider.person = { sub: randomUUID(), email: `${randomUUID()}@${domain}`, email_verified: true, name: 'Ada' }
  return { ...fixture, domain }
}

/** Opens the address; returns the fragment or address of the redirect, and whether the browser then has a session. */
async function outcomeOf(browser: Browser, url: URL | string): Promise<string> {
  const response = await browser.open(String(url))
  const location = new URL(response.headers.get('location') ?? 'about:blank')
  const isLoggedIn = browser.cookie(new URL(service.url).host, 'rapport') !== undefined
  return `${location.hash || location.href}${isLoggedIn ? ', logged in' : ''}`
}

const failure = (code: string) => `#sso-error=${code}`

test('a code and a state are valid once', async () => {
  const fixture = await createOpenFixture()
  const browser = new Browser()
  const callbackUrl = await followToCallback(fixture, browser)
  expect(await outcomeOf(browser, callbackUrl)).toBe('#logged-in, logged in')
  const otherBrowser = new Browser()
  expect(await outcomeOf(otherBrowser, callbackUrl)).toBe(failure('expired'))
  // The same browser with a new flow and the old code.
  const next = await followToCallback(fixture, otherBrowser)
  const mixedUrl = new URL(next)
  mixedUrl.searchParams.set('code', callbackUrl.searchParams.get('code') ?? '')
  expect(await outcomeOf(otherBrowser, mixedUrl)).toBe(failure('provider'))
  expect(await outcomeOf(otherBrowser, next)).toBe(failure('expired'))
})

test('of concurrent callbacks of one flow, one logs in', async () => {
  const fixture = await createOpenFixture()
  const browser = new Browser()
  const callbackUrl = await followToCallback(fixture, browser)
  const host = new URL(service.url).host
  const cookie = browser.cookie(host, 'rapport-sso') ?? ''
  const attempts = Array.from({ length: 10 }, () => {
    const other = new Browser()
    other.setCookie(host, 'rapport-sso', cookie)
    return outcomeOf(other, callbackUrl)
  })
  const outcomes = await Promise.all(attempts)
  expect(outcomes.filter((outcome) => outcome === '#logged-in, logged in')).toHaveLength(1)
  expect(outcomes.filter((outcome) => outcome === failure('expired'))).toHaveLength(9)
})

test.each([
  ['without a state', (url: URL) => url.searchParams.delete('state')],
  ['with a made-up state', (url: URL) => url.searchParams.set('state', 'a'.repeat(43))],
  ['with an empty state', (url: URL) => url.searchParams.set('state', '')],
])('a callback %s is rejected', async (_, change) => {
  const fixture = await createOpenFixture()
  const browser = new Browser()
  const callbackUrl = await followToCallback(fixture, browser)
  change(callbackUrl)
  expect(await outcomeOf(browser, callbackUrl)).toBe(failure('expired'))
})

test('a repeated parameter is rejected, and unknown ones of the provider are ignored', async () => {
  const fixture = await createOpenFixture()
  const browser = new Browser()
  const callbackUrl = await followToCallback(fixture, browser)
  expect((await browser.open(`${callbackUrl.href}&state=x`)).status).toBe(400)
  expect((await browser.open(`${callbackUrl.href}&code=x`)).status).toBe(400)
  expect(await outcomeOf(browser, `${callbackUrl.href}&session_state=a&hd=b.example`)).toBe('#logged-in, logged in')
})

test('a callback in another browser than the one that started the flow is rejected', async () => {
  const fixture = await createOpenFixture()
  const callbackUrl = await followToCallback(fixture, new Browser())
  // First a victim who opens an attacker's link without a flow, then one with their own flow.
  expect(await outcomeOf(new Browser(), callbackUrl)).toBe(failure('expired'))
  const second = await followToCallback(fixture, new Browser())
  const victim = new Browser()
  await victim.open(fixture.start)
  expect(await outcomeOf(victim, second)).toBe(failure('expired'))
})

test('a flow expires after ten minutes', async () => {
  const fixture = await createOpenFixture()
  const browser = new Browser()
  const callbackUrl = await followToCallback(fixture, browser)
  const hash = createHash('sha256')
    .update(callbackUrl.searchParams.get('state') ?? '')
    .digest()
  const expire = sql`update sso_steps set expires_at = now() where hash = ${hash} returning 1`
  expect(await service.database.crossTenantQuery('check the database', expire)).toHaveLength(1)
  expect(await outcomeOf(browser, callbackUrl)).toBe(failure('expired'))
})

test('a disabled or deleted connection neither starts nor completes a login', async () => {
  const fixture = await createOpenFixture()
  const browser = new Browser()
  const callbackUrl = await followToCallback(fixture, browser)
  const path = `/v5/sso-connections/${fixture.connectionId}`
  expect((await fixture.organization.call('PATCH', path, { body: { enabled: false } })).status).toBe(200)
  expect(await outcomeOf(browser, callbackUrl)).toBe(failure('unavailable'))
  expect(await outcomeOf(new Browser(), fixture.start)).toBe(failure('unavailable'))
  expect((await fixture.organization.call('DELETE', path)).status).toBe(204)
  expect(await outcomeOf(new Browser(), fixture.start)).toBe(failure('unavailable'))
  expect(await outcomeOf(new Browser(), `${service.url}/auth/sso/sso_${'0'.repeat(32)}`)).toBe(failure('unavailable'))
  expect(await outcomeOf(new Browser(), `${service.url}/auth/sso/nothing`)).toBe(failure('unavailable'))
})

test('the response of one provider is rejected at the callback address of another', async () => {
  const [honestFixture, attackerFixture] = [await createOpenFixture(provider), await createOpenFixture(attacker)]
  const browser = new Browser()
  const callbackUrl = await followToCallback(honestFixture, browser)
  const before = attacker.requests.length
  // The honest provider's code at the attacker's callback address: the attacker's provider never receives it.
  const mixedUrl = new URL(callbackUrl.href.replace(honestFixture.connectionId, attackerFixture.connectionId))
  expect(await outcomeOf(browser, mixedUrl)).toBe(failure('expired'))
  // The correct address with the other issuer.
  const swapped = await followToCallback(honestFixture, browser)
  swapped.searchParams.set('iss', attacker.issuer)
  expect(await outcomeOf(browser, swapped)).toBe(failure('provider'))
  const without = await followToCallback(honestFixture, browser)
  without.searchParams.delete('iss')
  expect(await outcomeOf(browser, without)).toBe(failure('provider'))
  expect(attacker.requests.slice(before).filter((line) => line.startsWith('POST'))).toEqual([])
})

test('a person who declines at the provider gets the error “denied”', async () => {
  const fixture = await createOpenFixture()
  provider.person = null
  expect((await logInAtProvider(fixture)).hash).toBe(failure('denied'))
})

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

interface Forged {
  claims?: Record<string, unknown>
  header?: Record<string, unknown>
  isUnsigned?: boolean
  hasSharedKey?: boolean
}

/** Creates an ID token instead of the provider's, signed with another key. */
async function forgeToken(nonce: string, { claims = {}, header, isUnsigned, hasSharedKey }: Forged) {
  const body = {
    iss: provider.issuer,
    aud: provider.clientId,
    sub: provider.person?.sub ?? '',
    nonce,
    iat: Math.floor(Date.now() / 1000),
    exp: Math.floor(Date.now() / 1000) + 300,
    email: provider.person?.email,
    email_verified: true,
    ...claims,
  }
  if (isUnsigned) {
    const encodePart = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    return `${encodePart({ alg: 'none' })}.${encodePart(body)}.`
  }
  const token = new SignJWT(body)
  if (hasSharedKey) return token.setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(provider.clientSecret))
  return token.setProtectedHeader({ alg: 'RS256', ...header }).sign(privateKey)
}

/** Publishes our key as the provider's, so that forged tokens have a valid signature. */
const serveOurKey = () => {
  const { n, e } = privateKey.export({ format: 'jwk' })
  answerJson('/jwks', { keys: [{ kty: 'RSA', n, e, kid: 'ours', use: 'sig', alg: 'RS256' }] })
}

function answerJson(path: string, body: object, identityProvider = provider): void {
  identityProvider.overrides.set(path, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
}

/** Follows a login to the callback while the token endpoint returns a forged token; returns its outcome. */
async function logInWithToken(forged: Forged): Promise<string> {
  const fixture = await createOpenFixture()
  const browser = new Browser()
  const callbackUrl = await followToCallback(fixture, browser)
  const began = browser.visited.find((url) => url.includes('nonce=')) ?? ''
  const nonce = new URL(began).searchParams.get('nonce') ?? ''
  answerJson('/token', {
    access_token: 'x',
    token_type: 'Bearer',
    id_token: await forgeToken(nonce, forged),
  })
  return outcomeOf(browser, callbackUrl)
}

test('a correctly forged token is accepted, so that the next test is meaningful', async () => {
  serveOurKey()
  expect(await logInWithToken({ header: { kid: 'ours' } })).toBe('#logged-in, logged in')
})

const nowSeconds = () => Math.floor(Date.now() / 1000)
test.each<[string, () => Forged]>([
  ['the nonce of another flow', () => ({ claims: { nonce: 'a'.repeat(43) } })],
  ['no nonce', () => ({ claims: { nonce: undefined } })],
  ['another issuer', () => ({ claims: { iss: attacker.issuer } })],
  ['another audience', () => ({ claims: { aud: 'somebody else' } })],
  ['several audiences and another authorized party', () => ({ claims: { aud: [provider.clientId, 'x'], azp: 'x' } })],
  ['an expiry in the past', () => ({ claims: { exp: nowSeconds() - 600 } })],
  ['no expiry', () => ({ claims: { exp: undefined } })],
  ['a start in the future', () => ({ claims: { nbf: nowSeconds() + 600 } })],
  ['no subject', () => ({ claims: { sub: undefined } })],
  ['an empty subject', () => ({ claims: { sub: '' } })],
  ['a subject with NUL', () => ({ claims: { sub: 'ada\0' } })],
  ['a subject of 256 characters', () => ({ claims: { sub: 'a'.repeat(256) } })],
  ['a subject of 8,000 characters', () => ({ claims: { sub: 'a'.repeat(8000) } })],
  ['a subject with half a character', () => ({ claims: { sub: 'ada\ud800' } })],
  ['a subject with a character outside ASCII', () => ({ claims: { sub: 'adä' } })],
  ['a subject that is a number', () => ({ claims: { sub: 7 } })],
  ['a subject that is a list', () => ({ claims: { sub: ['ada'] } })],
  ['alg none', () => ({ isUnsigned: true })],
  ['HS256 with the client secret', () => ({ hasSharedKey: true })],
  ['an unknown kid', () => ({ header: { kid: 'other' } })],
])('an ID token with %s is rejected', async (_, forged) => {
  serveOurKey()
  const { header = { kid: 'ours' }, ...rest } = forged()
  expect(await logInWithToken({ header, ...rest })).toBe(failure('provider'))
})

test('a subject of 255 characters is accepted', async () => {
  serveOurKey()
  expect(await logInWithToken({ header: { kid: 'ours' }, claims: { sub: `~ ${randomUUID()}`.padEnd(255, 'a') } })).toBe(
    '#logged-in, logged in',
  )
})

test.each<[string, Record<string, unknown>]>([
  ['an address with NUL', { email: 'ada\0@example.com' }],
  ['an address with half a character', { email: '\ud800@example.com' }],
  ['an address of 8,000 characters', { email: `${'a'.repeat(8000)}@example.com` }],
  ['an invalid address', { email: 'ada' }],
  ['an address that is a list', { email: ['ada@example.com'] }],
])('%s does not allow joining and is not stored', async (_, claims) => {
  serveOurKey()
  expect(await logInWithToken({ header: { kid: 'ours' }, claims })).toBe(failure('not-linked'))
})

test.each<[string, unknown, RegExp]>([
  ['with NUL', 'Ada\0', /^[\da-f-]{36}$/],
  ['with half a character', 'Ada\ud800', /^[\da-f-]{36}$/],
  ['of 8,000 characters', 'a'.repeat(8000), /^[\da-f-]{36}$/],
  ['that is an object', { first: 'Ada' }, /^[\da-f-]{36}$/],
  ['of 101 characters beyond the first plane', '😀'.repeat(101), /^😀{100}$/u],
])('a name %s does not prevent the login: a usable name is stored instead', async (_, name, expected) => {
  serveOurKey()
  expect(await logInWithToken({ header: { kid: 'ours' }, claims: { name } })).toBe('#logged-in, logged in')
  const [person] = await service.database.crossTenantQuery<{ name: string }>(
    'check the database',
    sql`select name from users order by created_at desc, id desc limit 1`,
  )
  expect(person?.name).toMatch(expected)
})

test('an ID token with a foreign signature is rejected, wherever its header says that the key is', async () => {
  expect(await logInWithToken({})).toBe(failure('provider'))
  expect(await logInWithToken({ header: { jku: `${attacker.issuer}/jwks` } })).toBe(failure('provider'))
})

test('userinfo of another subject is rejected', async () => {
  const fixture = await createOpenFixture()
  answerJson('/me', { sub: 'somebody else', email: provider.person?.email, email_verified: true })
  expect((await logInAtProvider(fixture)).hash).toBe(failure('provider'))
})

const discovery = '/.well-known/openid-configuration'
const providerFaults: [string, (response: ServerResponse) => void][] = [
  ['hangs up', (response) => response.destroy()],
  ['answers 500', (response) => response.writeHead(500).end('secret of the inside')],
  ['redirects', (response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end()],
  ['answers with something else', (response) => response.writeHead(200).end('<html>')],
  ['has another issuer', (response) => sendJson(response, { issuer: 'https://accounts.example.com' })],
  [
    'sends too much',
    (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(' '.repeat(3_000_000)),
  ],
]
const sendJson = (response: ServerResponse, body: object) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))

test.each(providerFaults)('a provider that %s is reported as failing, without its response', async (_, fail) => {
  const fixture = await createOpenFixture()
  provider.overrides.set(discovery, (__, response) => fail(response))
  const response = await new Browser().open(fixture.start)
  expect(response.headers.get('location')).toBe(`${service.url}/account${failure('provider')}`)
  expect(await response.text()).not.toContain('inside')
  // The next login works as soon as the provider does.
  provider.overrides.clear()
  expect((await logInAtProvider(fixture)).hash).toBe('#logged-in')
})

test('a request to a provider times out after five seconds, and an unreachable provider fails at once', async () => {
  const fixture = await createOpenFixture()
  provider.overrides.set('/token', () => undefined)
  const began = performance.now()
  expect((await logInAtProvider(fixture)).hash).toBe(failure('provider'))
  expect(performance.now() - began).toBeGreaterThan(4500)
  expect(performance.now() - began).toBeLessThan(9000)
  const closedProvider = await startIdentityProvider()
  const other = await startTestService({ EGRESS_ALLOW: new URL(closedProvider.issuer).host })
  const otherFixture = await createSsoFixture(other, closedProvider)
  await closedProvider.close()
  expect((await logInAtProvider(otherFixture)).hash).toBe(failure('provider'))
  await other.close()
})

test('internal addresses in a provider’s metadata are never requested', async () => {
  const fixture = await createOpenFixture(attacker)
  const identityProvider = attacker.issuer
  for (const address of [
    `${service.url}/v5/contacts`,
    'http://169.254.169.254/latest',
    'http://[::1]:1/',
    'http://10.0.0.1/',
  ]) {
    const endpoints = { authorization_endpoint: `${identityProvider}/auth`, token_endpoint: address, jwks_uri: address }
    // A change of the connection clears its cached metadata.
    const body = { name: address }
    await fixture.organization.call('PATCH', `/v5/sso-connections/${fixture.connectionId}`, { body })
    answerJson(discovery, { issuer: identityProvider, ...endpoints, response_types_supported: ['code'] }, attacker)
    const browser = new Browser()
    const callbackUrl = await followToCallback(fixture, browser)
    expect([address, await outcomeOf(browser, callbackUrl)]).toEqual([address, failure('provider')])
  }
  expect(service.logged.join('')).toContain('"cause":"egress: host"')
})

test('the log contains no code, state, token, cookie or client secret', async () => {
  const fixture = await createOpenFixture()
  const browser = new Browser()
  const callbackUrl = await followToCallback(fixture, browser)
  const cookie = browser.cookie(new URL(service.url).host, 'rapport-sso') ?? ''
  await browser.open(callbackUrl.href)
  const refresh = browser.cookie(new URL(service.url).host, 'rapport') ?? ''
  const log = service.logged.join('')
  const { code = '', state = '' } = Object.fromEntries(callbackUrl.searchParams)
  for (const secret of [code, state, cookie, refresh, provider.clientSecret]) {
    expect(secret.length).toBeGreaterThan(20)
    expect(log).not.toContain(secret)
  }
})

test('a login that another site starts requires the person’s confirmation', async () => {
  const { start, connectionId } = await createOpenFixture()
  const response = await new Browser().open(start, { 'sec-fetch-site': 'cross-site' })
  expect(response.headers.get('location')).toBe(`${service.url}/account#sso-begin=${connectionId}`)
  expect(response.headers.getSetCookie()).toEqual([])
  for (const site of ['same-origin', 'same-site', 'none']) {
    const begun = await new Browser().open(start, { 'sec-fetch-site': site })
    expect(new URL(begun.headers.get('location') ?? '').origin).toBe(provider.issuer)
  }
})
