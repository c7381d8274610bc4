import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chromium, sharedChromium } from './chromium.ts'
import { closeIdlePages, excludeFromPool, returnPage, takePage } from './page-pool.ts'

const browserTest = test.skipIf(!chromium)

const server = createServer((request, response) => {
  response.setHeader('content-type', request.url === '/favicon.svg' ? 'image/svg+xml' : 'text/html')
  response.end(request.url === '/favicon.svg' ? '<svg xmlns="http://www.w3.org/2000/svg"/>' : '<title>Page</title>')
})
let baseURL = ''
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  await closeIdlePages(baseURL)
  server.closeAllConnections()
  server.close()
})

async function open(): Promise<Page> {
  const page = await takePage(await sharedChromium(), { baseURL, viewport: { width: 800, height: 600 } })
  await page.goto('/')
  return page
}

browserTest('a page is used again, without what the test before left in it', async () => {
  const page = await open()
  let requests = 0
  page.on('request', () => requests++)
  await page.route('**/*', (route) => route.fulfill({ contentType: 'text/html', body: '<title>Replaced</title>' }))
  await page.setViewportSize({ width: 320, height: 600 })
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.goto('/replaced')
  await page.evaluate(`localStorage.a = sessionStorage.a = document.cookie = 'a=b'; indexedDB.open('a')`)
  await page.context().newPage()
  await returnPage(page)
  const before = requests

  expect(await open()).toBe(page)
  expect(page.context().pages()).toEqual([page])
  expect(requests).toBe(before)
  expect(await page.title()).toBe('Page')
  const left = `[localStorage.length, sessionStorage.length, document.cookie, innerWidth, history.length,
    matchMedia('(prefers-color-scheme: dark)').matches]`
  expect(await page.evaluate(left)).toEqual([0, 0, '', 800, 2, false])
  expect(await page.evaluate('indexedDB.databases()')).toEqual([])
  await returnPage(page)
})

const lasting: [string, (page: Page) => unknown][] = [
  ['a simulated clock', (page) => page.clock.setFixedTime(0)],
  ['an interrupted network', (page) => page.context().setOffline(true)],
  ['its own exclusion', (page) => excludeFromPool(page)],
]
test.skipIf(!chromium).each(lasting)('a page with %s is not used again', async (_, change) => {
  const page = await open()
  await change(page)
  await returnPage(page)
  expect(page.isClosed()).toBe(true)
  const other = await open()
  expect(other).not.toBe(page)
  await returnPage(other)
})
