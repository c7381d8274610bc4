import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from './browser.ts'
import type { IdentityProvider } from './identity-provider.ts'
import { startTestService, type TestService } from './service.ts'
import { goThrough, newSsoWorld, proveDomain, whoIs, startWithProviders } from './single-sign-on-world.ts'

let service: TestService
let provider: IdentityProvider
let publicProvider: IdentityProvider
let close: () => Promise<unknown>
const texts = new Map<string, string[]>()
beforeAll(async () => {
  ;({
    started: service,
    provider,
    other: publicProvider,
    close,
  } = await startWithProviders(startTestService, texts, { isPublic: true, addressInIdToken: true }))
})
afterAll(() => close())

test('somebody with an address of a proved domain joins, and is the same person the next time', async () => {
  const world = await newSsoWorld(service, provider, { defaultRole: 'viewer' })
  const { domain } = await proveDomain(world, texts)
  const email = `Ada.${randomUUID()}@${domain}`
  provider.person = { sub: randomUUID(), email, email_verified: true, name: 'Ada Lovelace' }
  const browser = new Browser()
  expect((await goThrough(world, browser)).href).toBe(`${service.url}/account#logged-in`)
  const { me, call } = await whoIs(service, browser)
  expect(me).toMatchObject({ email, name: 'Ada Lovelace' })
  expect(me.organizations).toMatchObject([{ id: world.organization.organizationId, role: 'viewer' }])
  expect((await call('GET', '/v5/contacts')).status).toBe(200)
  expect((await call('POST', '/v5/contacts', { body: { name: 'X' } })).status).toBe(403)
  // The provider has another address for them now: it is still who it was.
  provider.person = { ...provider.person, email: 'other@elsewhere.example' }
  const another = new Browser()
  await goThrough(world, another)
  expect((await whoIs(service, another)).me).toMatchObject({ id: me.id, email })
  const { body } = await world.organization.call('GET', '/v5/audit-log?filter.action.in=member.added,login.succeeded')
  expect(
    body.map(({ action, details }: { action: string; details: object }) => ({ action, ...details })),
  ).toMatchObject([
    { action: 'login.succeeded', by: 'single-sign-on' },
    { action: 'login.succeeded', by: 'single-sign-on' },
    { action: 'member.added', by: 'single-sign-on', role: 'viewer' },
  ])
})

test('a client without a secret works by its proof key, and one whose address stands in the ID token', async () => {
  const world = await newSsoWorld(service, publicProvider, { defaultRole: 'member', isPublic: true })
  const { domain } = await proveDomain(world, texts)
  publicProvider.person = { sub: randomUUID(), email: `eve@${domain}`, email_verified: true }
  const browser = new Browser()
  await goThrough(world, browser)
  expect((await whoIs(service, browser)).me).toMatchObject({ name: 'eve', organizations: [{ role: 'member' }] })
})

test('the browser is sent with code, PKCE, state and nonce, each another one every time', async () => {
  const { start } = await newSsoWorld(service, provider)
  const seen = []
  for (const browser of [new Browser(), new Browser()]) {
    const answer = await browser.open(start)
    expect(answer.status).toBe(303)
    const [line] = answer.headers.getSetCookie()
    expect(line).toMatch(/^rapport-sso=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/)
    const url = new URL(answer.headers.get('location') ?? '')
    expect(url.origin).toBe(provider.issuer)
    const { response_type, code_challenge_method, scope, ...once } = Object.fromEntries(url.searchParams)
    expect({ response_type, code_challenge_method, scope }).toEqual({
      response_type: 'code',
      code_challenge_method: 'S256',
      scope: 'openid email profile',
    })
    seen.push(once.state, once.nonce, once.code_challenge)
  }
  for (const text of seen) expect(text).toMatch(/^[\w-]{43}$/)
  expect(new Set(seen).size).toBe(6)
})

