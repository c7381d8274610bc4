import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { sql } from '../src/platform/model/sql.ts'
import { Browser } from './browser.ts'
import { type IdentityProvider, startIdentityProvider } from './identity-provider.ts'
import { startTestService, type TestService } from './service.ts'
import {
  goThrough,
  goToCallback,
  newSsoWorld,
  proveDomain,
  type SsoWorld,
  startWithProviders,
} from './single-sign-on-world.ts'

let service: TestService
let provider: IdentityProvider
let evil: IdentityProvider
let close: () => Promise<unknown>
const texts = new Map<string, string[]>()
beforeAll(async () => {
  ;({ started: service, provider, other: evil, close } = await startWithProviders(startTestService, texts))
})
afterAll(() => close())
afterEach(() => {
  for (const { overrides: answers } of [provider, evil]) answers.clear()
})

/** A world whose next person would join. */
async function open(at = provider): Promise<SsoWorld & { domain: string }> {
  const world = await newSsoWorld(service, at, { defaultRole: 'member' })
  const { domain } = await proveDomain(world, texts)
  at.person = { sub: randomUUID(), email: `${randomUUID()}@${domain}`, email_verified: true, name: 'Ada' }
  return { ...world, domain }
}

/** Where a browser that opens this address is sent, as path and fragment, and whether it holds a session then. */
async function ends(browser: Browser, url: URL | string): Promise<string> {
  const answer = await browser.open(String(url))
  const location = new URL(answer.headers.get('location') ?? 'about:blank')
  const isIn = browser.cookie(new URL(service.url).host, 'rapport') !== undefined
  return `${location.hash || location.href}${isIn ? ', logged in' : ''}`
}

const failed = (code: string) => `#sso-error=${code}`

test('a code and a state are good once', async () => {
  const world = await open()
  const browser = new Browser()
  const back = await goToCallback(world, browser)
  expect(await ends(browser, back)).toBe('#logged-in, logged in')
  const again = new Browser()
  expect(await ends(again, back)).toBe(failed('expired'))
  // The same browser with a new flow, and the code of the old one.
  const next = await goToCallback(world, again)
  const mixed = new URL(next)
  mixed.searchParams.set('code', back.searchParams.get('code') ?? '')
  expect(await ends(again, mixed)).toBe(failed('provider'))
  expect(await ends(again, next)).toBe(failed('expired'))
})

test('two answers of one flow at once log in once', async () => {
  const world = await open()
  const browser = new Browser()
  const back = await goToCallback(world, browser)
  const host = new URL(service.url).host
  const cookie = browser.cookie(host, 'rapport-sso') ?? ''
  const tries = Array.from({ length: 10 }, () => {
    const other = new Browser()
    other.setCookie(host, 'rapport-sso', cookie)
    return ends(other, back)
  })
  const outcomes = await Promise.all(tries)
  expect(outcomes.filter((outcome) => outcome === '#logged-in, logged in')).toHaveLength(1)
  expect(outcomes.filter((outcome) => outcome === failed('expired'))).toHaveLength(9)
})

test.each([
  ['without a state', (url: URL) => url.searchParams.delete('state')],
  ['with a made-up state', (url: URL) => url.searchParams.set('state', 'a'.repeat(43))],
  ['with an empty state', (url: URL) => url.searchParams.set('state', '')],
])('an answer %s is nobody’s', async (_, change) => {
  const world = await open()
  const browser = new Browser()
  const back = await goToCallback(world, browser)
  change(back)
  expect(await ends(browser, back)).toBe(failed('expired'))
})

test('parameters given twice are refused, and those that are not ours are taken', async () => {
  const world = await open()
  const browser = new Browser()
  const back = await goToCallback(world, browser)
  expect((await browser.open(`${back.href}&state=x`)).status).toBe(400)
  expect((await browser.open(`${back.href}&code=x`)).status).toBe(400)
  expect(await ends(browser, `${back.href}&session_state=a&hd=b.example`)).toBe('#logged-in, logged in')
})

test('an answer in another browser than the one that began logs nobody in', async () => {
  const world = await open()
  const back = await goToCallback(world, new Browser())
  // A victim whom somebody sends a link to, who has begun nothing; then one who has begun a flow of their own.
  expect(await ends(new Browser(), back)).toBe(failed('expired'))
  const second = await goToCallback(world, new Browser())
  const victim = new Browser()
  await victim.open(world.start)
  expect(await ends(victim, second)).toBe(failed('expired'))
})

