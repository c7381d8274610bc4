import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { returnPage, takePage } from '../../server/test/page-pool.ts'
import type { TestPerson } from '../../server/test/people.ts'
import { violations } from './accessibility.ts'

/** For a context: nothing moves, and a page draws little more than what tests look at. */
export const calm = { viewport: { width: 1440, height: 600 }, reducedMotion: 'reduce' } as const

/** The cookie of a logged-in person. Its refresh token can be used once. */
export const sessionCookie = (url: string, { refreshToken }: Pick<TestPerson, 'refreshToken'>) =>
  ({ name: 'rapport', value: refreshToken, url, httpOnly: true, sameSite: 'Strict' }) as const

/** A page of the application in its own browser context, with the errors that its scripts logged. */
export interface Visit {
  page: Page
  errors: string[]
}

/** Opens a page as a first-time visitor, as a person with a session, or in the browser of `existing`. */
export async function visit(
  browser: Browser | undefined,
  url: string,
  { existing, person, ...options }: BrowserContextOptions & { existing?: Page; person?: TestPerson } = {},
): Promise<Visit> {
  if (!browser) throw new Error('The test needs a browser.')
  const page = existing ? await existing.context().newPage() : await takePage(browser, { ...calm, ...options })
  if (!existing) onTestFinished(() => returnPage(page))
  if (person) await page.context().addCookies([sessionCookie(url, person)])
  const errors: string[] = []
  page.on('pageerror', ({ message }) => errors.push(message))
  page.on('console', (message) => {
    // The browser also logs 4xx responses, which the page shows to the person.
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) errors.push(message.text())
  })
  await page.goto(url)
  return { page, errors }
}

/** Fills in inputs by name and submits the form. */
export async function send(page: Page, button: string, values: Record<string, string> = {}): Promise<void> {
  for (const [name, value] of Object.entries(values)) await page.fill(`[name=${name}]`, value)
  await page.getByRole('button', { name: button, exact: true }).click()
}

export const heading = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { name, level: 1, exact: true }).waitFor()

/** Expects that the person is logged in and sees the application. */
export async function isInside(page: Page, path = '/'): Promise<void> {
  await page.waitForURL((url) => url.pathname === path)
  await page.getByRole('navigation', { name: 'Main navigation' }).first().waitFor()
}

/** The name of the focused input, otherwise of its element. */
export const focused = (page: Page): Promise<string> =>
  page.evaluate<string>('document.activeElement.name || document.activeElement.tagName')

/** The error next to an input. */
export async function errorOf(page: Page, name: string): Promise<string> {
  const input = page.locator(`[name=${name}]`)
  await expect.poll(() => input.getAttribute('aria-invalid')).toBe('true')
  const ids = (await input.getAttribute('aria-describedby'))?.split(' ') ?? []
  return (await page.locator(`[id="${ids.at(-1)}"]`).textContent()) ?? ''
}

/**
 * Opens a page and waits until it has loaded everything. The stream of events, which stays open, is left out.
 */
export async function openQuietly(page: Page, path: string): Promise<void> {
  await page.route(/\/v5\/events\/stream\?/, (route) => route.fulfill({ status: 204 }))
  await page.goto(path)
  await page.locator('h1').first().waitFor()
  await page.waitForLoadState('networkidle')
}

/** Expects that axe finds nothing on the page in its current state. */
export const expectAccessible = async (page: Page): Promise<void> => expect(await violations(page)).toEqual([])
