import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sql, sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import type { SsoError } from './flow.ts'
import { Browser } from '../../../test/browser.ts'
import type { IdentityProvider } from '../../../test/identity-provider.ts'
import { callAfterReauthentication, type TestPerson } from '../../../test/people.ts'
import { startTestService, type TestService } from '../../../test/service.ts'
import {
  confirmLink,
  followLink,
  logInAtProvider,
  linkIdentity,
  logInMember,
  type Member,
  newMember,
  createSsoFixture,
  password,
  verifyDomain,
  readProfile,
  startWithProviders,
} from '../../../test/single-sign-on-fixture.ts'

let service: TestService
let provider: IdentityProvider
let other: IdentityProvider
let close: () => Promise<unknown>
const txtRecords = new Map<string, string[]>()
beforeAll(async () => {
  ;({ started: service, provider, other, close } = await startWithProviders(startTestService, txtRecords))
})
afterAll(() => close())

const execute = <Row extends object>(statement: Sql): Promise<Row[]> =>
  service.database.crossTenantQuery<Row>('check the database', statement)

const uuid = (prefix: string, id: string): string => decodeId(prefix, id) ?? ''

const newPerson = (organizationIds: readonly string[], options?: { email?: string; isVerified?: boolean }) =>
  newMember(service, organizationIds, options)

const logIn = (member: Member): Promise<TestPerson> => logInMember(service, member)

const failure = (code: SsoError) => `#sso-error=${code}`

async function accountsOf(email: string): Promise<number> {
  return (await execute(sql`select from users where email_key = ${email.toLowerCase()}`)).length
}

test.each([
  ['the provider has not verified the address', { email_verified: false }],
  ['the provider omits the verification', { email_verified: undefined }],
  ['the provider sends the verification as text', { email_verified: 'true' }],
  ['there is no address', { email: undefined }],
  ['the address is invalid', { email: 'ada' }],
  ['the verified domain is a prefix of the address’s domain', { suffix: '.evil.example' }],
  ['the address is in a subdomain', { prefix: 'sub.' }],
  ['the address has two @ signs', { prefix: 'x@evil.' }],
])('nobody joins when %s', async (_, change: Record<string, unknown>) => {
  const fixture = await createSsoFixture(service, provider, { defaultRole: 'member' })
  const { domain } = await verifyDomain(fixture, txtRecords)
  const { prefix = '', suffix = '', ...claims } = change
  const email = `${randomUUID()}@${prefix}${domain}${suffix}`
  provider.person = { sub: randomUUID(), email, email_verified: true, ...claims }
  expect((await logInAtProvider(fixture)).hash).toBe(failure('not-linked'))
  expect(await accountsOf(email)).toBe(0)
  const { body } = await fixture.organization.call('GET', '/v5/audit-log?filter.action.equals=login.failed')
  expect(body).toMatchObject([{ actorKind: 'anonymous', details: { by: 'single-sign-on', reason: 'not-linked' } }])
})

test('nobody joins through a domain that is unverified, deleted or verified by another organization', async () => {
  const fixture = await createSsoFixture(service, provider, { defaultRole: 'member' })
  const [claimed, deletedDomain] = [`${randomUUID()}.example`, await verifyDomain(fixture, txtRecords)]
  await fixture.organization.call('POST', '/v5/domains', { body: { domain: claimed } })
  await fixture.organization.call('DELETE', `/v5/domains/${deletedDomain.id}`)
  const foreign = await verifyDomain({ organization: await service.newOrganization() }, txtRecords)
  for (const domain of [claimed, deletedDomain.domain, foreign.domain]) {
    provider.person = { sub: randomUUID(), email: `a@${domain}`, email_verified: true }
    expect((await logInAtProvider(fixture)).hash).toBe(failure('not-linked'))
  }
})

test('nobody joins automatically without a default role or with SIGN_UP=closed', async () => {
  const fixture = await createSsoFixture(service, provider)
  const { domain } = await verifyDomain(fixture, txtRecords)
  provider.person = { sub: randomUUID(), email: `a@${domain}`, email_verified: true }
  expect((await logInAtProvider(fixture)).hash).toBe(failure('not-linked'))
  const owner = await fixture.organization.call('PATCH', `/v5/sso-connections/${fixture.connectionId}`, {
    body: { defaultRole: 'owner' },
  })
  expect(owner.status).toBe(422)
  const closed = await startTestService({ EGRESS_ALLOW: new URL(provider.issuer).host, SIGN_UP: 'closed' })
  const otherFixture = await createSsoFixture(closed, provider, { defaultRole: 'member' })
  const reauthenticated = await verifyDomain(otherFixture, txtRecords)
  provider.person = { sub: randomUUID(), email: `a@${reauthenticated.domain}`, email_verified: true }
  expect((await logInAtProvider(otherFixture)).hash).toBe(failure('not-linked'))
  await closed.close()
})