test('after the log-in it goes on to a path of ours, and to nowhere else', async () => {
  const world = await newSsoWorld(service, provider, { defaultRole: 'viewer' })
  const { domain } = await proveDomain(world, texts)
  provider.person = { sub: randomUUID(), email: `ada@${domain}`, email_verified: true }
  const there = await goThrough(
    world,
    new Browser(),
    `?returnTo=${encodeURIComponent('/contacts?query=a b'.replace(' ', '%20') + '#x')}`,
  )
  expect(there.href).toBe(`${service.url}/contacts?query=a%20b#x`)
  for (const returnTo of [
    ...['https://evil.example/', '//evil.example', '/\\evil.example', '/\t/evil.example', '\\\\evil.example', 'evil'],
    ...[
      'javascript:alert(1)',
      '/a\r\nLocation: //evil.example',
      '',
      ' /contacts',
      'http:/evil.example',
      `/${'x'.repeat(2000)}`,
    ],
  ]) {
    const answer = await new Browser().open(`${world.start}?returnTo=${encodeURIComponent(returnTo)}`)
    expect([returnTo, answer.status]).toEqual([returnTo, 400])
  }
  const sly = await goThrough(world, new Browser(), `?returnTo=${encodeURIComponent('/x/..//evil.example')}`)
  expect(sly.origin).toBe(service.url)
})

test('unknown and repeated parameters are refused where they are ours', async () => {
  const { start } = await newSsoWorld(service, provider)
  for (const search of ['?returnto=/x', '?returnTo=/x&returnTo=/y', '?link=a&link=b'])
    expect((await new Browser().open(`${start}${search}`)).status).toBe(400)
})

test('the client secret is shown to nobody and lies nowhere in the clear', async () => {
  const { organization, connectionId } = await newSsoWorld(service, provider)
  const { call } = organization
  const one = await call('GET', `/v5/sso-connections/${connectionId}`)
  expect(one.body).toMatchObject({ hasClientSecret: true, enabled: true, defaultRole: null })
  expect(one.text).not.toContain('the secret of')
  expect((await call('GET', `/v5/sso-connections?select[]=clientSecret`)).status).toBe(400)
  const changed = await call('PATCH', `/v5/sso-connections/${connectionId}`, { body: { clientSecret: null } })
  expect(changed.body.hasClientSecret).toBe(false)
  const again = await call('PATCH', `/v5/sso-connections/${connectionId}`, { body: { clientSecret: 'another one' } })
  expect(again.body.hasClientSecret).toBe(true)
  const { body } = await call('GET', '/v5/audit-log?filter.action.equals=single-sign-on.updated')
  expect(body).toHaveLength(2)
  for (const { details } of body) expect(details.fields).toContain('clientSecret')
  expect(service.logged.join('')).not.toMatch(/the secret of|another one/)
})

test('a secret never reaches an issuer that it was not given for', async () => {
  const { organization, connectionId } = await newSsoWorld(service, provider)
  const path = `/v5/sso-connections/${connectionId}`
  const body = { issuer: 'https://other.example' }
  expect(await organization.call('PATCH', path, { body })).toMatchObject({
    status: 422,
    body: { details: [{ field: 'clientSecret' }] },
  })
  expect((await organization.call('PATCH', path, { body: { ...body, clientSecret: 'new' } })).status).toBe(200)
})

test('an issuer is an https address, but for a host that the operator names', async () => {
  const { call } = await service.newOrganization()
  const create = (issuer: string) => call('POST', '/v5/sso-connections', { body: { name: 'X', clientId: 'x', issuer } })
  for (const issuer of [
    ...[
      'http://id.example',
      'http://127.0.0.1:1',
      'ftp://id.example',
      'https://user:pw@id.example',
      'https://id.example?a',
    ],
    ...['https://id.example#a', 'https://id.example/.well-known/openid-configuration', 'id.example'],
  ]) {
    expect([issuer, (await create(issuer)).status]).toEqual([issuer, 422])
  }
  for (const issuer of ['https://id.example', 'https://id.example/', provider.issuer]) {
    expect((await create(issuer)).body.issuer).toBe(issuer)
  }
})

