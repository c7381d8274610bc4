import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { type Sql, sql } from '../src/platform/model/sql.ts'
import { readId } from '../src/platform/model/ids.ts'
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

/** What `start` gives, with two providers that it may reach and name servers that tell these texts. */
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
  /** Where people begin. */
  start: string
}

/** An organization of its own with a connection to the provider; people of its proved domain join as `defaultRole`. */
export async function createSsoFixture(
  service: TestService,
  provider: IdentityProvider,
  { defaultRole = null, isPublic = false }: { defaultRole?: string | null; isPublic?: boolean } = {},
): Promise<SsoFixture> {
  const organization = await service.newOrganization()
  return addConnection({ service, organization }, provider, { defaultRole, isPublic })
}

/** Gives the organization a connection more. */
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

/** Claims a domain of its own for the organization and proves it. */
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

/** Goes the whole way; gives the page of ours that it ends at. */
export const logInAtProvider = ({ service, start }: SsoFixture, browser = new Browser(), search = ''): Promise<URL> =>
  browser.follow(`${start}${search}`, (url) => url.origin === service.url && isPage(url))

/** Goes as far as the provider's answer: the address of ours that it sends the browser to. */
export const followToCallback = ({ service, start }: SsoFixture, browser: Browser, search = ''): Promise<URL> =>
  browser.follow(`${start}${search}`, (url) => url.href.startsWith(`${service.url}/auth/sso/callback/`))

/** The person whose session the browser holds now: their profile, and a call in their name. */
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

/** A person with a password, in the organizations given, whose address is theirs or only said to be. */
export async function newMember(
  service: TestService,
  organizationIds: readonly string[],
  { email = newEmail(), isVerified = true }: { email?: string; isVerified?: boolean } = {},
): Promise<Member> {
  const run = (statement: Sql) => service.database.crossTenantQuery('check the database', statement)
  // The owner of an organization that is gone again: the way to a person with a password, whom nothing else is known of.
  const { userId, organizationId } = await newOwner(service)
  const [id, ownOrganizationId] = [readId('usr', userId), readId('org', organizationId)]
  await run(sql`delete from members where user_id = ${id}::uuid and organization_id = ${ownOrganizationId}::uuid`)
  await run(sql`update users set email = ${email}, email_key = ${email.toLowerCase()},
    verified_at = case when ${isVerified}::boolean then now() end where id = ${id}::uuid`)
  for (const organization of organizationIds) {
    await run(sql`insert into members (organization_id, user_id, role)
      values (${readId('org', organization)}::uuid, ${id}::uuid, 'member')`)
  }
  return { email, userId }
}

export const logInMember = (service: TestService, { email }: Member): Promise<TestPerson> =>
  loggedIn(service, email, password)

/** Begins to link as the person and goes through the provider; gives the token that the page ends with. */
export async function followLink(fixture: SsoFixture, person: TestPerson, browser = new Browser()): Promise<string> {
  const started = await person.call('POST', '/v5/me/identities', { body: { connectionId: fixture.connectionId } })
  expect(started.status, started.text).toBe(200)
  const { hash } = await logInAtProvider({ ...fixture, start: started.body.url }, browser)
  expect(hash).toMatch(/^#sso-link=[\w-]{43}$/)
  return hash.split('=')[1] ?? ''
}

export const confirmLink = (person: TestPerson, token: string) =>
  person.call('POST', '/v5/me/identities/confirm', { body: { token } })

/** Links who is at the provider now to the person; gives the id of the identity. */
export async function linkIdentity(fixture: SsoFixture, person: TestPerson): Promise<string> {
  const linked = await confirmLink(person, await followLink(fixture, person))
  expect(linked.status, linked.text).toBe(201)
  return linked.body.id
}

/** Makes the address of a person count as theirs, as the link in a mail does. */
export const verifyAddress = ({ database }: TestService, userId: string): Promise<object[]> =>
  database.crossTenantQuery(
    'check the database',
    sql`update users set verified_at = now() where id = ${readId('usr', userId)}::uuid`,
  )

/** A name server that knows the TXT records of this map, and is silent where there are none of a name that stands in it. */
export const lookUpTxt =
  (txtRecords: ReadonlyMap<string, string[]>) =>
  (name: string): { txt: string[] } | 'silence' | undefined => {
    const txt = txtRecords.get(name)
    return txt?.length === 0 ? 'silence' : txt && { txt }
  }
