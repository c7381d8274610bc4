import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { addMember } from '../src/identity/members/store.ts'
import { type Sql, sql } from '../src/platform/model/sql.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { Browser } from './browser.ts'
import { type IdentityProvider, startIdentityProvider } from './identity-provider.ts'
import { startNameServer } from './name-server.ts'
import { callAs, loggedIn, newEmail, newOwner, type TestPerson } from './people.ts'
import type { Call, Json, TestOrganization, TestService } from './service.ts'

interface SsoProviders<Started> {
  started: Started
  provider: IdentityProvider
  other: IdentityProvider
  close(): Promise<unknown>
}

/** Starts a service with `start`, two providers that it can reach, and a name server with these TXT records. */
export async function startWithProviders<Started extends { close(): Promise<void> }>(
  start: (environment: Record<string, string>) => Promise<Started>,
  txtRecords: Map<string, string[]>,
  otherOptions: Parameters<typeof startIdentityProvider>[0] = {},
): Promise<SsoProviders<Started>> {
  const [provider, other, nameServer] = await Promise.all([
    startIdentityProvider(),
    startIdentityProvider(otherOptions),
    startNameServer(lookUpTxt(txtRecords)),
  ])
  const hosts = [provider, other].map(({ issuer }) => new URL(issuer).host)
  const started = await start({ EGRESS_ALLOW: hosts.join(',') })
  return {
    started,
    provider,
    other,
    close: () => Promise.all([started.close(), provider.close(), other.close(), nameServer.close()]),
  }
}

export interface SsoFixture {
  service: TestService
  organization: TestOrganization
  provider: IdentityProvider
  connectionId: string
  /** The address where a login starts. */
  start: string
}

/** A new organization with a connection to the provider; people of its verified domain join as `defaultRole`. */
export async function createSsoFixture(
  service: TestService,
  provider: IdentityProvider,
  { defaultRole = null, isPublic = false }: { defaultRole?: string | null; isPublic?: boolean } = {},
): Promise<SsoFixture> {
  const organization = await service.newOrganization()
  return addConnection({ service, organization }, provider, { defaultRole, isPublic })
}

/** Adds a connection to the organization. */
export async function addConnection(
  { service, organization }: Pick<SsoFixture, 'service' | 'organization'>,
  provider: IdentityProvider,
  { defaultRole = null, isPublic = false }: { defaultRole?: string | null; isPublic?: boolean } = {},
): Promise<SsoFixture> {
  const { issuer, clientId, clientSecret } = provider
  const body = { name: 'Ours', issuer, clientId, defaultRole, ...(!isPublic && { clientSecret }) }
  const created = await organization.call('POST', '/v5/sso-connections', { body })
  expect(created.status, created.text).toBe(201)
  const connectionId: string = created.body.id
  provider.register(`${service.url}/auth/sso/callback/${connectionId}`)
  return { service, organization, provider, connectionId, start: `${service.url}/auth/sso/${connectionId}` }
}

/** Claims a domain for the organization and verifies it. */
export async function verifyDomain(
  { organization }: Pick<SsoFixture, 'organization'>,
  txtRecords: Map<string, string[]>,
  domain = `${randomUUID()}.example`,
): Promise<{ id: string; domain: string }> {
  const claimed = await organization.call('POST', '/v5/domains', { body: { domain } })
  expect(claimed.status, claimed.text).toBe(201)
  txtRecords.set(claimed.body.recordName, [claimed.body.recordValue])
  const verified = await organization.call('POST', `/v5/domains/${claimed.body.id}/verify`)
  expect(verified.status, verified.text).toBe(200)
  return verified.body
}

const isPage = (url: URL) => url.pathname === '/account' || !url.pathname.startsWith('/auth')

/** Follows a login to its end; returns the address of the service's page. */
export const logInAtProvider = ({ service, start }: SsoFixture, browser = new Browser(), search = ''): Promise<URL> =>
  browser.follow(`${start}${search}`, (url) => url.origin === service.url && isPage(url))

