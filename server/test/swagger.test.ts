import { type Browser, chromium as browsers, type Locator, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chromium } from './chromium.ts'
import { startTestService, type TestOrganization, type TestService } from './service.ts'

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

let service: TestService
let organization: TestOrganization
let browser: Browser | undefined

beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  if (chromium) browser = await browsers.launch({ executablePath: chromium, args: flags })
})

afterAll(async () => {
  await browser?.close()
  await service.close()
})

test('the explorer is a page with a strict policy, and its files have their media types and tags', async () => {
  const page = await service.anonymous('GET', '/v5/swagger', { headers: { accept: 'text/html' } })
  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'; script-src 'self';/)
  expect(page.text).not.toMatch(/<script(?![^>]*src=)|https?:\/\//)
  const files = [...page.text.matchAll(/(?:src|href)="(swagger\/[^"]+)"/g)].map(([, file]) => `/v5/${file}`)
  const types: Record<string, string> = { css: 'text/css', js: 'text/javascript' }
  expect(files).toHaveLength(3)
  for (const file of files) {
    const answer = await service.anonymous('GET', file)
    expect(answer.headers.get('content-type')).toBe(`${types[file.split('.').pop() ?? '']}; charset=utf-8`)
    expect(answer.text.length).toBeGreaterThan(100)
    const tag = answer.headers.get('etag') ?? ''
    const again = await service.anonymous('GET', file, { headers: { 'if-none-match': tag } })
    expect([again.status, again.text]).toEqual([304, ''])
  }
  const absent = await service.anonymous('GET', '/v5/swagger/package.json')
  expect(absent.status).toBe(404)
})

test.skipIf(!chromium)(
  '"Try it out" lists companies and creates a contact in a browser',
  { timeout: 120_000 },
  async () => {
    for (const name of ['Engines', 'Looms']) await organization.call('POST', '/v5/companies', { body: { name } })
    const page = await (browser as Browser).newPage()
    const troubles: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') troubles.push(message.text())
    })
    page.on('pageerror', (error) => troubles.push(String(error)))
    page.on('request', (request) => {
      if (!request.url().startsWith(`${service.url}/`) && !/^(?:data|blob):/.test(request.url()))
        troubles.push(request.url())
    })
    await page.goto(`${service.url}/v5/swagger`)
    await authorize(page)

    // Of the two lists with `openFilters` the one with fewer parameters: each takes the browser its time.
    const list = await tryOut(page, 'companies', 'listCompanies')
    await list.locator('tr[data-param-name="filter.name.startsWith"] input').fill('en')
    await list
      .locator('tr[data-param-name="openFilters"] textarea')
      .fill('{"filter.customProperties.plan.equals":"null"}')
    const listed = await execute(list)
    expect(listed.status).toBe('200')
    expect(listed.body).toContain('Engines')
    expect(listed.body).not.toContain('Looms')

    const create = await tryOut(page, 'contacts', 'createContact')
    const created = await execute(create)
    expect(created.status).toBe('201')
    expect(created.body).toContain('"ada@example.com"')

    expect(troubles).toEqual([])
    await page.close()
  },
)

async function authorize(page: Page): Promise<void> {
  await page.locator('.scheme-container button.authorize').click()
  const dialog = page.locator('.modal-ux')
  for (const [input, value] of [
    ['#auth-bearer-value', organization.apiKey],
    ['#api_key_value', organization.organizationId],
  ] as const) {
    const form = dialog.locator('form', { has: page.locator(input) })
    await form.locator('input').fill(value)
    await form.getByRole('button', { name: 'Apply credentials' }).click()
  }
  await dialog.locator('button.btn-done').first().click()
}

async function tryOut(page: Page, tag: string, operation: string): Promise<Locator> {
  // The headings are closed, so that the page shows them all.
  await page.locator(`#operations-tag-${tag}`).click()
  const block = page.locator(`#operations-${tag}-${operation}`)
  await block.locator('.opblock-summary-control').click()
  await block.locator('.try-out__btn').click()
  return block
}

async function execute(block: Locator): Promise<{ status: string; body: string }> {
  await block.locator('button.execute').click()
  const row = block.locator('.live-responses-table tr.response')
  await row.waitFor()
  return {
    status: (await row.locator('.response-col_status').innerText()).trim(),
    body: await row.locator('.response-col_description').innerText(),
  }
}
