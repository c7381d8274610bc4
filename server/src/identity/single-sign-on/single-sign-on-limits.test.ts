import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from '../../../test/browser.ts'
import type { IdentityProvider } from '../../../test/identity-provider.ts'
import { until } from '../../../test/processes.ts'
import { startTestService, type TestService } from '../../../test/service.ts'
import {
  addConnection,
  logInAtProvider,
  createSsoFixture,
  verifyDomain,
  type SsoFixture,
  startWithProviders,
} from '../../../test/single-sign-on-fixture.ts'

let service: TestService
let provider: IdentityProvider
let slowProvider: IdentityProvider
let close: () => Promise<unknown>
const txtRecords = new Map<string, string[]>()
beforeAll(async () => {
  ;({ started: service, provider, other: slowProvider, close } = await startWithProviders(startTestService, txtRecords))
})
afterAll(() => close())

/** Creates a connection whose next person joins. */
async function createOpenFixture(identityProvider: IdentityProvider): Promise<SsoFixture> {
  const fixture = await createSsoFixture(service, identityProvider, { defaultRole: 'member' })
  const { domain } = await verifyDomain(fixture, txtRecords)
  identityProvider.person = { sub: randomUUID(), email: `${randomUUID()}@${domain}`, email_verified: true, name: 'Ada' }
  return fixture
}

/** The callback addresses of forty started logins. */
async function createCallbacks(fixture: SsoFixture): Promise<[Browser, string][]> {
  const urls: [Browser, string][] = []
  for (let count = 0; count < 40; count++) {
    const browser = new Browser()
    const authorizationUrl = new URL((await browser.open(fixture.start)).headers.get('location') ?? '')
    const state = authorizationUrl.searchParams.get('state') ?? ''
    const search = new URLSearchParams({ state, code: 'x', iss: fixture.provider.issuer })
    urls.push([browser, `${fixture.start.replace('/sso/', '/sso/callback/')}?${search}`])
  }
  return urls
}

/** The start addresses of forty connections, because a connection's metadata is requested only once. */
async function createConnections(fixture: SsoFixture): Promise<[Browser, string][]> {
  const urls: [Browser, string][] = []
  while (urls.length < 40) urls.push([new Browser(), (await addConnection(fixture, fixture.provider)).start])
  return urls
}

test.each([
  ['/token', createCallbacks],
  ['/.well-known/openid-configuration', createConnections],
])(
  'a provider that never responds at %s occupies four requests and does not block other providers',
  async (path, createUrls) => {
    const [slowFixture, other] = [await createOpenFixture(slowProvider), await createOpenFixture(provider)]
    const urls = await createUrls(slowFixture)
    const openResponses = new Set<ServerResponse>()
    let maxOpen = 0
    slowProvider.overrides.set(path, (_, response) => {
      maxOpen = Math.max(maxOpen, openResponses.add(response).size)
      response.on('close', () => openResponses.delete(response))
    })
    const outcomes: string[] = []
    const attempts = urls.map(async ([browser, url]) =>
      outcomes.push((await browser.open(url)).headers.get('location') ?? ''),
    )
    // Four send requests, sixteen wait, and the others fail at once.
    await until('twenty are rejected', () => outcomes.length >= 20)
    expect((await logInAtProvider(other)).hash).toBe('#logged-in')
    expect(maxOpen).toBe(4)
    for (const response of openResponses) response.destroy()
    await Promise.all(attempts)
    expect(maxOpen).toBe(4)
    expect(outcomes).toEqual(urls.map(() => `${service.url}/account#sso-error=provider`))
    expect(service.logged.join('')).toContain('"cause":"overloaded"')
    // Rejected people can log in once requests are available again.
    slowProvider.overrides.clear()
    expect((await logInAtProvider(slowFixture)).hash).toBe('#logged-in')
  },
)