test('an account is never taken over through its address', async () => {
  const fixture = await createSsoFixture(service, provider, { defaultRole: 'member' })
  const { organizationId } = fixture.organization
  const { domain } = await verifyDomain(fixture, txtRecords)
  const otherOrganization = await service.newOrganization()
  const address = () => `${randomUUID()}@${domain}`
  const cases: [string, Member, SsoError][] = [
    ['of another domain', await newPerson([organizationId]), 'not-linked'],
    [
      'in another organization',
      await newPerson([otherOrganization.organizationId], { email: address() }),
      'not-linked',
    ],
    [
      'in another organization too',
      await newPerson([organizationId, otherOrganization.organizationId], { email: address() }),
      'not-linked',
    ],
    [
      'with an address that was not verified by mail',
      await newPerson([organizationId], { email: address(), isVerified: false }),
      'not-verified',
    ],
  ]
  for (const [description, { email, userId }, reason] of cases) {
    provider.person = { sub: randomUUID(), email: email.toUpperCase(), email_verified: true }
    const browser = new Browser()
    expect([description, (await logInAtProvider(fixture, browser)).hash]).toEqual([description, failure(reason)])
    expect(browser.cookie(new URL(service.url).host, 'rapport')).toBeUndefined()
    expect(await execute(sql`select from sso_identities where user_id = ${uuid('usr', userId)}::uuid`)).toEqual([])
  }
})

test('a verified account of a verified domain is linked automatically and keeps its role', async () => {
  const fixture = await createSsoFixture(service, provider, { defaultRole: 'viewer' })
  const { domain } = await verifyDomain(fixture, txtRecords)
  const person = await newPerson([fixture.organization.organizationId], { email: `${randomUUID()}@${domain}` })
  const withoutOrganization = await newPerson([], { email: `${randomUUID()}@${domain}` })
  for (const [{ email, userId }, role] of [
    [person, 'member'],
    [withoutOrganization, 'viewer'],
  ] as const) {
    provider.person = { sub: randomUUID(), email, email_verified: true }
    const browser = new Browser()
    expect((await logInAtProvider(fixture, browser)).hash).toBe('#logged-in')
    expect((await readProfile(service, browser)).me).toMatchObject({ id: userId, organizations: [{ role }] })
  }
})

test('concurrent first logins of one person create one account', async () => {
  const fixture = await createSsoFixture(service, provider, { defaultRole: 'member' })
  const { domain } = await verifyDomain(fixture, txtRecords)
  const email = `${randomUUID()}@${domain}`
  provider.person = { sub: randomUUID(), email, email_verified: true }
  const results = await Promise.all(Array.from({ length: 6 }, () => logInAtProvider(fixture, new Browser())))
  expect(results.map(({ hash }) => hash)).toEqual(results.map(() => '#logged-in'))
  expect(await accountsOf(email)).toBe(1)
})

test('a logged-in person can link an identity with any address and log in with it', async () => {
  const fixture = await createSsoFixture(service, provider)
  const member = await newPerson([fixture.organization.organizationId])
  const person = await logIn(member)
  const sub = randomUUID()
  provider.person = { sub, email: 'somebody@elsewhere.example' }
  expect((await logInAtProvider(fixture)).hash).toBe(failure('not-linked'))
  const id = await linkIdentity(fixture, person)
  const { body } = await person.call('GET', '/v5/me/identities')
  expect(body).toEqual([
    expect.objectContaining({
      id,
      organizationId: fixture.organization.organizationId,
      connectionId: fixture.connectionId,
      connectionName: 'Ours',
      issuer: provider.issuer,
      subject: sub,
      email: 'somebody@elsewhere.example',
      lastUsedAt: null,
    }),
  ])
  const browser = new Browser()
  expect((await logInAtProvider(fixture, browser)).hash).toBe('#logged-in')
  expect((await readProfile(service, browser)).me).toMatchObject({ id: member.userId, email: member.email })
  const log = await fixture.organization.call('GET', '/v5/audit-log?filter.action.equals=identity.linked')
  expect(log.body).toMatchObject([{ actorId: member.userId, recordId: id }])
  const mails = await execute(
    sql`select from mails where user_id = ${uuid('usr', member.userId)}::uuid and kind = 'account-changed'`,
  )
  expect(mails).toHaveLength(1)
})

