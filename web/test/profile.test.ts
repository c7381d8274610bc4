import { TOTP } from 'otpauth'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addAuthenticator, chromium, sharedChromium } from '../../server/test/chromium.ts'
import { type MailedService, startMailedService } from '../../server/test/mailed-service.ts'
import { loggedIn, newEmail, newOwner, receiveLinkToken, type TestPerson } from '../../server/test/people.ts'
import { sql } from '../../server/src/platform/model/sql.ts'
import { errorOf, heading, isInside, send, visit } from './visit.ts'

let mailed: MailedService
let browser: Browser | undefined
/** Passkeys need a host name. */
let home: string
beforeAll(async () => {
  mailed = await startMailedService()
  home = mailed.service.url.replace('127.0.0.1', 'localhost')
  if (chromium) browser = await sharedChromium()
})
afterAll(async () => {
  await mailed.close()
})

async function openProfile(person: TestPerson): Promise<Page> {
  const { page } = await visit(browser, `${home}/profile`, { person })
  await isInside(page, '/profile')
  return page
}

/** A section of the page, by its heading. */
const panel = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

const dialog = (page: Page, name: string) => page.getByRole('dialog', { name, exact: true })

/** Fills in the only field of a form and submits it with Enter. */
async function enter(field: Locator, text: string): Promise<void> {
  await field.fill(text)
  await field.press('Enter')
}

/** Simulates that all sessions of the person started ten minutes ago. */
const backdateSessions = ({ userId }: TestPerson) =>
  mailed.service.database.crossTenantQuery(
    'check the database',
    sql`update sessions set proved_at = now() - interval '10 minutes'
      where user_id = ${userId.replace('usr_', '')}::uuid`,
  )

test.skipIf(!chromium)('the time zone of the profile is chosen and cleared', async () => {
  const page = await openProfile(await newOwner(mailed.service))
  const choice = panel(page, 'Time zone').getByRole('combobox', { name: 'Your time zone' })
  for (const chosen of ['Asia/Tokyo', '']) {
    await choice.selectOption(chosen)
    await page.getByText('Your time zone is saved').first().waitFor()
    await expect.poll(() => choice.inputValue()).toBe(chosen)
    await page.reload()
    await expect.poll(() => choice.inputValue()).toBe(chosen)
  }
})

test.skipIf(!chromium)(
  'a person changes name, address and password, and is asked before changes are lost',
  async () => {
    const person = await newOwner(mailed.service)
    const page = await openProfile(person)
    await page.fill('[name=name]', 'Ada King')
    await page.getByRole('link', { name: 'Contacts' }).first().click()
    await dialog(page, 'Leave without saving?').getByRole('button', { name: 'Stay' }).click()
    expect(await page.inputValue('[name=name]')).toBe('Ada King')
    await send(page, 'Save')
    await page.getByText('Your name is saved').waitFor()
    await page.getByRole('button', { name: 'Ada King' }).first().waitFor()

    const email = newEmail()
    await send(page, 'Send the link', { email })
    await page.getByText('The link is on its way').waitFor()
    const token = await receiveLinkToken(mailed.receiver, email, 'verify-address')
    await page.goto(`${home}/account#verify-address=${token}`)
    await send(page, 'Confirm')
    await heading(page, 'Your address is confirmed')
    await page.goto(`${home}/profile`)
    await page.getByText(`You log in with ${email}.`).waitFor()

    await page.fill('[name=newPassword]', 'password1234')
    await page.press('[name=newPassword]', 'Tab')
    await page.getByText('most common').waitFor()
    await send(page, 'Change the password', { currentPassword: 'not this one', newPassword: 'another quiet harbour' })
    await page.getByText('not your password').waitFor()
    expect(await errorOf(page, 'currentPassword')).toContain('not your password')
    await send(page, 'Change the password', { currentPassword: person.password })
    await page.getByText('Your new password is set').waitFor()
    await expect.poll(() => page.inputValue('[name=newPassword]')).toBe('')
    await loggedIn(mailed.service, email, 'another quiet harbour')
  },
)

