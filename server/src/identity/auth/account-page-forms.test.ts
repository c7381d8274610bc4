import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { chromium, launchChromium } from '../../../test/chromium.ts'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import { callAs, goodPassword, receiveLinkToken, newEmail, newOwner, setUpToken } from '../../../test/people.ts'

let mailed: MailedService
let browser: Browser | undefined
let setUpLinkToken: string
beforeAll(async () => {
  mailed = await startMailedService({ SIGN_UP: 'open' })
  setUpLinkToken = (await setUpToken(mailed.service)) ?? ''
  if (chromium) browser = await launchChromium()
})
afterAll(async () => {
  await browser?.close()
  await mailed.close()
})

const deadToken = `ott_${'a'.repeat(43)}`

/** Opens the page in a new browser context, as a first-time visitor. */
async function open(fragment: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await (browser as Browser).newContext(options)
  onTestFinished(() => context.close())
  const page = await context.newPage()
  await load(page, fragment)
  return page
}

/** Reloads the whole page: a browser does not when only the fragment changes. */
async function load(page: Page, fragment: string): Promise<void> {
  await page.goto('about:blank')
  await page.goto(`${mailed.service.url}/account${fragment}`)
}

const heading = (page: Page, text: string) => page.locator('#heading', { hasText: text }).waitFor()
const nextLinks = (page: Page) => page.locator('#next a').allTextContents()

const fill = async (page: Page, values: Record<string, string>) => {
  for (const [name, value] of Object.entries(values)) await page.fill(`#${name}`, value)
  await page.click('#send')
}

test.skipIf(!chromium)(
  'the setup form marks all invalid fields at once, and a weak password before submission',
  async () => {
    const page = await open(`#set-up=${setUpLinkToken}`)
    await page.fill('#organization', 'Ada & Co')
    await page.fill('#password', 'password1234')
    await page.press('#password', 'Tab')
    await page.locator('#password-fault', { hasText: 'most common' }).waitFor()
    expect(await page.getAttribute('#password', 'aria-invalid')).toBe('true')
    expect(await page.getAttribute('#password', 'aria-describedby')).toBe('password-hint password-fault')
    // Typing removes the error.
    await page.fill('#password', 'password12345')
    expect(await page.textContent('#password-fault')).toBe('')
    await fill(page, { email: 'ada', organization: '&&&' })
    await page.locator('#message', { hasText: 'Check the 4 marked fields.' }).waitFor()
    for (const [name, text] of [
      ['email', 'Expected an email address'],
      ['name', 'is required'],
      ['organization', 'Expected at least one letter'],
      ['password', 'most common'],
    ]) {
      expect(await page.textContent(`#${name}-fault`)).toContain(text)
    }
    expect(await page.evaluate('document.activeElement.id')).toBe('email')
  },
)

test.skipIf(!chromium)('opening an invalid link shows an error and what to do instead', async () => {
  const page = await open('')
  for (const [purpose, text, next] of [
    ['set-up', 'Restart Rapport', ['Log in']],
    ['sign-up', 'Request a new link', ['Log in']],
    ['invitation', 'Ask the person who invited you', ['Log in']],
    ['verify-address', 'log in and request a new link', ['Log in']],
    ['reset-password', 'Request a new link', ['Forgot your password?', 'Log in']],
  ] as const) {
    await load(page, `#${purpose}=${deadToken}`)
    await heading(page, 'This link no longer works')
    expect(await page.textContent('#lead')).toContain(text)
    expect(await page.title()).toBe('This link no longer works · Rapport')
    expect(await page.locator('input').count()).toBe(0)
    expect(await nextLinks(page)).toEqual(next)
  }
})

test.skipIf(!chromium)('a password can be shown and hidden with the keyboard', async () => {
  const page = await open('#log-in')
  await page.fill('#password', goodPassword)
  await page.press('#password', 'Tab')
  const showButton = page.getByRole('button', { name: 'Show the password' })
  expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Show the password')
  expect(await showButton.isVisible()).toBe(true)
  await page.keyboard.press('Enter')
  expect(await page.getAttribute('#password', 'type')).toBe('text')
  await page.getByRole('button', { name: 'Hide the password' }).press('Space')
  expect(await page.getAttribute('#password', 'type')).toBe('password')
  expect(await page.inputValue('#password')).toBe(goodPassword)
})