/** Follows a login up to the callback address to which the provider redirects. */
export const followToCallback = ({ service, start }: SsoFixture, browser: Browser, search = ''): Promise<URL> =>
  browser.follow(`${start}${search}`, (url) => url.href.startsWith(`${service.url}/auth/sso/callback/`))

/** The profile of the person whose session is in the browser, and a call with their access token. */
export async function readProfile(service: TestService, browser: Browser): Promise<{ me: Json; call: Call }> {
  const { host } = new URL(service.url)
  const cookie = `rapport=${browser.cookie(host, 'rapport')}`
  const refreshed = await service.anonymous('POST', '/auth/refresh', {
    body: {},
    headers: { cookie, origin: service.url },
  })
  expect(refreshed.status, refreshed.text).toBe(200)
  const call = callAs(service, refreshed.body.accessToken)
  return { me: (await call('GET', '/v5/me')).body, call }
}

export const password = 'a password that is long enough'

export interface Member {
  email: string
  userId: string
}

/** Creates a person with a password who is a member of these organizations, with a verified address or without. */
export async function newMember(
  service: TestService,
  organizationIds: readonly string[],
  { email = newEmail(), isVerified = true }: { email?: string; isVerified?: boolean } = {},
): Promise<Member> {
  const run = (statement: Sql) => service.database.crossTenantQuery('check the database', statement)
  // An owner whose membership is deleted is a person with a password and nothing else.
  const { userId, organizationId } = await newOwner(service)
  const [id, ownOrganizationId] = [decodeId('usr', userId), decodeId('org', organizationId)]
  await run(sql`delete from members where user_id = ${id}::uuid and organization_id = ${ownOrganizationId}::uuid`)
  await run(sql`update users set email = ${email}, email_key = ${email.toLowerCase()},
    verified_at = case when ${isVerified}::boolean then now() end where id = ${id}::uuid`)
  for (const organization of organizationIds) {
    const membership = {
      organizationId: decodeId('org', organization) ?? '',
      userId: id ?? '',
      role: 'member',
    } as const
    await service.database.crossTenantTransaction('check the database', (db) => addMember(db, membership))
  }
  return { email, userId }
}

export const logInMember = (service: TestService, { email }: Member): Promise<TestPerson> =>
  loggedIn(service, email, password)

/** Starts linking as the person and logs in at the provider; returns the token of the final page. */
export async function followLink(fixture: SsoFixture, person: TestPerson, browser = new Browser()): Promise<string> {
  const started = await person.call('POST', '/v5/me/identities', { body: { connectionId: fixture.connectionId } })
  expect(started.status, started.text).toBe(200)
  const { hash } = await logInAtProvider({ ...fixture, start: started.body.url }, browser)
  expect(hash).toMatch(/^#sso-link=[\w-]{43}$/)
  return hash.split('=')[1] ?? ''
}

export const confirmLink = (person: TestPerson, token: string) =>
  person.call('POST', '/v5/me/identities/confirm', { body: { token } })

/** Links the provider's current identity to the person; returns its id. */
export async function linkIdentity(fixture: SsoFixture, person: TestPerson): Promise<string> {
  const linked = await confirmLink(person, await followLink(fixture, person))
  expect(linked.status, linked.text).toBe(201)
  return linked.body.id
}

/** Marks the address of a person as verified, as a mailed link does. */
export const verifyAddress = ({ database }: TestService, userId: string): Promise<object[]> =>
  database.crossTenantQuery(
    'check the database',
    sql`update users set verified_at = now() where id = ${decodeId('usr', userId)}::uuid`,
  )

/** Looks up TXT records in this map; a name with an empty list gets no response. */
export const lookUpTxt =
  (txtRecords: ReadonlyMap<string, string[]>) =>
  (name: string): { txt: string[] } | 'silence' | undefined => {
    const txt = txtRecords.get(name)
    return txt?.length === 0 ? 'silence' : txt && { txt }
  }
