import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from '../../../test/browser.ts'
import type { IdentityProvider } from '../../../test/identity-provider.ts'
import { least, timeOf } from '../../../test/least.ts'
import { startTestService, type TestService } from '../../../test/service.ts'
import {
  logInAtProvider,
  createSsoFixture,
  verifyDomain,
  readProfile,
  startWithProviders,
} from '../../../test/single-sign-on-fixture.ts'

let service: TestService
let provider: IdentityProvider
let publicProvider: IdentityProvider
let close: () => Promise<unknown>
const txtRecords = new Map<string, string[]>()
beforeAll(async () => {
  ;({
    started: service,
    provider,
    other: publicProvider,
    close,
  } = await startWithProviders(startTestService, txtRecords, { isPublic: true, addressInIdToken: true }))
})
afterAll(() => close())

test('a person with an address of a verified domain joins and is the same person at the next login', async () => {
  const fixture = await createSsoFixture(service, provider, { defaultRole: 'viewer' })
  const { domain } = await verifyDomain(fixture, txtRecords)
  const email = `Ada.${randomUUID()}@${domain}`
  provider.person = { sub: randomUUID(), email, email_verified: true, name: 'Ada Lovelace' }
  const browser = new Browser()
  expect((await logInAtProvider(fixture, browser)).href).toBe(`${service.url}/account#logged-in`)
  const { me, call } = await readProfile(service, browser)
  expect(me).toMatchObject({ email, name: 'Ada Lovelace' })
  expect(me.organizations).toMatchObject([{ id: fixture.organization.organizationId, role: 'viewer' }])
  expect((await call('GET', '/v5/contacts')).status).toBe(200)
  expect((await call('POST', '/v5/contacts', { body: { name: 'X' } })).status).toBe(403)
  // A changed address at the provider does not change the person.
  provider.person = { ...provider.person, email: 'other@elsewhere.example' }
  const another = new Browser()
  await logInAtProvider(fixture, another)
  expect((await readProfile(service, another)).me).toMatchObject({ id: me.id, email })
  const { body } = await fixture.organization.call('GET', '/v5/audit-log?filter.action.in=member.added,login.succeeded')
  expect(
    body.map(({ action, details }: { action: string; details: object }) => ({ action, ...details })),
  ).toMatchObject([
    { action: 'login.succeeded', by: 'single-sign-on' },
    { action: 'login.succeeded', by: 'single-sign-on' },
    { action: 'member.added', by: 'single-sign-on', role: 'viewer' },
  ])
})

test('a public client with PKCE and an ID token that contains the address work', async () => {
  const fixture = await createSsoFixture(service, publicProvider, { defaultRole: 'member', isPublic: true })
  const { domain } = await verifyDomain(fixture, txtRecords)
  publicProvider.person = { sub: randomUUID(), email: `eve@${domain}`, email_verified: true }
  const browser = new Browser()
  await logInAtProvider(fixture, browser)
  expect((await readProfile(service, browser)).me).toMatchObject({ name: 'eve', organizations: [{ role: 'member' }] })
})

test('the authorization request uses code, PKCE, state and nonce, with new values each time', async () => {
  const { start } = await createSsoFixture(service, provider)
  const values = []
  for (const browser of [new Browser(), new Browser()]) {
    const answer = await browser.open(start)
    expect(answer.status).toBe(303)
    const [line] = answer.headers.getSetCookie()
    expect(line).toMatch(/^rapport-sso=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/)
    const url = new URL(answer.headers.get('location') ?? '')
    expect(url.origin).toBe(provider.issuer)
    const { response_type, code_challenge_method, scope, ...perRequest } = Object.fromEntries(url.searchParams)
    expect({ response_type, code_challenge_method, scope }).toEqual({
      response_type: 'code',
      code_challenge_method: 'S256',
      scope: 'openid email profile',
    })
    values.push(perRequest.state, perRequest.nonce, perRequest.code_challenge)
  }
  for (const text of values) expect(text).toMatch(/^[\w-]{43}$/)
  expect(new Set(values).size).toBe(6)
})

test('after the login the browser is only redirected to a path of the service', async () => {
  const fixture = await createSsoFixture(service, provider, { defaultRole: 'viewer' })
  const { domain } = await verifyDomain(fixture, txtRecords)
  provider.person = { sub: randomUUID(), email: `ada@${domain}`, email_verified: true }
  const target = await logInAtProvider(
    fixture,
    new Browser(),
    `?returnTo=${encodeURIComponent('/contacts?query=a b'.replace(' ', '%20') + '#x')}`,
  )
  expect(target.href).toBe(`${service.url}/contacts?query=a%20b#x`)
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
    const answer = await new Browser().open(`${fixture.start}?returnTo=${encodeURIComponent(returnTo)}`)
    expect([returnTo, answer.status]).toEqual([returnTo, 400])
  }
  const traversal = await logInAtProvider(
    fixture,
    new Browser(),
    `?returnTo=${encodeURIComponent('/x/..//evil.example')}`,
  )
  expect(traversal.origin).toBe(service.url)
})

