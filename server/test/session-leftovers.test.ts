import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { routes } from '../src/app.ts'
import { explorerFiles } from '../src/api/docs/explorer.ts'
import { chromium, sharedChromium } from './chromium.ts'
import { returnPage, takePage } from './page-pool.ts'
import { urlOf } from './collections.ts'
import { goodPassword, newEmail, newOwner, setUpToken } from './people.ts'
import { startTestService, type TestService } from './service.ts'
import { newTenant, requestOf, type Tenant } from './tenancy.ts'

let service: TestService
let browser: Browser | undefined
let tenant: Tenant
beforeAll(async () => {
  service = await startTestService()
  tenant = await newTenant(service)
  if (chromium) browser = await sharedChromium()
})
afterAll(async () => {
  await service.close()
})

async function newPage(): Promise<Page> {
  const page = await takePage(browser as Browser, {})
  onTestFinished(() => returnPage(page))
  return page
}

/** The event that a page gets when the browser leaves it, here one that caches the page for its Back button. */
const leavePage = `void dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))`

/** The same for everybody, and without data of anyone. */
const cacheablePaths = new Set([
  '/.well-known/jwks.json',
  '/v5/docs',
  '/v5/swagger',
  ...explorerFiles.map(({ path }) => path),
])

test('no response may be cached, except the documents that are the same for everybody', async () => {
  const { call: asPerson } = await newOwner(service)
  const cached: string[] = []
  for (const route of routes) {
    if (cacheablePaths.has(route.path)) continue
    const isPerson = route.kind === 'account'
    const needsNoTenant = isPerson || route.kind === 'public'
    const { body, ...options } = needsNoTenant ? { body: {} } : requestOf(route, tenant)
    const path = needsNoTenant ? route.path.replaceAll(/\{\w+\}/g, 'none') : urlOf(route, options)
    const call = isPerson ? asPerson : needsNoTenant ? service.anonymous : tenant.organization.call
    // Logging out would make every later request fail with 401.
    if (isPerson && route.method === 'DELETE') continue
    const response = await call(route.method, path, route.method === 'GET' ? {} : { body: body ?? {} })
    if (response.headers.get('cache-control') !== 'no-store') cached.push(`${route.method} ${route.path}`)
  }
  expect(cached).toEqual([])
  for (const path of ['/v5/contacts', '/v5/me', '/v5/audit-log']) {
    const { status, headers } = await asPerson('GET', path)
    expect([path, status, headers.get('cache-control')]).toEqual([path, 200, 'no-store'])
  }
})

test('a response that ends a session makes the browser delete its stored data, and no other response does', async () => {
  const { email, password, organization } = await newOwner(service)
  const logIn = async () => {
    const headers = { origin: service.url }
    const response = await service.anonymous('POST', '/auth/login', {
      body: { email, password, cookie: true },
      headers,
    })
    expect([response.status, response.headers.get('clear-site-data')]).toEqual([200, null])
    const cookie = response.headers
      .getSetCookie()
      .map((line) => line.split(';', 1)[0])
      .join('; ')
    const authorization = `Bearer ${response.body.accessToken}`
    return { sessionId: response.body.sessionId as string, headers: { ...headers, cookie, authorization } }
  }
  const endings: [string, string, (sessionId: string) => string, object | undefined][] = [
    ['log out', 'POST', () => '/auth/logout', {}],
    ['log out everywhere', 'DELETE', () => '/v5/me/sessions', undefined],
    ['end this session', 'DELETE', (sessionId) => `/v5/me/sessions/${sessionId}`, undefined],
  ]
  for (const [what, method, path, body] of endings) {
    const { sessionId, headers } = await logIn()
    const ended = await service.anonymous(method, path(sessionId), { ...(body && { body }), headers })
    expect([what, ended.status, ended.headers.get('clear-site-data')]).toEqual([what, 204, '"cache", "storage"'])
    // From another browser, which keeps what the person typed there until they log in again.
    const late = await service.anonymous('POST', '/auth/refresh', { body: {}, headers })
    expect([what, late.status, late.headers.get('clear-site-data')]).toEqual([what, 401, null])
  }
  const { headers } = await logIn()
  const refreshed = await service.anonymous('POST', '/auth/refresh', { body: {}, headers })
  expect([refreshed.status, refreshed.headers.get('clear-site-data')]).toEqual([200, null])
  const other = await logIn()
  const elsewhere = await service.anonymous('DELETE', `/v5/me/sessions/${other.sessionId}`, { headers })
  expect([elsewhere.status, elsewhere.headers.get('clear-site-data')]).toEqual([204, null])
  expect((await organization.call('GET', '/v5/me')).headers.get('clear-site-data')).toBeNull()
})

