import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chromium, sharedChromium } from '../../server/test/chromium.ts'
import type { MailReceiver } from '../../server/test/mail-receiver.ts'
import { type MailedService, startMailedService } from '../../server/test/mailed-service.ts'
import { goodPassword, loggedIn, newEmail, newOwner, receiveLinkToken, setUpToken } from '../../server/test/people.ts'
import type { TestService } from '../../server/test/service.ts'
import { errorOf, focused, heading, isInside, send, visit } from './visit.ts'

let mailed: MailedService
let receiver: MailReceiver
let service: TestService
let browser: Browser | undefined
const owner = newEmail()

beforeAll(async () => {
  mailed = await startMailedService({ SIGN_UP: 'open' })
  ;({ receiver, service } = mailed)
  if (chromium) browser = await sharedChromium()
})
afterAll(async () => {
  await mailed.close()
})

const deadToken = `ott_${'a'.repeat(43)}`

const open = (fragment: string, existing?: Page) =>
  visit(browser, `${service.url}/account#${fragment}`, existing ? { existing } : {})

const footerLinks = (page: Page) => page.getByRole('link').allTextContents()

test.skipIf(!chromium)('the set-up link opens a form that creates the first owner and logs them in', async () => {
  const { page, errors } = await visit(browser, `${service.url}/account#set-up=${await setUpToken(service)}`, {
    timezoneId: 'Asia/Tokyo',
  })
  await heading(page, 'Set up Rapport')
  // The page removes the token from the URL and the history.
  expect(page.url()).toBe(`${service.url}/account`)
  expect(await page.evaluate('history.length')).toBeLessThanOrEqual(2)
  await expect.poll(() => page.title()).toBe('Set up Rapport · Rapport')
  await expect.poll(() => focused(page)).toBe('email')
  expect(await page.getByRole('combobox', { name: 'Time zone' }).inputValue()).toBe('Asia/Tokyo')
  const person = { email: owner, name: 'Ada', organization: 'Ada & Co' }
  await send(page, 'Set up', { ...person, password: 'password1234' })
  await page.getByText('most common').waitFor()
  expect(await errorOf(page, 'password')).toContain('most common')
  // The response to the form moves the focus; the error may appear earlier, from the check on blur.
  await expect.poll(() => focused(page)).toBe('password')
  await page.fill('[name=password]', goodPassword)
  await page.getByRole('button', { name: 'Set up' }).dblclick()
  await isInside(page)
  const cookies = await page.context().cookies()
  expect(cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]).sort()).toEqual([
    ['rapport', true, 'Strict'],
    ['rapport-device', true, 'Strict'],
  ])
  expect(await page.evaluate('document.cookie')).toBe('')
  await page.reload()
  await isInside(page)
  expect(errors).toEqual([])
  const { call } = await loggedIn(service, owner)
  expect((await call('GET', '/v5/organization')).body.timeZone).toBe('Asia/Tokyo')
})

test.skipIf(!chromium)('each link in a mail opens a form that works once', async () => {
  const email = newEmail()
  await service.anonymous('POST', '/auth/sign-up', { body: { email } })
  const signUp = await open(`sign-up=${await receiveLinkToken(receiver, email, 'sign-up')}`)
  await heading(signUp.page, 'Create your account')
  await expect.poll(() => focused(signUp.page)).toBe('name')
  expect(await signUp.page.getByLabel('Email').inputValue()).toBe(email)
  await send(signUp.page, 'Create the account', { name: 'Grace', organization: 'Grace & Co', password: goodPassword })
  await isInside(signUp.page)
  await service.anonymous('POST', '/auth/forgot-password', { body: { email } })
  const token = await receiveLinkToken(receiver, email, 'reset-password')
  const reset = await open(`reset-password=${token}`)
  await send(reset.page, 'Set the password', { password: 'another quiet harbour' })
  await heading(reset.page, 'Your new password is set')
  await loggedIn(service, email, 'another quiet harbour')
  const again = await open(`reset-password=${token}`)
  // The error appears when the link is opened, before anything is typed.
  await heading(again.page, 'This link no longer works')
  await again.page.getByText('It was already used or has expired.').waitFor()
  expect(await again.page.locator('form').count()).toBe(0)
  expect(await footerLinks(again.page)).toEqual(['Forgot your password?', 'Log in'])
  expect([...signUp.errors, ...reset.errors, ...again.errors]).toEqual([])
})