test.skipIf(!chromium)('setup leads to a working API key, and each view has a title', async () => {
  const page = await open(`#set-up=${setUpLinkToken}`)
  await page.waitForSelector('#send')
  expect(await page.title()).toBe('Set up Rapport · Rapport')
  await fill(page, { email: newEmail(), name: 'Ada', organization: 'Ada & Co', password: goodPassword })
  await heading(page, 'Done')
  expect(await page.title()).toBe('Done · Rapport')
  expect(await page.evaluate('document.activeElement.id')).toBe('heading')
  expect(await nextLinks(page)).toEqual(['Create an API key', 'Explore the API'])
  expect(await page.getByText('Explore the API').getAttribute('href')).toBe('/v5/swagger')
  await page.getByText('Create an API key').click()
  await heading(page, 'Create an API key')
  await fill(page, { name: 'Website' })
  await page.locator('#shown').waitFor()
  const key = (await page.textContent('#shown')) ?? ''
  const [organizationId = ''] = /org_[\da-f]{32}$/.exec((await page.textContent('#note')) ?? '') ?? []
  const call = callAs(mailed.service, key, { 'service-organization-id': organizationId })
  expect((await call('POST', '/v5/contacts', { body: { name: 'Grace' } })).status).toBe(201)
  expect((await call('GET', '/v5/contacts')).body).toHaveLength(1)
  // The key is shown only once.
  await page.goto(`${mailed.service.url}/account#log-in`)
  await heading(page, 'Log in')
  expect(await page.content()).not.toContain(key)
})

test.skipIf(!chromium)('a person resets a forgotten password by mail, logs in and logs out', async () => {
  const { email } = await newOwner(mailed.service)
  const page = await open('')
  await heading(page, 'Log in')
  await page.getByText('Forgot your password?').click()
  await heading(page, 'Set a new password')
  await fill(page, { email })
  await heading(page, 'Done')
  expect(await nextLinks(page)).toEqual(['Log in'])
  const token = await receiveLinkToken(mailed.receiver, email, 'reset-password')
  await page.goto(`${mailed.service.url}/account#reset-password=${token}`)
  await page.waitForSelector('#password')
  await fill(page, { password: 'another quiet harbour' })
  await page.locator('#lead', { hasText: 'Your new password is set.' }).waitFor()
  await page.getByRole('link', { name: 'Log in' }).click()
  await page.waitForSelector('#email')
  await fill(page, { email, password: 'not the right password' })
  await page.locator('#message.bad').waitFor()
  await fill(page, { password: 'another quiet harbour' })
  await page.locator('#lead', { hasText: 'You are logged in.' }).waitFor()
  await page.getByText('Log out').click()
  await page.waitForSelector('#send')
  await page.click('#send')
  await page.locator('#lead', { hasText: 'You are logged out.' }).waitFor()
  await page.reload()
  await heading(page, 'Log in')
})

test.skipIf(!chromium)('a person logged in with another address can create an account from an invitation', async () => {
  const [owner, other] = [await newOwner(mailed.service), await newOwner(mailed.service)]
  const page = await open('#log-in')
  await page.waitForSelector('#email')
  await fill(page, { email: other.email, password: other.password })
  await heading(page, 'Done')
  const { token } = await mailed.invite(owner.call)
  await page.goto(`${mailed.service.url}/account#invitation=${token}`)
  await heading(page, 'Join another team')
  await page.click('#send')
  await page.locator('#message', { hasText: 'You are logged in with a different address' }).waitFor()
  await fill(page, { name: 'Grace', password: goodPassword })
  await page.locator('#lead', { hasText: 'Welcome' }).waitFor()
})

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The lowest contrast between a border and its surroundings, as defined by WCAG 2.2. */
const borderContrast = `(() => {
  const channel = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4)
  const luminance = (color) => {
    const [red, green, blue] = color.match(/[\\d.]+/g).map(Number).map(channel)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const around = luminance(getComputedStyle(document.querySelector('main')).backgroundColor)
  return Math.min(...[...document.querySelectorAll('input, .reveal')].map((one) => {
    const edge = luminance(getComputedStyle(one).borderTopColor)
    return (Math.max(edge, around) + 0.05) / (Math.min(edge, around) + 0.05)
  }))
})()`

test.skipIf(!chromium).each(['light', 'dark'] as const)(
  'in the %s theme, borders have a contrast of 3:1 and axe finds no violation on any view at phone width',
  async (colorScheme) => {
    const owner = await newOwner(mailed.service)
    const { token } = await mailed.invite(owner.call)
    const page = await open('', { colorScheme, viewport: { width: 360, height: 800 } })
    for (const fragment of ['#log-in', '#forgot-password', `#invitation=${token}`, `#sign-up=${deadToken}`]) {
      await load(page, fragment)
      await page.waitForSelector(fragment.includes(deadToken) ? '#next a' : '#send')
      if (await page.locator('#send').isVisible()) {
        expect(await page.evaluate<number>(borderContrast)).toBeGreaterThanOrEqual(3)
        await page.click('#send')
        await page.waitForSelector('[aria-invalid]')
        expect(await page.evaluate<number>(borderContrast)).toBeGreaterThanOrEqual(3)
      }
      await page.evaluate(axe)
      const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
        'axe.run()',
      )
      expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    }
  },
)
