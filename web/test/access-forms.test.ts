import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chromium, sharedChromium } from '../../server/test/chromium.ts'
import { type MailedService, startMailedService } from '../../server/test/mailed-service.ts'
import { goodPassword, newOwner, receiveLinkToken, setUpToken } from '../../server/test/people.ts'
import { violationsInBothThemes } from './accessibility.ts'
import { useTheme } from './screens.ts'
import { errorOf, focused, heading, isInside, send, visit } from './visit.ts'

let mailed: MailedService
let browser: Browser | undefined
let setUpLinkToken: string
beforeAll(async () => {
  mailed = await startMailedService({ SIGN_UP: 'open' })
  setUpLinkToken = (await setUpToken(mailed.service)) ?? ''
  if (chromium) browser = await sharedChromium()
})
afterAll(async () => {
  await mailed.close()
})

const open = async (path: string, options: BrowserContextOptions = {}): Promise<Page> =>
  (await visit(browser, `${mailed.service.url}${path}`, options)).page

test.skipIf(!chromium)(
  'the setup form marks all invalid fields at once, and a weak password before submission',
  async () => {
    const page = await open(`/account#set-up=${setUpLinkToken}`)
    await page.fill('[name=organization]', '&&&')
    await page.fill('[name=password]', 'password1234')
    await page.press('[name=password]', 'Tab')
    await page.getByText('most common').waitFor()
    expect(await errorOf(page, 'password')).toContain('most common')
    // Typing removes the error.
    await page.fill('[name=password]', 'password12345')
    expect(await page.getAttribute('[name=password]', 'aria-invalid')).toBeNull()
    await send(page, 'Set up', { email: 'ada' })
    await page.getByText('at least one letter').waitFor()
    for (const [name = '', text] of [
      ['email', 'xpected an email address'],
      ['name', 's required'],
      ['organization', 'xpected at least one letter'],
      ['password', 'most common'],
    ]) {
      expect(await errorOf(page, name)).toContain(text)
    }
    expect(await page.getByRole('alert').count()).toBe(0)
    await expect.poll(() => focused(page)).toBe('email')
  },
)

test.skipIf(!chromium)('a password can be shown and hidden with the keyboard, and pasted', async () => {
  const page = await open('/login')
  await page.fill('[name=password]', goodPassword)
  await page.press('[name=password]', 'Tab')
  expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Show the password')
  await page.keyboard.press('Enter')
  expect(await page.getAttribute('[name=password]', 'type')).toBe('text')
  await page.getByRole('button', { name: 'Hide the password' }).press('Space')
  expect(await page.getAttribute('[name=password]', 'type')).toBe('password')
  expect(await page.inputValue('[name=password]')).toBe(goodPassword)
  const isPasteAllowed = `document.querySelector('[name=password]').dispatchEvent(
    new ClipboardEvent('paste', { bubbles: true, cancelable: true }))`
  expect(await page.evaluate(isPasteAllowed)).toBe(true)
})

test.skipIf(!chromium)('a person resets a forgotten password by mail, logs in and logs out', async () => {
  const { email } = await newOwner(mailed.service)
  const page = await open('/account')
  await heading(page, 'Log in to Rapport')
  await page.getByRole('link', { name: 'Forgot your password?' }).click()
  await heading(page, 'Set a new password')
  await expect.poll(() => focused(page)).toBe('email')
  await send(page, 'Send the link', { email })
  await heading(page, 'Check your mail')
  const token = await receiveLinkToken(mailed.receiver, email, 'reset-password')
  await page.goto(`${mailed.service.url}/account#reset-password=${token}`)
  await send(page, 'Set the password', { password: 'another quiet harbour' })
  await heading(page, 'Your new password is set')
  await page.getByRole('link', { name: 'Log in' }).click()
  await send(page, 'Log in', { email, password: 'not the right password' })
  await page.getByRole('alert').getByText('is wrong').waitFor()
  await page.evaluate(`localStorage.setItem('rapport.theme', 'dark')`)
  await send(page, 'Log in', { password: 'another quiet harbour' })
  await isInside(page)
  // A link from elsewhere must not log the person out; the menu does.
  await page.goto(`${mailed.service.url}/account#log-out`)
  await heading(page, 'Log out')
  await page.goto(`${mailed.service.url}/profile`)
  const name = await page.getByLabel('Your name').inputValue()
  await page.getByRole('button', { name, exact: true }).click()
  await page.getByRole('menuitem', { name: 'Log out' }).click()
  await heading(page, 'You are logged out')
  expect(await page.evaluate(`localStorage.getItem('rapport.theme')`)).toBe('dark')
  await page.goto(`${mailed.service.url}/contacts?limit=3`)
  await page.waitForURL(`${mailed.service.url}/login?next=%2Fcontacts%3Flimit%3D3`)
})

