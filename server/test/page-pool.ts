import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

/**
 * Pages that tests have finished with, by the options of their contexts. Another load in the same process takes half
 * the processor time of the first one: the code is compiled, and the files are in the cache.
 */
const idle: { key: string; page: Page }[] = []
const keys = new WeakMap<Page, string>()
const maxIdle = 4
const excluded = new WeakSet<Page>()

/** Closes the page at the end of its test, because what the test did to it cannot be undone. */
export const excludeFromPool = (page: Page): void => void excluded.add(page)

/** A page in a context with these options, without anything from earlier tests. */
export async function takePage(browser: Browser, options: BrowserContextOptions): Promise<Page> {
  const key = JSON.stringify(options)
  const place = idle.findIndex((one) => one.key === key && one.page.context().browser() === browser)
  const [found] = place < 0 ? [] : idle.splice(place, 1)
  const page = found?.page ?? (await (await browser.newContext(options)).newPage())
  keys.set(page, key)
  return page
}

/** Removes what a test left in the page and its context, and keeps the page for the next test with the same options. */
export async function returnPage(page: Page): Promise<void> {
  const context = page.context()
  const key = keys.get(page)
  if (key === undefined || page.isClosed() || excluded.has(page) || !(await reset(page, JSON.parse(key))))
    return context.close()
  idle.push({ key, page })
  if (idle.length > maxIdle) await idle.shift()?.page.context().close()
}

/** Closes the idle pages of a service that ends. */
export async function closeIdlePages(baseURL: string): Promise<void> {
  const ending = idle.filter(({ key }) => (JSON.parse(key) as BrowserContextOptions).baseURL === baseURL)
  for (const one of ending) idle.splice(idle.indexOf(one), 1)
  await Promise.all(ending.map(({ page }) => page.context().close()))
}

/** Whether the page is like a new one; a simulated clock or an interrupted network would remain. */
async function reset(page: Page, { viewport, colorScheme, reducedMotion }: BrowserContextOptions): Promise<boolean> {
  const context = page.context()
  context.removeAllListeners('page')
  for (const event of ['console', 'dialog', 'pageerror', 'popup', 'request', 'response', 'requestfailed'] as const)
    page.removeAllListeners(event)
  await Promise.all(context.pages().map((other) => other !== page && other.close()))
  // What a test still intercepts may end after its page has left; the next test must not fail for it.
  const behavior = 'ignoreErrors'
  await Promise.all([page.unrouteAll({ behavior }), context.unrouteAll({ behavior })])
  const { origin } = new URL(page.url())
  if (!origin.startsWith('http')) return false
  await context.clearCookies()
  // A small document of the same origin, so that the process stays and storage can be cleared after the page has ended.
  const isReachable = await page.goto(`${origin}/favicon.svg`).catch(() => null)
  if (!isReachable?.ok()) return false
  const isReal = await page.evaluate<boolean>(`(localStorage.clear(), sessionStorage.clear(),
    navigator.onLine && Date.now.toString().includes('[native code]'))`)
  if (!isReal) return false
  const devtools = await context.newCDPSession(page)
  await devtools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
  await devtools.send('Page.resetNavigationHistory')
  await devtools.detach()
  await page.emulateMedia({
    media: null,
    forcedColors: null,
    contrast: null,
    colorScheme: colorScheme ?? null,
    reducedMotion: reducedMotion ?? null,
  })
  if (viewport) await page.setViewportSize(viewport)
  await page.mouse.move(0, 0)
  return true
}
