import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from './browser.ts'
import type { IdentityProvider } from './identity-provider.ts'
import { until } from './processes.ts'
import { startTestService, type TestService } from './service.ts'
import {
  connect,
  goThrough,
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

/** A world whose next person joins. */
async function open(at: IdentityProvider): Promise<SsoWorld> {
  const world = await newSsoWorld(service, at, { defaultRole: 'member' })
  const { domain } = await proveDomain(world, texts)
  at.person = { sub: randomUUID(), email: `${randomUUID()}@${domain}`, email_verified: true, name: 'Ada' }
  return world
}

/** Where forty browsers go on that have begun. */
async function callbacks(world: SsoWorld): Promise<[Browser, string][]> {
  const all: [Browser, string][] = []
  for (let count = 0; count < 40; count++) {
    const browser = new Browser()
    const began = new URL((await browser.open(world.start)).headers.get('location') ?? '')
    const state = began.searchParams.get('state') ?? ''
    const search = new URLSearchParams({ state, code: 'x', iss: world.provider.issuer })
    all.push([browser, `${world.start.replace('/sso/', '/sso/callback/')}?${search}`])
  }
  return all
}

/** Where forty browsers begin, at a connection each: what one has asked counts for all who begin there. */
async function connections(world: SsoWorld): Promise<[Browser, string][]> {
  const all: [Browser, string][] = []
  while (all.length < 40) all.push([new Browser(), (await connect(world, world.provider)).start])
  return all
}

test.each([
  ['/token', callbacks],
  ['/.well-known/openid-configuration', connections],
])('a provider that never answers at %s takes four places, and leaves the others’ free', async (path, make) => {
  const [slow, other] = [await open(evil), await open(provider)]
  const all = await make(slow)
  const held = new Set<ServerResponse>()
  let most = 0
  evil.overrides.set(path, (_, response) => {
    most = Math.max(most, held.add(response).size)
    response.on('close', () => held.delete(response))
  })
  const outcomes: string[] = []
  const tries = all.map(async ([browser, url]) =>
    outcomes.push((await browser.open(url)).headers.get('location') ?? ''),
  )
  // Four ask, sixteen wait for a moment, and the others are told at once.
  await until('twenty are refused', () => outcomes.length >= 20)
  expect((await goThrough(other)).hash).toBe('#logged-in')
  expect(most).toBe(4)
  for (const response of held) response.destroy()
  await Promise.all(tries)
  expect(most).toBe(4)
  expect(outcomes).toEqual(all.map(() => `${service.url}/account#sso-error=provider`))
  expect(service.logged.join('')).toContain('"cause":"overloaded"')
  // Who was refused goes on once there is room again.
  evil.overrides.clear()
  expect((await goThrough(slow)).hash).toBe('#logged-in')
})