test('a flow ends after ten minutes', async () => {
  const world = await open()
  const browser = new Browser()
  const back = await goToCallback(world, browser)
  const hash = createHash('sha256')
    .update(back.searchParams.get('state') ?? '')
    .digest()
  const age = sql`update sso_steps set expires_at = now() where hash = ${hash} returning 1`
  expect(await service.database.crossTenantQuery('check the database', age)).toHaveLength(1)
  expect(await ends(browser, back)).toBe(failed('expired'))
})

test('a connection that is disabled or deleted meanwhile logs nobody in, nor begins', async () => {
  const world = await open()
  const browser = new Browser()
  const back = await goToCallback(world, browser)
  const path = `/v5/sso-connections/${world.connectionId}`
  expect((await world.organization.call('PATCH', path, { body: { enabled: false } })).status).toBe(200)
  expect(await ends(browser, back)).toBe(failed('unavailable'))
  expect(await ends(new Browser(), world.start)).toBe(failed('unavailable'))
  expect((await world.organization.call('DELETE', path)).status).toBe(204)
  expect(await ends(new Browser(), world.start)).toBe(failed('unavailable'))
  expect(await ends(new Browser(), `${service.url}/auth/sso/sso_${'0'.repeat(32)}`)).toBe(failed('unavailable'))
  expect(await ends(new Browser(), `${service.url}/auth/sso/nothing`)).toBe(failed('unavailable'))
})

test('the answer of one provider is not taken at the address of another', async () => {
  const [honest, attacker] = [await open(provider), await open(evil)]
  const browser = new Browser()
  const back = await goToCallback(honest, browser)
  const before = evil.requests.length
  // The honest provider's code, brought to the attacker's address: the attacker's provider never sees it.
  const mixed = new URL(back.href.replace(honest.connectionId, attacker.connectionId))
  expect(await ends(browser, mixed)).toBe(failed('expired'))
  // And with the issuer swapped, at the right address.
  const swapped = await goToCallback(honest, browser)
  swapped.searchParams.set('iss', evil.issuer)
  expect(await ends(browser, swapped)).toBe(failed('provider'))
  const without = await goToCallback(honest, browser)
  without.searchParams.delete('iss')
  expect(await ends(browser, without)).toBe(failed('provider'))
  expect(evil.requests.slice(before).filter((line) => line.startsWith('POST'))).toEqual([])
})

test('whoever says no at the provider is told so', async () => {
  const world = await open()
  provider.person = null
  expect((await goThrough(world)).hash).toBe(failed('denied'))
})

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

interface Forged {
  claims?: Record<string, unknown>
  header?: Record<string, unknown>
  isUnsigned?: boolean
  hasSharedKey?: boolean
}

/** An ID token in place of the provider's own, with a key that it does not know unless the claims are changed alone. */
async function forge(nonce: string, { claims = {}, header, isUnsigned, hasSharedKey }: Forged) {
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
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    return `${part({ alg: 'none' })}.${part(body)}.`
  }
  const token = new SignJWT(body)
  if (hasSharedKey) return token.setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(provider.clientSecret))
  return token.setProtectedHeader({ alg: 'RS256', ...header }).sign(privateKey)
}

/** Serves our own key as the provider's, so that what is wrong with a token is its claims alone. */
const serveOurKey = () => {
  const { n, e } = privateKey.export({ format: 'jwk' })
  answerJson('/jwks', { keys: [{ kty: 'RSA', n, e, kid: 'ours', use: 'sig', alg: 'RS256' }] })
}

