import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { sql } from '../src/platform/database/sql.ts'
import { readId } from '../src/platform/resource/ids.ts'
import { Browser } from './browser.ts'
import type { IdentityProvider } from './identity-provider.ts'
import { callAs } from './people.ts'
import type { Call, Json, TestOrganization, TestService } from './service.ts'

export interface SsoWorld {
  service: TestService
  organization: TestOrganization
  provider: IdentityProvider
  connectionId: string
  /** Where people begin. */
  start: string
}

/** An organization of its own with a connection to the provider; people of its proved domain join as `defaultRole`. */
export async function newSsoWorld(
  service: TestService,
  provider: IdentityProvider,
  { defaultRole = null, isPublic = false }: { defaultRole?: string | null; isPublic?: boolean } = {},
): Promise<SsoWorld> {
  const organization = await service.newOrganization()
  const { issuer, clientId, clientSecret } = provider
  const body = { name: 'Ours', issuer, clientId, defaultRole, ...(!isPublic && { clientSecret }) }
  const made = await organization.call('POST', '/v5/sso-connections', { body })
  expect(made.status, made.text).toBe(201)
  const connectionId: string = made.body.id
  provider.register(`${service.url}/auth/sso/callback/${connectionId}`)
  return { service, organization, provider, connectionId, start: `${service.url}/auth/sso/${connectionId}` }
}

/** Claims a domain of its own for the organization and proves it. */
export async function proveDomain(
  { organization }: Pick<SsoWorld, 'organization'>,
  texts: Map<string, string[]>,
  domain = `${randomUUID()}.example`,
): Promise<{ id: string; domain: string }> {
  const claimed = await organization.call('POST', '/v5/domains', { body: { domain } })
  expect(claimed.status, claimed.text).toBe(201)
  texts.set(claimed.body.recordName, [claimed.body.recordValue])
  const verified = await organization.call('POST', `/v5/domains/${claimed.body.id}/verify`)
  expect(verified.status, verified.text).toBe(200)
  return verified.body
}

const isPage = (next: URL) => next.pathname === '/account' || !next.pathname.startsWith('/auth')

/** Goes the whole way; gives the page of ours that it ends at. */
export const goThrough = ({ service, start }: SsoWorld, browser = new Browser(), search = ''): Promise<URL> =>
  browser.follow(`${start}${search}`, (next) => next.origin === service.url && isPage(next))

/** Goes as far as the provider's answer: the address of ours that it sends the browser to. */
export const goToCallback = ({ service, start }: SsoWorld, browser: Browser, search = ''): Promise<URL> =>
  browser.follow(`${start}${search}`, (next) => next.href.startsWith(`${service.url}/auth/sso/callback/`))

/** The person whose session the browser holds now: their profile, and a call in their name. */
export async function whoIs(service: TestService, browser: Browser): Promise<{ me: Json; call: Call }> {
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

/** Makes the address of a person count as theirs, as the link in a mail does. */
export const verifyAddress = ({ database }: TestService, userId: string): Promise<object[]> =>
  database.spanning(
    'check the database',
    sql`update users set verified_at = now() where id = ${readId('usr', userId)}::uuid`,
  )

/** A name server that knows the TXT records of this map, and is silent where there are none of a name that stands in it. */
export const knowTexts =
  (texts: ReadonlyMap<string, string[]>) =>
  (name: string): { txt: string[] } | 'silence' | undefined => {
    const txt = texts.get(name)
    return txt?.length === 0 ? 'silence' : txt && { txt }
  }