test.skipIf(!chromium)('a log-in continues at the page that demanded it, and never at another site', async () => {
  const { email, password } = await newOwner(mailed.service)
  const page = await open('/login')
  for (const [next, path] of [
    ['//evil.example/', '/'],
    ['/\\evil.example/', '/'],
    ['https://evil.example/', '/'],
    ['javascript:alert(1)', '/'],
    ['/v5/contacts', '/'],
    ['/profile', '/profile'],
  ] as const) {
    await page.context().clearCookies()
    await page.goto(`${mailed.service.url}/login?next=${encodeURIComponent(next)}`)
    await send(page, 'Log in', { email, password })
    await isInside(page, path)
    expect(new URL(page.url()).origin).toBe(mailed.service.url)
  }
  // A person who is logged in is redirected at once.
  await page.goto(`${mailed.service.url}/login?next=%2Fimports`)
  await isInside(page, '/imports')
})

test.skipIf(!chromium)('two tabs renew the session one after the other, and both stay logged in', async () => {
  const { email, password } = await newOwner(mailed.service)
  const page = await open('/login')
  await send(page, 'Log in', { email, password })
  await isInside(page)
  let running = 0
  let mostAtOnce = 0
  await page.context().route('**/auth/refresh', async (route) => {
    mostAtOnce = Math.max(mostAtOnce, ++running)
    const response = await route.fetch()
    running--
    await route.fulfill({ response })
  })
  const tabs = await Promise.all(Array.from({ length: 3 }, () => page.context().newPage()))
  await Promise.all(tabs.map((tab) => tab.goto(`${mailed.service.url}/profile`)))
  for (const tab of tabs) await isInside(tab, '/profile')
  expect(mostAtOnce).toBe(1)
})

/** The lowest contrast between the border of an input and its surroundings, as defined by WCAG 2.2. */
const borderContrast = `(() => {
  const channel = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4)
  const luminance = (color) => {
    const [red, green, blue] = color.match(/[\\d.]+/g).map(Number).map(channel)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const around = luminance(getComputedStyle(document.querySelector('main > div')).backgroundColor)
  return Math.min(...[...document.querySelectorAll('input:not(:focus)')].map((one) => {
    const edge = luminance(getComputedStyle(one).borderTopColor)
    return (Math.max(edge, around) + 0.05) / (Math.min(edge, around) + 0.05)
  }))
})()`

/** Of both themes. */
async function expectVisibleBorders(page: Page): Promise<void> {
  for (const theme of ['light', 'dark'] as const) {
    await useTheme(page, theme)
    expect(await page.evaluate<number>(borderContrast), theme).toBeGreaterThanOrEqual(3)
  }
}

test.skipIf(!chromium)(
  'in both themes, borders have a contrast of 3:1 and axe finds no violation on any log-in page at phone width',
  async () => {
    const owner = await newOwner(mailed.service)
    const { token } = await mailed.invite(owner.call)
    const deadLink = `/account#sign-up=ott_${'a'.repeat(43)}`
    const page = await open('/login', { viewport: { width: 360, height: 800 } })
    for (const path of [
      '/login',
      '/forgot-password',
      '/sign-up',
      '/single-sign-on',
      '/logout',
      `/account#invitation=${token}`,
      '/account#second-factor=pnd_x',
      deadLink,
    ]) {
      await page.goto('about:blank')
      await page.goto(`${mailed.service.url}${path}`)
      await page
        .locator(path === deadLink || path === '/logout' ? 'main a' : '[type=submit]')
        .first()
        .waitFor()
      if (await page.locator('[type=submit]').isVisible()) {
        await expectVisibleBorders(page)
        await page.locator('[type=submit]').click()
        await page.locator('[aria-invalid], [role=alert]').first().waitFor()
        await expectVisibleBorders(page)
      }
      expect(await violationsInBothThemes(page), path).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    }
  },
)