function answerJson(path: string, body: object, at = provider): void {
  at.overrides.set(path, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
}

/** Goes as far as the code, and has the token endpoint answer with a token of ours. */
async function withToken(forged: Forged): Promise<string> {
  const world = await open()
  const browser = new Browser()
  const back = await goToCallback(world, browser)
  const began = browser.visited.find((url) => url.includes('nonce=')) ?? ''
  const nonce = new URL(began).searchParams.get('nonce') ?? ''
  answerJson('/token', {
    access_token: 'x',
    token_type: 'Bearer',
    id_token: await forge(nonce, forged),
  })
  return ends(browser, back)
}

test('a token of ours that is right in everything is taken, so that the next test tells something', async () => {
  serveOurKey()
  expect(await withToken({ header: { kid: 'ours' } })).toBe('#logged-in, logged in')
})

const inAMoment = () => Math.floor(Date.now() / 1000)
test.each<[string, () => Forged]>([
  ['the nonce of another flow', () => ({ claims: { nonce: 'a'.repeat(43) } })],
  ['no nonce', () => ({ claims: { nonce: undefined } })],
  ['another issuer', () => ({ claims: { iss: evil.issuer } })],
  ['another audience', () => ({ claims: { aud: 'somebody else' } })],
  ['several audiences and another party', () => ({ claims: { aud: [provider.clientId, 'x'], azp: 'x' } })],
  ['an end that is past', () => ({ claims: { exp: inAMoment() - 600 } })],
  ['no end', () => ({ claims: { exp: undefined } })],
  ['a time to come', () => ({ claims: { nbf: inAMoment() + 600 } })],
  ['no subject', () => ({ claims: { sub: undefined } })],
  ['an empty subject', () => ({ claims: { sub: '' } })],
  ['a subject with NUL', () => ({ claims: { sub: 'ada\0' } })],
  ['a subject of 256 characters', () => ({ claims: { sub: 'a'.repeat(256) } })],
  ['a subject of 8,000 characters', () => ({ claims: { sub: 'a'.repeat(8000) } })],
  ['a subject with half a character', () => ({ claims: { sub: 'ada\ud800' } })],
  ['a subject beyond ASCII', () => ({ claims: { sub: 'adä' } })],
  ['a subject that is a number', () => ({ claims: { sub: 7 } })],
  ['a subject that is a list', () => ({ claims: { sub: ['ada'] } })],
  ['alg none', () => ({ isUnsigned: true })],
  ['HS256 with the client secret', () => ({ hasSharedKey: true })],
  ['a kid that the provider has not', () => ({ header: { kid: 'other' } })],
])('an ID token with %s is refused', async (_, forged) => {
  serveOurKey()
  const { header = { kid: 'ours' }, ...rest } = forged()
  expect(await withToken({ header, ...rest })).toBe(failed('provider'))
})

test('a subject of 255 characters is taken', async () => {
  serveOurKey()
  expect(await withToken({ header: { kid: 'ours' }, claims: { sub: `~ ${randomUUID()}`.padEnd(255, 'a') } })).toBe(
    '#logged-in, logged in',
  )
})

test.each<[string, Record<string, unknown>]>([
  ['an address with NUL', { email: 'ada\0@example.com' }],
  ['an address with half a character', { email: '\ud800@example.com' }],
  ['an address of 8,000 characters', { email: `${'a'.repeat(8000)}@example.com` }],
  ['an address that is none', { email: 'ada' }],
  ['an address that is a list', { email: ['ada@example.com'] }],
])('%s lets nobody in, and is not stored', async (_, claims) => {
  serveOurKey()
  expect(await withToken({ header: { kid: 'ours' }, claims })).toBe(failed('not-linked'))
})

test.each<[string, unknown, RegExp]>([
  ['with NUL', 'Ada\0', /^[\da-f-]{36}$/],
  ['with half a character', 'Ada\ud800', /^[\da-f-]{36}$/],
  ['of 8,000 characters', 'a'.repeat(8000), /^[\da-f-]{36}$/],
  ['that is an object', { first: 'Ada' }, /^[\da-f-]{36}$/],
  ['of 101 characters beyond the first plane', '😀'.repeat(101), /^😀{100}$/u],
])('a name %s hinders nobody: one that can be used is taken', async (_, name, expected) => {
  serveOurKey()
  expect(await withToken({ header: { kid: 'ours' }, claims: { name } })).toBe('#logged-in, logged in')
  const [person] = await service.database.crossTenantQuery<{ name: string }>(
    'check the database',
    sql`select name from users order by created_at desc, id desc limit 1`,
  )
  expect(person?.name).toMatch(expected)
})

test('an ID token that somebody else has signed is refused, wherever it says that its key is', async () => {
  expect(await withToken({})).toBe(failed('provider'))
  expect(await withToken({ header: { jku: `${evil.issuer}/jwks` } })).toBe(failed('provider'))
})

test('userinfo about somebody else is refused', async () => {
  const world = await open()
  answerJson('/me', { sub: 'somebody else', email: provider.person?.email, email_verified: true })
  expect((await goThrough(world)).hash).toBe(failed('provider'))
})

const discovery = '/.well-known/openid-configuration'
const faults: [string, (response: ServerResponse) => void][] = [
  ['hangs up', (response) => response.destroy()],
  ['answers 500', (response) => response.writeHead(500).end('secret of the inside')],
  ['redirects', (response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end()],
  ['answers with something else', (response) => response.writeHead(200).end('<html>')],
  ['is another issuer', (response) => json(response, { issuer: 'https://accounts.example.com' })],
  [
    'sends too much',
    (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(' '.repeat(3_000_000)),
  ],
]
const json = (response: ServerResponse, body: object) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))

test.each(faults)('a provider that %s is told as one that does not work', async (_, answer) => {
  const world = await open()
  provider.overrides.set(discovery, (__, response) => answer(response))
  const response = await new Browser().open(world.start)
  expect(response.headers.get('location')).toBe(`${service.url}/account${failed('provider')}`)
  expect(await response.text()).not.toContain('inside')
  // It is asked anew as soon as it works again.
  provider.overrides.clear()
  expect((await goThrough(world)).hash).toBe('#logged-in')
})

test('a provider that does not answer is given up after five seconds, and one that is down at once', async () => {
  const world = await open()
  provider.overrides.set('/token', () => undefined)
  const began = performance.now()
  expect((await goThrough(world)).hash).toBe(failed('provider'))
  expect(performance.now() - began).toBeGreaterThan(4500)
  expect(performance.now() - began).toBeLessThan(9000)
  const gone = await startIdentityProvider()
  const other = await startTestService({ EGRESS_ALLOW: new URL(gone.issuer).host })
  const there = await newSsoWorld(other, gone)
  await gone.close()
  expect((await goThrough(there)).hash).toBe(failed('provider'))
  await other.close()
})

test('metadata that lead inside lead nowhere, whatever the issuer is', async () => {
  const world = await open(evil)
  const at = evil.issuer
  for (const address of [
    `${service.url}/v5/contacts`,
    'http://169.254.169.254/latest',
    'http://[::1]:1/',
    'http://10.0.0.1/',
  ]) {
    const endpoints = { authorization_endpoint: `${at}/auth`, token_endpoint: address, jwks_uri: address }
    // Each version of the connection is looked up anew.
    const body = { name: address }
    await world.organization.call('PATCH', `/v5/sso-connections/${world.connectionId}`, { body })
    answerJson(discovery, { issuer: at, ...endpoints, response_types_supported: ['code'] }, evil)
    const browser = new Browser()
    const back = await goToCallback(world, browser)
    expect([address, await ends(browser, back)]).toEqual([address, failed('provider')])
  }
  expect(service.logged.join('')).toContain('"cause":"egress: host"')
})

test('neither codes, states, tokens nor cookies stand in the log', async () => {
  const world = await open()
  const browser = new Browser()
  const back = await goToCallback(world, browser)
  const cookie = browser.cookie(new URL(service.url).host, 'rapport-sso') ?? ''
  await browser.open(back.href)
  const refresh = browser.cookie(new URL(service.url).host, 'rapport') ?? ''
  const log = service.logged.join('')
  const { code = '', state = '' } = Object.fromEntries(back.searchParams)
  for (const secret of [code, state, cookie, refresh, provider.clientSecret]) {
    expect(secret.length).toBeGreaterThan(20)
    expect(log).not.toContain(secret)
  }
})

test('what another site begins waits for the person', async () => {
  const { start, connectionId } = await open()
  const answer = await new Browser().open(start, { 'sec-fetch-site': 'cross-site' })
  expect(answer.headers.get('location')).toBe(`${service.url}/account#sso-begin=${connectionId}`)
  expect(answer.headers.getSetCookie()).toEqual([])
  for (const site of ['same-origin', 'same-site', 'none']) {
    const begun = await new Browser().open(start, { 'sec-fetch-site': site })
    expect(new URL(begun.headers.get('location') ?? '').origin).toBe(provider.issuer)
  }
})
