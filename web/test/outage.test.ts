import type { Browser, BrowserContext, Page } from 'playwright-core'
import { createServer, type Server } from 'node:http'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../lab/shared/free-port.ts'
import { chromium, sharedChromium } from '../../server/test/chromium.ts'
import { newOwner, type TestOwner } from '../../server/test/people.ts'
import { createDatabase } from '../../server/test/postgres.ts'
import { startTestService, type TestService } from '../../server/test/service.ts'
import { calm, expectAccessible, heading, isInside } from './visit.ts'

const browserTest = test.skipIf(!chromium)

/** The service, which the tests stop and restart at the same address. */
let service: TestService
let browser: Browser | undefined
let database: Awaited<ReturnType<typeof createDatabase>>
let owner: TestOwner
let port = ''
const start = async () =>
  startTestService({ PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}` }, { ...database, drop: async () => undefined })
beforeAll(async () => {
  if (!chromium) return
  database = await createDatabase()
  port = String(await freePort())
  service = await start()
  browser = await sharedChromium()
  owner = await newOwner(service)
})
afterAll(async () => {
  await service.close()
  await database.drop()
})

async function openPage(path: string): Promise<{ page: Page; context: BrowserContext }> {
  if (!browser) throw new Error('The test needs a browser.')
  const context = await browser.newContext({ baseURL: service.url, ...calm })
  onTestFinished(() => context.close())
  context.setDefaultTimeout(20_000)
  const { email, password } = owner
  const page = await context.newPage()
  await page.goto(`/login?next=${encodeURIComponent(path)}`)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await isInside(page, path)
  return { page, context }
}

const newContact = async (name: string): Promise<string> => {
  const { body, status, text } = await owner.organization.call('POST', '/v5/contacts', { body: { name } })
  expect(status, text).toBe(201)
  return body.id
}

const banner = (page: Page, text: RegExp) => page.getByRole('main').getByRole('status').getByText(text)
const unreachable = /^Rapport cannot be reached/
const busy = /^Rapport is starting or overloaded/
const offline = /^You are offline/
const place = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Main navigation' }).first().getByRole('link', { name, exact: true })

/** Responds with 503 at the service's address, as while it starts. */
function busyServer(retryAfter: string): Promise<Server & { requests: number[] }> {
  const requests: number[] = []
  const server = createServer((_request, response) => {
    requests.push(Date.now())
    response.writeHead(503, { 'retry-after': retryAfter, 'content-type': 'application/json', connection: 'close' })
    response.end(JSON.stringify({ code: 'overloaded', status: 503, message: 'Overloaded', description: 'Try again.' }))
  })
  return new Promise((resolve) =>
    server.listen(Number(port), '127.0.0.1', () => resolve(Object.assign(server, { requests }))),
  )
}
const stop = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()))

browserTest('after a restart, the page continues without a click, and loaded data stayed readable', async () => {
  const id = await newContact('Stays readable')
  const { page } = await openPage(`/contacts/${id}`)
  await page.getByLabel('New note').fill('Typed during the restart')
  await service.close()
  await banner(page, unreachable).waitFor()
  expect(await page.getByRole('heading', { name: 'Stays readable', level: 2 }).isVisible()).toBe(true)
  await expectAccessible(page)
  // A page that is not loaded yet shows this inside the frame.
  await place(page, 'Suggestions').click()
  await heading(page, 'Not loaded yet')
  await page.goBack()
  await page.getByRole('heading', { name: 'Stays readable', level: 2 }).waitFor()
  await page.getByRole('button', { name: 'Add note' }).click()
  service = await start()
  await banner(page, unreachable).waitFor({ state: 'detached' })
  await page.getByText('Note added').first().waitFor()
  const { body: notes } = await owner.organization.call('GET', `/v5/contacts/${id}/notes`)
  expect(notes.map(({ body }: { body: string }) => body)).toEqual(['Typed during the restart'])
})

browserTest('after a restart, the page has what others changed meanwhile', async () => {
  const id = await newContact('Changed during the restart')
  const change = async (values: object) => {
    const { status, text } = await owner.organization.call('PATCH', `/v5/contacts/${id}`, { body: values })
    expect(status, text).toBe(200)
  }
  const { page } = await openPage(`/contacts/${id}`)
  await page.getByLabel('New note').waitFor()
  await change({ city: 'Rome' })
  await service.close()
  await banner(page, unreachable).waitFor()
  service = await start()
  await change({ employmentTitle: 'Founder' })
  for (const text of ['set City to Rome', 'set Job title to Founder']) await page.getByText(text).waitFor()
  await page.getByText('Founder', { exact: true }).first().waitFor()
})

browserTest('a page opened while the service is overloaded appears automatically, after Retry-After', async () => {
  const id = await newContact('Seen later')
  const { page } = await openPage('/')
  await service.close()
  const server = await busyServer('2')
  await place(page, 'Contacts').click()
  await banner(page, busy).waitFor()
  await expect.poll(() => server.requests.length).toBeGreaterThan(1)
  await stop(server)
  service = await start()
  await page.getByRole('gridcell', { name: 'Seen later', exact: true }).waitFor()
  await banner(page, busy).waitFor({ state: 'detached' })
  expect(await page.getByText('Overloaded').count()).toBe(0)
  expect(id).toMatch(/^con_/)
})

browserTest(
  'offline, pages show what is cached or say that they wait, and recover; a change is sent once',
  async () => {
    const id = await newContact('Seen offline')
    const { page, context } = await openPage(`/contacts/${id}`)
    await page.getByLabel('New note').waitFor()
    await place(page, 'Contacts').click()
    await page.getByRole('gridcell', { name: 'Seen offline', exact: true }).waitFor()
    await context.setOffline(true)
    await banner(page, offline).waitFor()
    await page.getByRole('link', { name: 'Seen offline', exact: true }).click()
    await page.getByRole('heading', { name: 'Seen offline', level: 2 }).waitFor()
    await page.getByRole('button', { name: 'Edit Job title' }).focus()
    await page.keyboard.press('Enter')
    await page.keyboard.type('Typed offline')
    await page.keyboard.press('Enter')
    // Its code was not loaded yet.
    await place(page, 'Imports').click()
    await heading(page, 'Not loaded yet')
    await expectAccessible(page)
    await context.setOffline(false)
    await heading(page, 'Imports')
    await banner(page, offline).waitFor({ state: 'detached' })
    await expect
      .poll(async () => (await owner.organization.call('GET', `/v5/contacts/${id}`)).body.employmentTitle)
      .toBe('Typed offline')
  },
)

browserTest('after an upgrade has replaced the files, the next page is that of the new version', async () => {
  const { page } = await openPage('/')
  const isReplaced = /\/assets\/imports-[\w-]+\.js$/
  let misses = 0
  // As after an upgrade: the old version's file is gone, and the page refers to another one.
  await page.route(isReplaced, (route) => {
    misses++
    return route.fulfill({ status: 404, body: '' })
  })
  await page.route(
    (url) => url.pathname === '/login',
    async (route) => {
      const response = await route.fetch()
      const text = (await response.text()).replaceAll('/assets/index-', '/assets/index-of-the-next-version-')
      await route.fulfill({ response, body: text })
    },
  )
  await page.evaluate(`window.isOld = true`)
  const isNew = page.waitForEvent('load')
  await place(page, 'Imports').click()
  await isNew
  await page.unroute(isReplaced)
  expect(misses).toBeGreaterThan(0)
  expect(new URL(page.url()).pathname).toBe('/imports')
  expect(await page.evaluate('window.isOld')).toBeUndefined()
})