test('unknown and repeated parameters of the start address are rejected', async () => {
  const { start } = await createSsoFixture(service, provider)
  for (const search of ['?returnto=/x', '?returnTo=/x&returnTo=/y', '?link=a&link=b'])
    expect((await new Browser().open(`${start}${search}`)).status).toBe(400)
})

test('the client secret appears in no response, audit event or log line', async () => {
  const { organization, connectionId } = await createSsoFixture(service, provider)
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

test('a client secret is never sent to another issuer than the one it was set for', async () => {
  const { organization, connectionId } = await createSsoFixture(service, provider)
  const path = `/v5/sso-connections/${connectionId}`
  const body = { issuer: 'https://other.example' }
  expect(await organization.call('PATCH', path, { body })).toMatchObject({
    status: 422,
    body: { details: [{ field: 'clientSecret' }] },
  })
  expect((await organization.call('PATCH', path, { body: { ...body, clientSecret: 'new' } })).status).toBe(200)
})

test('an issuer must be an https address, unless the operator allows its host', async () => {
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

test('a wildcard key can read connections, but change neither connections nor domains', async () => {
  const { organization, connectionId } = await createSsoFixture(service, provider)
  const broadCall = await organization.withScopes(['urn:service:*:*:read', 'urn:service:*:*:write'])
  expect((await broadCall('GET', '/v5/sso-connections')).status).toBe(200)
  expect((await broadCall('PATCH', `/v5/sso-connections/${connectionId}`, { body: { enabled: false } })).status).toBe(
    403,
  )
  expect((await broadCall('POST', '/v5/domains', { body: { domain: 'a.example' } })).status).toBe(403)
})

test('a domain is verified by its own TXT record, not by that of another organization', async () => {
  const [ours, theirs] = [await service.newOrganization(), await service.newOrganization()]
  const domain = `${randomUUID()}.example`
  const claimDomain = async ({ call }: typeof ours) => (await call('POST', '/v5/domains', { body: { domain } })).body
  const [ownClaim, other] = [await claimDomain(ours), await claimDomain(theirs)]
  expect(ownClaim).toMatchObject({ domain, recordName: `_rapport.${domain}`, verifiedAt: null })
  expect(ownClaim.recordValue).toMatch(/^rapport-domain=[\w-]{32}$/)
  const verify = () => ours.call('POST', `/v5/domains/${ownClaim.id}/verify`)
  expect(await verify()).toMatchObject({ status: 423, body: { code: 'resource_locked' } })
  txtRecords.set(ownClaim.recordName, ['unrelated', other.recordValue, `${ownClaim.recordValue}x`])
  expect((await verify()).status).toBe(423)
  txtRecords.set(ownClaim.recordName, ['unrelated', ownClaim.recordValue])
  expect((await verify()).body.verifiedAt).not.toBeNull()
  expect((await theirs.call('POST', `/v5/domains/${ownClaim.id}/verify`)).status).toBe(404)
  expect((await ours.call('POST', '/v5/domains', { body: { domain } })).status).toBe(409)
  expect((await ours.call('DELETE', `/v5/domains/${ownClaim.id}`)).status).toBe(204)
  expect((await ours.call('GET', `/v5/domains/${ownClaim.id}`)).status).toBe(404)
})

test('with PUBLIC_URL the browser is sent back to that address, with a cookie for that host only', async () => {
  const publicUrl = 'https://crm.example.com/base'
  const settings = { EGRESS_ALLOW: new URL(provider.issuer).host, TRUST_PROXY: '1' }
  for (const [extraSettings, base] of [
    [{ PUBLIC_URL: publicUrl }, publicUrl],
    [{ PUBLIC_URL: publicUrl, AUTH_ORIGIN: 'https://auth.example.com' }, 'https://auth.example.com'],
  ] as const) {
    const target = await startTestService({ ...settings, ...extraSettings })
    const { start, connectionId } = await createSsoFixture(target, provider)
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': new URL(base).host }
    const answer = await new Browser().open(start, headers)
    const location = new URL(answer.headers.get('location') ?? '')
    expect(location.searchParams.get('redirect_uri')).toBe(`${base}/auth/sso/callback/${connectionId}`)
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-rapport-sso=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/),
    ])
    const unknown = await new Browser().open(`${target.url}/auth/sso/callback/${connectionId}?state=x`, headers)
    expect(unknown.headers.get('location')).toBe(`${base}/account#sso-error=expired`)
    await target.close()
  }
})

test('a domain verification with unresponsive name servers fails within four seconds', async () => {
  const { call } = await service.newOrganization()
  const { body } = await call('POST', '/v5/domains', { body: { domain: `${randomUUID()}.example` } })
  txtRecords.set(body.recordName, [])
  const took = await least(4000, () =>
    timeOf(async () => {
      const answer = await call('POST', `/v5/domains/${body.id}/verify`)
      expect(answer).toMatchObject({ status: 423, body: { description: expect.stringContaining('do not respond') } })
    }),
  )
  expect(took).toBeLessThan(4000)
  expect((await call('GET', `/v5/domains/${body.id}`)).body.verifiedAt).toBeNull()
})