test.skipIf(!chromium)('a sensitive change asks for the password first, and then continues', async () => {
  const person = await newOwner(mailed.service)
  const page = await openProfile(person)
  await backdateSessions(person)
  await panel(page, 'Authenticator app').getByRole('button', { name: 'Set up' }).click()
  const question = dialog(page, 'Confirm that it is you')
  await enter(question.getByLabel('Password', { exact: true }), 'not this one')
  await question.getByText('not your password').waitFor()
  // Nothing happens if the person cancels.
  await page.keyboard.press('Escape')
  await page.getByText('Nothing was changed.').first().waitFor()
  await panel(page, 'Authenticator app').getByRole('button', { name: 'Set up' }).click()
  await enter(question.getByLabel('Password', { exact: true }), person.password)
  await dialog(page, 'Set up an authenticator app').getByRole('figure', { name: 'QR code' }).waitFor()
  // The cookie also has the new session.
  await page.reload()
  await isInside(page, '/profile')
})

test.skipIf(!chromium)(
  'an authenticator app is set up, demanded at the log-in, and replaced by a recovery code',
  async () => {
    const person = await newOwner(mailed.service)
    const page = await openProfile(person)
    await panel(page, 'Authenticator app').getByRole('button', { name: 'Set up' }).click()
    const setup = dialog(page, 'Set up an authenticator app')
    const secret = (await setup.locator('code').textContent()) ?? ''
    const code = (ahead: number) => new TOTP({ secret }).generate({ timestamp: Date.now() + ahead * 30_000 })
    await enter(setup.getByLabel('Six-digit code'), '12')
    await setup.getByText('wrong').waitFor()
    await enter(setup.getByLabel('Six-digit code'), code(0))
    const codes = dialog(page, 'Store your recovery codes')
    const recoveryCodes = ((await codes.locator('code').textContent()) ?? '').split('\n')
    expect(recoveryCodes).toHaveLength(10)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      codes.getByRole('button', { name: 'Download' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('rapport-recovery-codes.txt')
    await codes.getByRole('button', { name: 'Done' }).click()
    // They are shown only once.
    await page.reload()
    await panel(page, 'Recovery codes').getByText('10 codes are left.').waitFor()
    expect(await page.content()).not.toContain(recoveryCodes[0])

    const { page: other } = await visit(browser, `${home}/login?next=/profile`)
    await send(other, 'Log in', { email: person.email, password: person.password })
    await heading(other, 'One more step')
    await send(other, 'Log in', { code: '000000' })
    await other.getByRole('alert').getByText('is wrong').waitFor()
    await send(other, 'Log in', { code: code(1) })
    await isInside(other, '/profile')
    await other.context().clearCookies()
    await other.goto(`${home}/login`)
    await send(other, 'Log in', { email: person.email, password: person.password })
    await other.getByRole('button', { name: 'Use a recovery code' }).click()
    await send(other, 'Log in', { code: recoveryCodes[0] ?? '' })
    await isInside(other)
  },
)

test.skipIf(!chromium)('a passkey is added, renamed, used to log in, and removed', async () => {
  const person = await newOwner(mailed.service)
  const page = await openProfile(person)
  await addAuthenticator(page)
  const passkeys = panel(page, 'Passkeys')
  await passkeys.getByRole('button', { name: 'Add a passkey' }).click()
  await enter(dialog(page, 'Add a passkey').getByLabel('Name'), 'Laptop')
  await dialog(page, 'Store your recovery codes').getByRole('button', { name: 'Done' }).click()
  await passkeys.getByRole('button', { name: 'Rename Laptop' }).click()
  await enter(dialog(page, 'Rename the passkey').getByLabel('Name'), 'Work laptop')
  await passkeys.getByText('Work laptop').waitFor()
  // The device already has one.
  await passkeys.getByRole('button', { name: 'Add a passkey' }).click()
  await enter(dialog(page, 'Add a passkey').getByLabel('Name'), 'Again')
  await dialog(page, 'Add a passkey').getByText('already has a passkey').waitFor()

  await page.context().clearCookies()
  await page.goto(`${home}/login?next=/profile`)
  await page.getByRole('button', { name: 'Log in with a passkey' }).click()
  await isInside(page, '/profile')
  await backdateSessions(person)
  await passkeys.getByRole('button', { name: 'Remove Work laptop' }).click()
  await dialog(page, 'Remove the passkey Work laptop?').getByRole('button', { name: 'Remove' }).click()
  await dialog(page, 'Confirm that it is you').getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByText('The passkey is removed').first().waitFor()
})

test.skipIf(!chromium)('a person ends one session and then all others, and stays logged in', async () => {
  const person = await newOwner(mailed.service)
  const headers = { 'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Safari/604.1' }
  await loggedIn(mailed.service, person.email, person.password, headers)
  const page = await openProfile(await loggedIn(mailed.service, person.email, person.password))
  const rows = panel(page, 'Sessions').getByRole('listitem')
  await expect.poll(() => rows.count()).toBe(3)
  await panel(page, 'Sessions')
    .getByRole('button', { name: /Safari on iOS/ })
    .dblclick()
  await expect.poll(() => rows.count()).toBe(2)
  await panel(page, 'Sessions').getByRole('button', { name: 'End all others' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'End all others' }).click()
  await expect.poll(() => rows.count()).toBe(1)
  await rows.getByText('This session').waitFor()
  expect((await person.call('GET', '/v5/me')).status).toBe(401)
  await page.reload()
  await isInside(page, '/profile')
})

test.skipIf(!chromium)('the language of the application and of mails is chosen in the profile', async () => {
  const owner = await newOwner(mailed.service)
  const language = async () => (await owner.call('GET', '/v5/me')).body.language
  const page = await openProfile(owner)
  await panel(page, 'Language and theme').getByText('may be in another language').waitFor()
  await panel(page, 'Language and theme').getByLabel('Language').selectOption('de')
  await heading(page, 'Profil und Sicherheit')
  expect(await page.getAttribute('html', 'lang')).toBe('de')
  expect(await language()).toBe('de')
  // Chosen in another browser.
  await owner.call('PATCH', '/v5/me', { body: { language: 'en' } })
  await page.reload()
  const useForMails = panel(page, 'Sprache und Farbschema').getByRole('button', {
    name: 'Auch dafür Deutsch verwenden',
  })
  await useForMails.click()
  await expect.poll(() => useForMails.count()).toBe(0)
  expect(await language()).toBe('de')
})

test.skipIf(!chromium)('a person whose organization requires a second factor sets one up and continues', async () => {
  const owner = await newOwner(mailed.service)
  const member = await mailed.join(owner.call, 'member')
  await mailed.service.database.crossTenantQuery(
    'check the database',
    sql`update organizations set requires_second_factor = true
      where id = ${owner.organizationId.replace('org_', '')}::uuid`,
  )
  const { page } = await visit(browser, `${home}/login`)
  await send(page, 'Log in', { email: member.email, password: member.password })
  await heading(page, 'Set up a second factor')
  await panel(page, 'Authenticator app').getByRole('button', { name: 'Set up' }).click()
  const setup = dialog(page, 'Set up an authenticator app')
  const secret = (await setup.locator('code').textContent()) ?? ''
  await enter(setup.getByLabel('Six-digit code'), new TOTP({ secret }).generate())
  await dialog(page, 'Store your recovery codes').getByRole('button', { name: 'Done' }).click()
  await page.getByRole('link', { name: 'Continue' }).click()
  await isInside(page)
})
