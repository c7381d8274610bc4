import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { version } from '../src/platform/http/protocol/version.ts'
import { chromium, sharedChromium } from './chromium.ts'
import { returnPage, takePage } from './page-pool.ts'
import { lowContrast } from './contrast.ts'
import { requestText, sendRaw } from './raw-http.ts'
import { type Json, startTestService, type TestResponse, type TestService } from './service.ts'

let service: TestService
let browser: Browser | undefined

beforeAll(async () => {
  service = await startTestService()
  if (chromium) browser = await sharedChromium()
})
afterAll(async () => {
  await service.close()
})

/** What browsers send when a person opens an address. */
const browserAccepts = {
  Chromium: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  Safari: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
}
const fromBrowser = { headers: { accept: browserAccepts.Chromium, 'sec-fetch-mode': 'navigate' } }

/** What programs send. Where HTML and JSON are equally welcome, it is a program. */
const programs: Record<string, Record<string, string>> = {
  'no Accept': { accept: '' },
  curl: { accept: '*/*' },
  axios: { accept: 'application/json, text/plain, */*' },
  'both alike': { accept: 'text/html, application/json' },
  'HTML less': { accept: 'text/html;q=0.5, application/json' },
  'HTML and anything': { accept: 'text/html, */*' },
  'a key': { ...fromBrowser.headers, authorization: 'Bearer svc_wrong' },
}

const policy =
  /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/