test.skipIf(!chromium)('a logged-in person with an account accepts an invitation with one click', async () => {
  const [email, inviter] = [newEmail(), await newOwner(service)]
  await service.anonymous('POST', '/auth/sign-up', { body: { email } })
  const own = await open(`sign-up=${await receiveLinkToken(receiver, email, 'sign-up')}`)
  await heading(own.page, 'Create your account')
  await send(own.page, 'Create the account', { name: 'Grace', organization: 'Grace & Co', password: goodPassword })
  await isInside(own.page)
  expect((await inviter.call('POST', '/v5/invitations', { body: { email, role: 'member' } })).status).toBe(201)
  const token = await receiveLinkToken(receiver, email, 'invitation')
  const other = await open(`invitation=${token}`)
  await other.page.getByText('Do you already have an account with this address?').waitFor()
  await other.page.getByRole('button', { name: 'Log in to join with it' }).click()
  await send(other.page, 'Log in', { email, password: goodPassword })
  // After the login, the page returns to the invitation.
  await heading(other.page, 'Join another team')
  const joining = await open(`invitation=${token}`, own.page)
  await heading(joining.page, 'Join another team')
  expect(await joining.page.locator('input').count()).toBe(0)
  await send(joining.page, 'Join')
  await isInside(joining.page)
  const { call } = await loggedIn(service, email)
  const { body } = await call('GET', '/v5/me')
  expect(body.organizations.map(({ role }: { role: string }) => role).sort()).toEqual(['member', 'owner'])
  expect([...own.errors, ...other.errors, ...joining.errors]).toEqual([])
})

test.skipIf(!chromium)('a person logged in with another address can create an account from an invitation', async () => {
  const [inviter, other] = [await newOwner(service), await newOwner(service)]
  const { page } = await visit(browser, `${service.url}/login`)
  await send(page, 'Log in', { email: other.email, password: other.password })
  await isInside(page)
  const { token } = await mailed.invite(inviter.call)
  await page.goto(`${service.url}/account#invitation=${token}`)
  await heading(page, 'Join another team')
  await send(page, 'Join')
  await page.getByText('You are logged in with a different address.').waitFor()
  await send(page, 'Create an account and join', { name: 'Grace', password: goodPassword })
  await isInside(page)
  await page.getByRole('button', { name: 'Grace' }).first().waitFor()
})

test.skipIf(!chromium)('a new address is confirmed after a log-in in this browser', async () => {
  const person = await newOwner(service)
  const email = newEmail()
  expect((await person.call('POST', '/v5/me/address', { body: { email } })).status).toBe(202)
  const { page, errors } = await open(`verify-address=${await receiveLinkToken(receiver, email, 'verify-address')}`)
  await heading(page, 'Confirm your address')
  await send(page, 'Confirm')
  await page.getByRole('link', { name: 'Log in' }).click()
  await send(page, 'Log in', { email: person.email, password: person.password })
  await heading(page, 'Confirm your address')
  await send(page, 'Confirm')
  await heading(page, 'Your address is confirmed')
  expect((await person.call('GET', '/v5/me')).body.email).toBe(email)
  expect(errors).toEqual([])
})

test.skipIf(!chromium)('opening an invalid link shows an error and what to do instead', async () => {
  const { page } = await open('')
  for (const [purpose, text, links] of [
    ['set-up', 'Restart Rapport', ['Log in']],
    ['sign-up', 'Request a new link', ['Request a new link', 'Log in']],
    ['invitation', 'Ask the person who invited you', ['Log in']],
    ['verify-address', 'log in and request a new link', ['Log in']],
    ['reset-password', 'Request a new link', ['Forgot your password?', 'Log in']],
  ] as const) {
    await page.goto('about:blank')
    await page.goto(`${service.url}/account#${purpose}=${deadToken}`)
    await heading(page, 'This link no longer works')
    await page.getByText(text).first().waitFor()
    await expect.poll(() => page.title()).toBe('This link no longer works · Rapport')
    expect(await page.locator('input').count()).toBe(0)
    expect(await footerLinks(page)).toEqual(links)
  }
})

test.skipIf(!chromium)('an empty or unknown link shows an explanation and runs no script', async () => {
  for (const [purpose, token] of [
    ['constructor', 'x'],
    ['set-up', ''],
    ['sso-error', '%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E'],
  ] as const) {
    const { page, errors } = await open(`${purpose}=${token}`)
    await page.getByText(/Open the link that was sent|at your provider failed/).waitFor()
    expect(await footerLinks(page)).toEqual([expect.stringMatching(/log/i)])
    expect(await page.locator('img:not([alt=Rapport])').count()).toBe(0)
    expect(await page.locator('form').count()).toBe(0)
    expect(errors).toEqual([])
  }
})
