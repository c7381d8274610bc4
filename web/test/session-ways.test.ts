import { randomUUID } from 'node:crypto'
import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { addAuthenticator, chromium, sharedChromium } from '../../server/test/chromium.ts'
import { type IdentityProvider, startIdentityProvider } from '../../server/test/identity-provider.ts'
import { type NameServer, startNameServer } from '../../server/test/name-server.ts'
import { decodeId } from '../../server/src/platform/model/ids.ts'
import { sql } from '../../server/src/platform/model/sql.ts'
import type { TestPerson } from '../../server/test/people.ts'
import { returnPage, takePage } from '../../server/test/page-pool.ts'
import { AuthenticatorApp, newPerson } from '../../server/test/second-factors.ts'
import { startTestService, type TestService } from '../../server/test/service.ts'
import { createSsoFixture, lookUpTxt, verifyDomain } from '../../server/test/single-sign-on-fixture.ts'
import { calm, heading, isInside, send } from './visit.ts'

// The ways to log in again over a page whose session has ended.

const browserTest = test.skipIf(!chromium)

let service: TestService
let provider: IdentityProvider
let nameServer: NameServer
let browser: Browser | undefined
const texts = new Map<string, string[]>()
/** `localhost` and `127.0.0.1` are different sites; the identity provider is on the other one. */
let home = ''
beforeAll(async () => {
  ;[provider, nameServer] = await Promise.all([startIdentityProvider(), startNameServer(lookUpTxt(texts))])
  service = await startTestService({ EGRESS_ALLOW: new URL(provider.issuer).host })
  home = service.url.replace('127.0.0.1', 'localhost')
  if (chromium) browser = await sharedChromium()
})
afterAll(async () => {
  await Promise.all([service.close(), provider.close(), nameServer.close()])
})

async function newPage(locale = 'en-GB'): Promise<Page> {
  if (!browser) throw new Error('The test needs a browser.')
  const page = await takePage(browser, { baseURL: home, ...calm, locale })
  onTestFinished(() => returnPage(page))
  page.context().setDefaultTimeout(15_000)
  return page
}

/** Ends the sessions right after the note was sent; any earlier, the page would notice by itself. */
async function endSessionsWhileSending(page: Page, { call }: TestPerson): Promise<void> {
  const end = async (route: Route) => {
    expect((await call('DELETE', '/v5/me/sessions')).status).toBe(204)
    await route.continue()
  }
  await page.route(/\/notes$/, end, { times: 1 })
}

const dialog = (page: Page, name = 'Your session has ended.') => page.getByRole('dialog', { name })

browserTest('single sign-on leads back to the page with its drafts', async () => {
  const world = await createSsoFixture(service, provider, { defaultRole: 'member' })
  const { domain } = await verifyDomain(world, texts)
  provider.register(`${home}/auth/sso/callback/${world.connectionId}`)
  provider.person = { sub: randomUUID(), email: `ada@${domain}`, email_verified: true }
  const { body: contact } = await world.organization.call('POST', '/v5/contacts', { body: { name: 'Ada Again' } })
  const page = await newPage()
  await page.goto('/single-sign-on')
  await send(page, 'Continue', { link: `${home}/auth/sso/${world.connectionId}` })
  await isInside(page)
  await page.goto(`/contacts/${contact.id}?kind=note`)
  await page.getByLabel('New note').fill('Typed before')
  await page.getByRole('button', { name: 'New task' }).click()
  await page.getByRole('dialog').getByLabel('Title').fill('Task typed before')
  const { body: members } = await world.organization.call('GET', '/v5/members')
  const { id } = members.find(({ person }: { person: { email: string } }) => person.email === `ada@${domain}`)
  await service.database.crossTenantQuery(
    'check the database',
    sql`update sessions set ended_at = now() where user_id = ${decodeId('usr', id)}::uuid`,
  )
  await page.getByRole('dialog').getByRole('button', { name: 'Add task' }).click()
  await dialog(page).getByText('Everything that you entered is safe.').waitFor()
  await dialog(page).getByRole('button', { name: 'Single sign-on' }).click()
  await page.waitForURL(`${home}/contacts/${contact.id}?kind=note`)
  await heading(page, 'Ada Again')
  expect(await page.getByLabel('New note').inputValue()).toBe('Typed before')
  await page.getByRole('button', { name: 'New task' }).click()
  expect(await page.getByRole('dialog').getByLabel('Title').inputValue()).toBe('Task typed before')
})

browserTest('the second factor is asked for in the dialog, also in German', async () => {
  const person = await newPerson(service)
  const enrolled = await person.call('POST', '/v5/me/totp')
  const app = new AuthenticatorApp(enrolled.body.uri)
  expect((await person.call('POST', '/v5/me/totp/confirm', { body: { code: app.code() } })).status).toBeLessThan(300)
  const { body: contact } = await person.organization.call('POST', '/v5/contacts', { body: { name: 'Ada Again' } })
  const page = await newPage('de-DE')
  await page
    .context()
    .addCookies([{ name: 'rapport', value: person.refreshToken, url: home, httpOnly: true, sameSite: 'Strict' }])
  await page.goto(`/contacts/${contact.id}`)
  await page.getByLabel('Neue Notiz').fill('Vorher geschrieben')
  await endSessionsWhileSending(page, person)
  await page.keyboard.press('Control+Enter')
  const ended = dialog(page, 'Ihre Sitzung ist beendet.')
  await ended.getByText('Ihre Notiz ist sicher.').waitFor()
  await ended.getByLabel('Passwort', { exact: true }).fill(person.password)
  await ended.getByRole('button', { name: 'Anmelden', exact: true }).click()
  await ended.locator('[name=code]').fill(app.code(1))
  await ended.getByRole('button', { name: 'Anmelden', exact: true }).click()
  await ended.waitFor({ state: 'detached' })
  const notes = async () => (await person.organization.call('GET', `/v5/contacts/${contact.id}/notes`)).body
  await expect
    .poll(async () => (await notes()).map(({ body }: { body: string }) => body))
    .toEqual(['Vorher geschrieben'])
})

browserTest('a passkey is enough in the dialog, and the note is posted after it', async () => {
  const person = await newPerson(service)
  const { body: contact } = await person.organization.call('POST', '/v5/contacts', { body: { name: 'Ada Again' } })
  const page = await newPage()
  await addAuthenticator(page)
  await page
    .context()
    .addCookies([{ name: 'rapport', value: person.refreshToken, url: home, httpOnly: true, sameSite: 'Strict' }])
  await page.goto('/profile')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  const naming = dialog(page, 'Add a passkey')
  await naming.getByLabel('Name').fill('Laptop')
  await naming.getByLabel('Name').press('Enter')
  await dialog(page, 'Store your recovery codes').getByRole('button', { name: 'Done' }).click()
  await page.goto(`/contacts/${contact.id}`)
  await page.getByLabel('New note').fill('Typed before')
  await endSessionsWhileSending(page, person)
  await page.keyboard.press('Control+Enter')
  await dialog(page).getByText('Your note is safe.').waitFor()
  await dialog(page).getByRole('button', { name: 'Log in with a passkey' }).click()
  await dialog(page).waitFor({ state: 'detached' })
  const notes = async () => (await person.organization.call('GET', `/v5/contacts/${contact.id}/notes`)).body
  await expect.poll(async () => (await notes()).map(({ body }: { body: string }) => body)).toEqual(['Typed before'])
})