test('the start page of the API says "set up" until the first account exists, and then "log in"', async () => {
  const before = await service.anonymous('GET', '/v5', fromBrowser)
  expect([before.status, before.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(before.text).toContain('Set up')
  expect(before.text).not.toMatch(/Log in|set-up=|ott_/)
  const setUp = '<meta name="rapport-set-up" content="needed" />'
  const application = await service.anonymous('GET', '/', fromBrowser)
  expect(application.text).toContain(setUp)
  /** What a browser that has shown the pages gets now. */
  const askAgain = (pages: readonly TestResponse<Json>[]) =>
    Promise.all(
      pages.map(async ({ headers }, index) => {
        const ifNoneMatch = { 'if-none-match': headers.get('etag') ?? '' }
        const path = index === 0 ? '/v5' : '/'
        return service.anonymous('GET', path, { headers: { ...fromBrowser.headers, ...ifNoneMatch } })
      }),
    )
  const statuses = (answers: readonly TestResponse<Json>[]) => answers.map(({ status }) => status)
  const shown = [before, application]
  expect(statuses(await askAgain(shown))).toEqual([304, 304])
  await service.newOrganization()
  const changed = await askAgain(shown)
  expect(statuses(changed)).toEqual([200, 200])
  expect(statuses(await askAgain(changed))).toEqual([304, 304])
  const after = await service.anonymous('GET', '/v5', fromBrowser)
  expect(after.text).not.toContain('Set up')
  expect((await service.anonymous('GET', '/', fromBrowser)).text).not.toContain(setUp)
  expect(after.text).toContain(`<a href="${service.url}/account">Log in</a>`)
  expect(after.headers.get('content-security-policy')).toMatch(policy)
  expect(after.headers.get('vary')).toContain('accept')
})

test('every link of the start page leads somewhere', async () => {
  const { text } = await service.anonymous('GET', '/v5', fromBrowser)
  const links = [...text.matchAll(/href="([^"]*)"/g)].map(([, link = '']) => link).filter((link) => link !== 'data:,')
  expect(links).toHaveLength(4)
  for (const link of links) {
    const { status } = await fetch(new URL(link, `${service.url}/v5`), { headers: fromBrowser.headers })
    expect([link, status]).toEqual([link, 200])
  }
})

test('programs get the links of the start page as JSON', async () => {
  for (const [name, headers] of Object.entries(programs)) {
    for (const address of ['/', '/v5']) {
      const { status, body } = await service.anonymous('GET', address, { headers })
      expect([name, status, body]).toEqual([
        name,
        200,
        {
          name: 'Rapport',
          version,
          api: '/v5',
          openapi: '/v5/docs',
          explorer: '/v5/swagger',
          guides: '/docs',
          account: `${service.url}/account`,
        },
      ])
    }
  }
})

test.each(Object.entries(browserAccepts))('%s gets errors as pages', async (_, accept) => {
  const errors: [string, number, string][] = [
    ['/v5/nothing', 404, 'Not found'],
    ['/v5/%3Cscript%3E', 404, 'Not found'],
    ['/v5/docs?%3Cscript%3E=1', 400, 'Invalid parameters'],
    ['/auth', 405, 'Method not allowed'],
    ['/%zz', 400, 'Invalid parameters'],
  ]
  for (const [address, status, message] of errors) {
    const answer = await service.anonymous('GET', address, { headers: { accept, 'sec-fetch-mode': 'navigate' } })
    expect([address, answer.status]).toEqual([address, status])
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('content-security-policy')).toMatch(policy)
    expect(answer.text).toContain(`<h1>${status} ${message}</h1>`)
    expect(answer.text).toContain(`<code>${answer.headers.get('x-request-id')}</code>`)
    expect(answer.text).toContain('<a href="/">')
    expect(answer.text).not.toMatch(/<script/)
  }
})

test('a library that prefers HTML gets JSON from the API, and 401 instead of a redirect', async () => {
  const java = { accept: 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2' }
  const script = { accept: browserAccepts.Chromium, 'sec-fetch-mode': 'cors' }
  for (const headers of [java, script, { accept: browserAccepts.Chromium }]) {
    for (const [address, status] of [
      ['/v5/contacts', 401],
      ['/v5/nothing', 404],
      ['/auth', 405],
      [`/api/teams/tea_${'0'.repeat(32)}/contacts`, 401],
    ] as const) {
      const answer = await service.anonymous('GET', address, { headers })
      expect([headers, address, answer.status]).toEqual([headers, address, status])
      expect(answer.body).toMatchObject({ status })
    }
  }
  const navigated = await service.anonymous('GET', '/v5/contacts', fromBrowser)
  expect([navigated.status, navigated.headers.get('location')]).toEqual([303, '/login?next=%2Fv5%2Fcontacts'])
})

test('programs get errors as JSON, whatever else they accept', async () => {
  for (const [name, headers] of Object.entries(programs)) {
    const answer = await service.anonymous('GET', '/v5/nothing', { headers })
    expect([name, answer.status, answer.headers.get('content-type')]).toEqual([
      name,
      404,
      'application/json; charset=utf-8',
    ])
    expect(answer.body).toMatchObject({ code: 'not_found', status: 404 })
  }
  for (const method of ['POST', 'PATCH', 'DELETE']) {
    const { body } = await service.anonymous(method, '/v5/contacts', fromBrowser)
    expect([method, body.status >= 400]).toEqual([method, true])
  }
})

test('with AUTH_ORIGIN, the links of the start page lead to the right host', async () => {
  const split = await startTestService({
    AUTH_ORIGIN: 'https://auth.example.com',
    PUBLIC_URL: 'https://crm.example.com',
  })
  try {
    await split.newOrganization()
    const ask = async (host: string, accept: string, path = '/') =>
      (await sendRaw(split.url, requestText('GET', path, { headers: { host, accept, 'sec-fetch-mode': 'navigate' } })))
        .body
    const account = 'https://auth.example.com/account'
    expect(JSON.parse(await ask('crm.example.com', '*/*'))).toMatchObject({ account, explorer: '/v5/swagger' })
    const there = {
      account,
      openapi: 'https://crm.example.com/v5/docs',
      explorer: 'https://crm.example.com/v5/swagger',
      guides: 'https://crm.example.com/docs',
    }
    expect(JSON.parse(await ask('auth.example.com', '*/*'))).toMatchObject(there)
    const page = await ask('crm.example.com', browserAccepts.Safari, '/v5')
    expect(page).toContain(`<a href="${account}">Log in</a>`)
  } finally {
    await split.close()
  }
})

test.skipIf(!chromium).each(['light', 'dark'] as const)(
  'in a %s color scheme the start page and the page of an error can be read, also on a phone',
  { timeout: 60_000 },
  async (colorScheme) => {
    const page = await takePage(browser as Browser, { colorScheme, viewport: { width: 360, height: 640 } })
    onTestFinished(() => returnPage(page))
    const troubles: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) troubles.push(message.text())
    })
    for (const address of ['/v5', '/v5/nothing', `/v5/nothing/${'long'.repeat(60)}`]) {
      await page.goto(`${service.url}${address}`)
      await page.locator('h1').waitFor()
      expect(await lowContrast(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
      // The style is applied, so the policy lets it through.
      expect(await page.evaluate('getComputedStyle(document.querySelector("main")).borderRadius')).toBe('12px')
    }
    await page.getByRole('link', { name: 'start page' }).click()
    expect(new URL(page.url()).pathname).toBe('/')
    expect(troubles).toEqual([])
  },
)