test('only the person who started linking can complete it, so no identity is linked to another account', async () => {
  const fixture = await createSsoFixture(service, provider)
  const { organizationId } = fixture.organization
  const [attacker, victim] = [
    await logIn(await newPerson([organizationId])),
    await logIn(await newPerson([organizationId])),
  ]
  provider.person = { sub: randomUUID() }
  // The victim opened the attacker's link, or the attacker sends the final token to the victim's page.
  const token = await followLink(fixture, attacker)
  expect((await confirmLink(victim, token)).status).toBe(422)
  expect((await confirmLink(attacker, token)).status).toBe(422)
  expect((await victim.call('GET', '/v5/me/identities')).body).toEqual([])
  expect((await logInAtProvider(fixture)).hash).toBe(failure('not-linked'))
})

test('a link is valid once, for its own connection and after a recent re-authentication', async () => {
  const fixture = await createSsoFixture(service, provider)
  const second = await createSsoFixture(service, provider)
  const person = await logIn(await newPerson([fixture.organization.organizationId]))
  const beginLink = (connectionId: string) => person.call('POST', '/v5/me/identities', { body: { connectionId } })
  expect((await beginLink(second.connectionId)).status).toBe(422)
  expect((await beginLink('sso_nothing')).status).toBe(422)
  const { url } = (await beginLink(fixture.connectionId)).body
  provider.person = { sub: randomUUID() }
  expect((await logInAtProvider({ ...fixture, start: url })).hash).toMatch(/^#sso-link=/)
  expect((await logInAtProvider({ ...fixture, start: url })).hash).toBe(failure('expired'))
  const movedUrl = (await beginLink(fixture.connectionId)).body.url.replace(fixture.connectionId, second.connectionId)
  expect((await logInAtProvider({ ...second, start: movedUrl })).hash).toBe(failure('expired'))
  expect(
    (await fixture.organization.call('POST', '/v5/me/identities', { body: { connectionId: fixture.connectionId } }))
      .status,
  ).toBe(403)
  await execute(
    sql`update sessions set proved_at = now() - interval '6 minutes' where id = ${uuid('session', person.sessionId)}::uuid`,
  )
  expect(await beginLink(fixture.connectionId)).toMatchObject({
    status: 403,
    body: { code: 'reauthentication_required' },
  })
})

test('an identity belongs to one person; the same subject at another issuer or organization is a different identity', async () => {
  const fixture = await createSsoFixture(service, provider)
  const { organizationId } = fixture.organization
  const [first, second] = [
    await logIn(await newPerson([organizationId])),
    await logIn(await newPerson([organizationId])),
  ]
  const sub = randomUUID()
  provider.person = { sub }
  await linkIdentity(fixture, first)
  expect((await confirmLink(second, await followLink(fixture, second))).status).toBe(409)
  const otherOrganization = await createSsoFixture(service, provider)
  expect((await logInAtProvider(otherOrganization)).hash).toBe(failure('not-linked'))
  other.person = { sub }
  const { issuer, clientId, clientSecret } = other
  const created = await fixture.organization.call('POST', '/v5/sso-connections', {
    body: { name: 'Other', issuer, clientId, clientSecret },
  })
  other.register(`${service.url}/auth/sso/callback/${created.body.id}`)
  const otherFixture = {
    ...fixture,
    provider: other,
    connectionId: created.body.id,
    start: `${service.url}/auth/sso/${created.body.id}`,
  }
  expect((await logInAtProvider(otherFixture)).hash).toBe(failure('not-linked'))
})

test('the provider replaces only the password: the second factor is still required', async () => {
  const fixture = await createSsoFixture(service, provider)
  const member = await newPerson([fixture.organization.organizationId])
  provider.person = { sub: randomUUID() }
  await linkIdentity(fixture, await logIn(member))
  await execute(sql`update users set second_factors = '{totp}' where id = ${uuid('usr', member.userId)}::uuid`)
  const browser = new Browser()
  expect((await logInAtProvider(fixture, browser)).hash).toMatch(/^#second-factor=pnd_[\w-]{43}$/)
  expect(browser.cookie(new URL(service.url).host, 'rapport')).toBeUndefined()
})

test('one organization’s provider does not give access to another organization', async () => {
  const fixture = await createSsoFixture(service, provider)
  const otherOrganization = await service.newOrganization()
  const member = await newPerson([fixture.organization.organizationId, otherOrganization.organizationId])
  provider.person = { sub: randomUUID() }
  await linkIdentity(fixture, await logIn(member))
  const browser = new Browser()
  expect((await logInAtProvider(fixture, browser)).hash).toBe(failure('second-factor-needed'))
  expect(browser.cookie(new URL(service.url).host, 'rapport')).toBeUndefined()
  await execute(sql`update users set second_factors = '{totp}' where id = ${uuid('usr', member.userId)}::uuid`)
  expect((await logInAtProvider(fixture, new Browser())).hash).toMatch(/^#second-factor=/)
})

test('a login at the provider is not enough for sensitive actions if the person has a password', async () => {
  const fixture = await createSsoFixture(service, provider)
  const member = await newPerson([fixture.organization.organizationId])
  provider.person = { sub: randomUUID() }
  await linkIdentity(fixture, await logIn(member))
  const browser = new Browser()
  await logInAtProvider(fixture, browser)
  const { call } = await readProfile(service, browser)
  const sensitiveRequests = [
    ['POST', '/v5/me/totp'],
    ['POST', '/v5/me/passkeys/options'],
    ['POST', '/v5/me/address', { email: 'evil@example.com' }],
    ['POST', '/v5/me/identities', { connectionId: fixture.connectionId }],
  ] as const
  for (const [method, path, body] of sensitiveRequests) {
    const { status, body: responseBody } = await call(method, path, { ...(body && { body }) })
    expect([path, status, responseBody.code]).toEqual([path, 403, 'reauthentication_required'])
  }
  expect((await call('POST', '/v5/me/password', { body: { newPassword: 'violet engine tandem' } })).status).toBe(422)
  expect((await call('GET', '/v5/contacts')).status).toBe(200)
  expect((await call('POST', '/v5/me/reauthenticate', { body: { password: 'not the one that it is' } })).status).toBe(
    422,
  )
  const reauthenticated = callAfterReauthentication(
    service,
    await call('POST', '/v5/me/reauthenticate', { body: { password } }),
  )
  expect((await reauthenticated('POST', '/v5/me/totp')).status).toBe(200)
})

test('a person without a password re-authenticates at the provider, until they set one', async () => {
  const fixture = await createSsoFixture(service, provider, { defaultRole: 'member' })
  const { domain } = await verifyDomain(fixture, txtRecords)
  provider.person = { sub: randomUUID(), email: `${randomUUID()}@${domain}`, email_verified: true }
  const [first, second] = [new Browser(), new Browser()]
  await logInAtProvider(fixture, first)
  const { call } = await readProfile(service, first)
  expect((await call('POST', '/v5/me/totp')).status).toBe(200)
  expect((await call('POST', '/v5/me/password', { body: { newPassword: password } })).status).toBe(204)
  await logInAtProvider(fixture, second)
  expect(await (await readProfile(service, second)).call('POST', '/v5/me/totp')).toMatchObject({
    status: 403,
    body: { code: 'reauthentication_required' },
  })
})

test('an unlinked identity gives no access, and the only way to log in cannot be unlinked', async () => {
  const fixture = await createSsoFixture(service, provider, { defaultRole: 'member' })
  const member = await newPerson([fixture.organization.organizationId])
  const person = await logIn(member)
  provider.person = { sub: randomUUID() }
  const id = await linkIdentity(fixture, person)
  const otherMember = await logIn(await newPerson([fixture.organization.organizationId]))
  expect((await otherMember.call('DELETE', `/v5/me/identities/${id}`)).status).toBe(404)
  expect((await person.call('DELETE', `/v5/me/identities/${id}`)).status).toBe(204)
  expect((await logInAtProvider(fixture)).hash).toBe(failure('not-linked'))
  const { domain } = await verifyDomain(fixture, txtRecords)
  provider.person = { sub: randomUUID(), email: `${randomUUID()}@${domain}`, email_verified: true }
  const browser = new Browser()
  await logInAtProvider(fixture, browser)
  const { call } = await readProfile(service, browser)
  const [onlyIdentity] = (await call('GET', '/v5/me/identities')).body
  expect((await call('DELETE', `/v5/me/identities/${onlyIdentity.id}`)).status).toBe(423)
  expect((await call('GET', '/v5/me/identities')).body).toHaveLength(1)
})
