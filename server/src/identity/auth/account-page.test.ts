import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { chromium, launchChromium } from '../../../test/chromium.ts'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import type { MailReceiver } from '../../../test/mail-receiver.ts'
import { goodPassword, receiveLinkToken, loggedIn, newEmail, newOwner, setUpToken } from '../../../test/people.ts'
import type { TestService } from '../../../test/service.ts'

let mailed: MailedService
let receiver: MailReceiver
let service: TestService
let browser: Browser | undefined
const owner = newEmail()

beforeAll(async () => {
  mailed = await startMailedService({ SIGN_UP: 'open' })
  ;({ receiver, service } = mailed)
  if (chromium) browser = await launchChromium()
})
afterAll(async () => {
  await browser?.close()
  await mailed.close()
})

/** Opens the page of a link, in a new browser context or that of `existingPage`, and collects its script errors. */
async function open(purpose: string, token: string, existingPage?: Page): Promise<{ page: Page; errors: string[] }> {
  const context = existingPage?.context() ?? (await (browser as Browser).newContext())
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const errors: string[] = []
  page.on('pageerror', ({ message }) => errors.push(message))
  page.on('console', (message) => {
    // The browser also logs 4xx responses, which the page shows to the person.
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) errors.push(message.text())
  })
  await page.goto(`${service.url}/account#${purpose}=${token}`)
  return { page, errors }
}

const fill = async (page: Page, values: Record<string, string>) => {
  for (const [name, value] of Object.entries(values)) await page.fill(`#${name}`, value)
  await page.click('#send')
}

const nextLinks = (page: Page) => page.locator('#next a').allTextContents()

const waitUntilDone = (page: Page) => page.locator('#heading', { hasText: 'Done' }).waitFor()

test.skipIf(!chromium)('the set-up link opens a form that creates the first owner and logs them in', async () => {
  const token = (await setUpToken(service)) ?? ''
  const { page, errors } = await open('set-up', token)
  await page.waitForSelector('#email')
  // The page removes the token from the address and the history.
  expect(page.url()).toBe(`${service.url}/account`)
  const person = { email: owner, name: 'Ada', organization: 'Ada & Co' }
  await fill(page, { ...person, password: 'password1234' })
  await page.locator('#password-fault', { hasText: 'most common' }).waitFor()
  expect(await page.getAttribute('#password', 'aria-invalid')).toBe('true')
  // The response to the form moves the focus; the error may appear earlier, from the check while typing.
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('password')
  await fill(page, { ...person, password: goodPassword })
  await waitUntilDone(page)
  const cookies = await page.context().cookies()
  expect(cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]).sort()).toEqual([
    ['rapport', true, 'Strict'],
    ['rapport-device', true, 'Strict'],
  ])
  expect(await page.evaluate('document.cookie')).toBe('')
  const status = await page.evaluate(async () => {
    const headers = { 'content-type': 'application/json' }
    return (await fetch('/auth/refresh', { method: 'POST', headers, body: '{}' })).status
  })
  expect(status).toBe(200)
  expect(errors).toEqual([])
  await loggedIn(service, owner)
})

test.skipIf(!chromium)('each link in a mail opens a form that works once', async () => {
  const email = newEmail()
  await service.anonymous('POST', '/auth/sign-up', { body: { email } })
  const signUp = await open('sign-up', await receiveLinkToken(receiver, email, 'sign-up'))
  await fill(signUp.page, { name: 'Grace', organization: 'Grace & Co', password: goodPassword })
  await waitUntilDone(signUp.page)
  await service.anonymous('POST', '/auth/forgot-password', { body: { email } })
  const token = await receiveLinkToken(receiver, email, 'reset-password')
  const reset = await open('reset-password', token)
  await fill(reset.page, { password: 'another quiet harbour' })
  await waitUntilDone(reset.page)
  await loggedIn(service, email, 'another quiet harbour')
  const again = await open('reset-password', token)
  // The error appears when the link is opened, before anything is typed.
  await again.page.locator('#heading', { hasText: 'This link no longer works' }).waitFor()
  await again.page.locator('#lead', { hasText: 'It was already used or has expired.' }).waitFor()
  expect(await again.page.locator('form').isHidden()).toBe(true)
  expect(await nextLinks(again.page)).toEqual(['Forgot your password?', 'Log in'])
  expect([...signUp.errors, ...reset.errors, ...again.errors]).toEqual([])
})

test.skipIf(!chromium)('a person with an account who is logged in accepts an invitation with one click', async () => {
  const [email, inviter] = [newEmail(), await newOwner(service)]
  await service.anonymous('POST', '/auth/sign-up', { body: { email } })
  const own = await open('sign-up', await receiveLinkToken(receiver, email, 'sign-up'))
  await fill(own.page, { name: 'Grace', organization: 'Grace & Co', password: goodPassword })
  await waitUntilDone(own.page)
  expect((await inviter.call('POST', '/v5/invitations', { body: { email, role: 'member' } })).status).toBe(201)
  const token = await receiveLinkToken(receiver, email, 'invitation')
  const otherBrowser = await open('invitation', token)
  await otherBrowser.page.locator('#note', { hasText: 'Do you already have an account with this address?' }).waitFor()
  await otherBrowser.page.click('#next a')
  await fill(otherBrowser.page, { email, password: goodPassword })
  // After the login, the page returns to the invitation.
  await otherBrowser.page.locator('#heading', { hasText: 'Join another team' }).waitFor()
  const joining = await open('invitation', token, own.page)
  await joining.page.locator('#heading', { hasText: 'Join another team' }).waitFor()
  expect(await joining.page.locator('input').count()).toBe(0)
  await fill(joining.page, {})
  await waitUntilDone(joining.page)
  const { call } = await loggedIn(service, email)
  const { body } = await call('GET', '/v5/me')
  expect(body.organizations.map(({ role }: { role: string }) => role).sort()).toEqual(['member', 'owner'])
  expect([...own.errors, ...otherBrowser.errors, ...joining.errors]).toEqual([])
})

test.skipIf(!chromium)('an empty or unknown link shows an explanation and runs no script', async () => {
  for (const [purpose, token] of [
    ['constructor', 'x'],
    ['set-up', ''],
    ['sso-error', '%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E'],
  ] as const) {
    const { page, errors } = await open(purpose, token)
    await page.locator('#lead', { hasText: /link|provider/ }).waitFor()
    expect(await nextLinks(page)).toEqual(['Log in'])
    expect(await page.locator('img').count()).toBe(0)
    expect(await page.locator('#form').isHidden()).toBe(true)
    expect(errors).toEqual([])
  }
})