test('a session that may have been taken over makes every browser with its cookie delete its stored data', async () => {
  const { email, password } = await newOwner(service)
  const headers = { origin: service.url }
  const cookieOf = (response: Response | { headers: Headers }) => response.headers.getSetCookie()[0]?.split(';', 1)[0]
  const logIn = { body: { email, password, cookie: true }, headers }
  let response: { headers: Headers; status: number } = await service.anonymous('POST', '/auth/login', logIn)
  const cookies: string[] = []
  for (let renewal = 0; renewal < 3; renewal++) {
    const cookie = cookieOf(response) ?? ''
    cookies.push(cookie)
    response = await service.anonymous('POST', '/auth/refresh', { body: {}, headers: { ...headers, cookie } })
    expect(response.status).toBe(200)
  }
  // The stolen cookie is used first, then the person's own.
  for (const cookie of [cookies[0] ?? '', cookieOf(response) ?? '']) {
    const refused = await service.anonymous('POST', '/auth/refresh', { body: {}, headers: { ...headers, cookie } })
    expect([refused.status, refused.headers.get('clear-site-data')]).toEqual([401, '"cache", "storage"'])
    expect(refused.headers.get('www-authenticate')).toContain('refresh token used twice')
  }
})

const request = (page: Page, method: string, path: string, body: object | undefined, accessToken?: string) =>
  page.evaluate(
    async ([method, path, body, accessToken]) => {
      const headers = {
        ...(body && { 'content-type': 'application/json' }),
        ...(accessToken && { authorization: `Bearer ${accessToken}` }),
      }
      const response = await fetch(path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      const text = await response.text()
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
    },
    [method, path, body, accessToken] as const,
  )

test.skipIf(!chromium)('after logging out, the browser has neither records nor stored data of a page', async () => {
  const { email, password } = await newOwner(service)
  const page = await newPage()
  await page.goto(`${service.url}/account`)
  const { body } = await request(page, 'POST', '/auth/login', { email, password, cookie: true })
  expect((await request(page, 'GET', '/v5/me', undefined, body.accessToken)).status).toBe(200)
  const cached = `fetch('/v5/me', { cache: 'only-if-cached', mode: 'same-origin' }).then(({ ok }) => ok, () => false)`
  expect(await page.evaluate(cached)).toBe(false)
  await page.evaluate(`localStorage.setItem('left', 'behind')`)
  expect((await request(page, 'POST', '/auth/logout', {})).status).toBe(204)
  expect(await page.evaluate('localStorage.length')).toBe(0)
  expect((await request(page, 'POST', '/auth/refresh', {})).status).toBe(401)
})

test.skipIf(!chromium)('a form is empty after it was sent and when the browser goes back to it', async () => {
  const emptyService = await startTestService()
  const page = await newPage()
  await page.goto(`${emptyService.url}/account#set-up=${await setUpToken(emptyService)}`)
  await page.getByLabel('Email').waitFor()
  const typed = { email: newEmail(), name: 'Ada', organization: 'Engines', password: goodPassword }
  const fill = async () => {
    for (const [name, value] of Object.entries(typed)) await page.fill(`[name=${name}]`, value)
  }
  const values = `Array.from(document.querySelectorAll('input'), ({ value }) => value).filter(Boolean)`
  await fill()
  expect(await page.evaluate(values)).toHaveLength(4)
  await page.evaluate(leavePage)
  expect(await page.evaluate(values)).toEqual([])
  await fill()
  await page.getByRole('button', { name: 'Set up' }).click()
  await page.waitForURL(`${emptyService.url}/`)
  await page.goBack()
  expect(await page.content()).not.toContain(goodPassword)
  expect(await page.locator('input[type=password]').count()).toBe(0)
  await emptyService.close()
})

test.skipIf(!chromium)('the explorer deletes the key and the responses when the browser leaves it', async () => {
  const page = await newPage()
  await page.goto(`${service.url}/v5/swagger`)
  await page.waitForSelector('#explorer *')
  await page.evaluate(leavePage)
  expect(await page.locator('#explorer *').count()).toBe(0)
})