test('only an owner, or a key that names it, changes how people get in', async () => {
  const { organization, connectionId } = await newSsoWorld(service, provider)
  const wide = await organization.withScopes(['urn:service:*:*:read', 'urn:service:*:*:write'])
  expect((await wide('GET', '/v5/sso-connections')).status).toBe(200)
  expect((await wide('PATCH', `/v5/sso-connections/${connectionId}`, { body: { enabled: false } })).status).toBe(403)
  expect((await wide('POST', '/v5/domains', { body: { domain: 'a.example' } })).status).toBe(403)
})

test('a domain is proved by its TXT record, and by that of no other organization', async () => {
  const [mine, theirs] = [await service.newOrganization(), await service.newOrganization()]
  const domain = `${randomUUID()}.example`
  const claim = async ({ call }: typeof mine) => (await call('POST', '/v5/domains', { body: { domain } })).body
  const [own, other] = [await claim(mine), await claim(theirs)]
  expect(own).toMatchObject({ domain, recordName: `_rapport.${domain}`, verifiedAt: null })
  expect(own.recordValue).toMatch(/^rapport-domain=[\w-]{32}$/)
  const verify = () => mine.call('POST', `/v5/domains/${own.id}/verify`)
  expect(await verify()).toMatchObject({ status: 423, body: { code: 'resource_locked' } })
  texts.set(own.recordName, ['unrelated', other.recordValue, `${own.recordValue}x`])
  expect((await verify()).status).toBe(423)
  texts.set(own.recordName, ['unrelated', own.recordValue])
  expect((await verify()).body.verifiedAt).not.toBeNull()
  expect((await theirs.call('POST', `/v5/domains/${own.id}/verify`)).status).toBe(404)
  expect((await mine.call('POST', '/v5/domains', { body: { domain } })).status).toBe(409)
  expect((await mine.call('DELETE', `/v5/domains/${own.id}`)).status).toBe(204)
  expect((await mine.call('GET', `/v5/domains/${own.id}`)).status).toBe(404)
})

test('behind a public address the browser is sent back there, with a cookie for that host alone', async () => {
  const publicUrl = 'https://crm.example.com/base'
  const settings = { EGRESS_ALLOW: new URL(provider.issuer).host, TRUST_PROXY: '1' }
  for (const [more, base] of [
    [{ PUBLIC_URL: publicUrl }, publicUrl],
    [{ PUBLIC_URL: publicUrl, AUTH_ORIGIN: 'https://auth.example.com' }, 'https://auth.example.com'],
  ] as const) {
    const there = await startTestService({ ...settings, ...more })
    const { start, connectionId } = await newSsoWorld(there, provider)
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': new URL(base).host }
    const answer = await new Browser().open(start, headers)
    const location = new URL(answer.headers.get('location') ?? '')
    expect(location.searchParams.get('redirect_uri')).toBe(`${base}/auth/sso/callback/${connectionId}`)
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-rapport-sso=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/),
    ])
    const unknown = await new Browser().open(`${there.url}/auth/sso/callback/${connectionId}?state=x`, headers)
    expect(unknown.headers.get('location')).toBe(`${base}/account#sso-error=expired`)
    await there.close()
  }
})

test('name servers that do not answer hold a verification up for a moment only', async () => {
  const { call } = await service.newOrganization()
  const { body } = await call('POST', '/v5/domains', { body: { domain: `${randomUUID()}.example` } })
  texts.set(body.recordName, [])
  const began = performance.now()
  const answer = await call('POST', `/v5/domains/${body.id}/verify`)
  expect(answer).toMatchObject({ status: 423, body: { description: expect.stringContaining('do not respond') } })
  expect(performance.now() - began).toBeLessThan(4000)
  expect((await call('GET', `/v5/domains/${body.id}`)).body.verifiedAt).toBeNull()
})
