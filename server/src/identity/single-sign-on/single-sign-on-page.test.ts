import { randomUUID } from 'node:crypto'
import { TOTP } from 'otpauth'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { chromium, sharedChromium } from '../../../test/chromium.ts'
import { returnPage, takePage } from '../../../test/page-pool.ts'
import { type IdentityProvider, startIdentityProvider } from '../../../test/identity-provider.ts'
import { type NameServer, startNameServer } from '../../../test/name-server.ts'
import { startTestService, type TestService } from '../../../test/service.ts'
import { lookUpTxt, createSsoFixture, verifyDomain } from '../../../test/single-sign-on-fixture.ts'

// What only a browser shows: which cookies it sends along when another site leads back to us.

let service: TestService
let provider: IdentityProvider
let nameServer: NameServer
let browser: Browser | undefined
const texts = new Map<string, string[]>()
beforeAll(async () => {
  ;[provider, nameServer] = await Promise.all([startIdentityProvider(), startNameServer(lookUpTxt(texts))])
  service = await startTestService({ EGRESS_ALLOW: new URL(provider.issuer).host })
  if (chromium) browser = await sharedChromium()
})
afterAll(async () => {
  await Promise.all([service.close(), provider.close(), nameServer.close()])
})

async function newPage(): Promise<Page> {
  const page = await takePage(browser as Browser, {})
  onTestFinished(() => returnPage(page))
  return page
}

/** Asks the API as the person whose session the page's cookie holds. */
const asPerson = (page: Page, method: string, path: string, body?: object) =>
  page.evaluate(
    async ([verb, address, text]) => {
      const json = { 'content-type': 'application/json' }
      const refreshed = await fetch('/auth/refresh', { method: 'POST', headers: json, body: '{}' })
      const { accessToken } = (await refreshed.json()) as { accessToken: string }
      const headers = { ...json, authorization: `Bearer ${accessToken}` }
      const answer = await fetch(address, { method: verb, headers, ...(text !== undefined && { body: text }) })
      return { status: answer.status, body: (await answer.json()) as Record<string, string> }
    },
    [method, path, body === undefined ? undefined : JSON.stringify(body)] as const as [string, string, string],
  )

test.skipIf(!chromium)('a browser logs in, links another identity, and is asked for its second factor', async () => {
  const world = await createSsoFixture(service, provider, { defaultRole: 'member' })
  const { domain } = await verifyDomain(world, texts)
  provider.person = { sub: randomUUID(), email: `ada@${domain}`, email_verified: true }
  // localhost and 127.0.0.1 are two sites: the provider is another one, as it would be.
  const home = service.url.replace('127.0.0.1', 'localhost')
  provider.register(`${home}/auth/sso/callback/${world.connectionId}`)
  const page = await newPage()
  await page.goto(`${home}/auth/sso/${world.connectionId}`)
  await page.waitForURL(`${home}/`)
  expect((await asPerson(page, 'GET', '/v5/me')).body).toMatchObject({ email: `ada@${domain}` })

  await page.context().clearCookies({ domain: '127.0.0.1' })
  provider.person = { sub: randomUUID() }
  const begun = await asPerson(page, 'POST', '/v5/me/identities', { connectionId: world.connectionId })
  await page.goto(begun.body.url ?? '')
  await page.getByRole('button', { name: 'Link' }).click()
  await page.waitForURL(`${home}/profile`)
  expect((await asPerson(page, 'GET', '/v5/me/identities')).body).toHaveLength(2)

  const enrolled = await asPerson(page, 'POST', '/v5/me/totp')
  expect(enrolled.status, JSON.stringify(enrolled.body)).toBeLessThan(300)
  const { secret = '' } = enrolled.body
  const code = (ahead: number) => new TOTP({ secret }).generate({ timestamp: Date.now() + ahead * 30_000 })
  const confirmed = await asPerson(page, 'POST', '/v5/me/totp/confirm', { code: code(0) })
  expect(confirmed.status, JSON.stringify(confirmed.body)).toBeLessThan(300)
  const another = await newPage()
  await another.goto(`${home}/auth/sso/${world.connectionId}`)
  await another.getByLabel('Six-digit code').fill(code(1))
  await another.getByRole('button', { name: 'Log in' }).click()
  await another.waitForURL(`${home}/`)
  expect((await asPerson(another, 'GET', '/v5/me')).body).toMatchObject({ email: `ada@${domain}` })
})

test.skipIf(!chromium)('another site’s page cannot log a browser in without confirmation', async () => {
  const world = await createSsoFixture(service, provider, { defaultRole: 'member' })
  const { domain } = await verifyDomain(world, texts)
  provider.person = { sub: randomUUID(), email: `eve@${domain}`, email_verified: true }
  const home = service.url.replace('127.0.0.1', 'localhost')
  provider.register(`${home}/auth/sso/callback/${world.connectionId}`)
  const page = await newPage()
  await page.goto(`${provider.issuer}/elsewhere`)
  await page.evaluate(`location.assign('${home}/auth/sso/${world.connectionId}')`)
  await page.getByText('Another site sent you here').waitFor()
  expect(await page.context().cookies(home)).toEqual([])
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.waitForURL(`${home}/`)
})
