import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { chromium, launchChromium } from '../../server/test/chromium.ts'
import { type MailedService, startMailedService } from '../../server/test/mailed-service.ts'
import { newOwner, receiveLinkToken, type TestOwner, type TestPerson } from '../../server/test/people.ts'
import { heading, isInside, send } from './visit.ts'

const browserTest = test.skipIf(!chromium)

let mailed: MailedService
let browser: Browser | undefined
beforeAll(async () => {
  mailed = await startMailedService()
  if (chromium) browser = await launchChromium()
})
afterAll(async () => {
  await browser?.close()
  await mailed.close()
})

/** A browser in which this person is logged in. */
async function browserOf(person: Pick<TestPerson, 'refreshToken'>): Promise<BrowserContext> {
  if (!browser) throw new Error('The test needs a browser.')
  const context = await browser.newContext({ baseURL: mailed.service.url, viewport: { width: 1440, height: 900 } })
  onTestFinished(() => context.close())
  context.setDefaultTimeout(10_000)
  await logInAs(context, person)
  return context
}

/** As after a log-in in another tab. */
const logInAs = (context: BrowserContext, { refreshToken }: Pick<TestPerson, 'refreshToken'>): Promise<void> =>
  context.addCookies([
    { name: 'rapport', value: refreshToken, url: mailed.service.url, httpOnly: true, sameSite: 'Strict' },
  ])

async function openTab(context: BrowserContext, path: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(path)
  await isInside(page, new URL(path, mailed.service.url).pathname)
  return page
}

const sidebar = (page: Page) => page.getByRole('navigation', { name: 'Main navigation' }).first()

/** Types a note about the contact that the page shows. */
const postNote = async (page: Page, text: string) => {
  await page.getByLabel('New note').fill(text)
  await page.getByRole('button', { name: 'Add note' }).click()
}

const newContact = async ({ call }: Pick<TestPerson, 'call'>, name: string): Promise<string> => {
  const { body, status, text } = await call('POST', '/v5/contacts', { body: { name } })
  expect(status, text).toBe(201)
  return body.id
}

const namesOf = async ({ organization: { call } }: TestOwner): Promise<string[]> =>
  (await call('GET', '/v5/contacts?limit=100')).body.map(({ name }: { name: string }) => name)

browserTest('a tab reads and writes in the organization that it shows, whatever another tab switched to', async () => {
  const [owner, other] = [await newOwner(mailed.service), await newOwner(mailed.service)]
  await newContact(owner, 'First of here')
  await newContact(other, 'First of there')
  const { email } = owner
  const invitation = await other.call('POST', '/v5/invitations', { body: { email, role: 'member' } })
  expect(invitation.status, invitation.text).toBe(201)
  const token = await receiveLinkToken(mailed.receiver, email, 'invitation')
  expect((await owner.call('POST', '/v5/me/invitations', { body: { token } })).status).toBe(200)

  const context = await browserOf(owner)
  const tab = await openTab(context, '/contacts')
  const here = (await owner.call('GET', '/v5/organization')).body.name
  const there = (await other.call('GET', '/v5/organization')).body.name
  const second = await openTab(context, '/')
  await sidebar(second).getByRole('button', { name: here }).click()
  await second.getByRole('menuitem', { name: there }).click()
  await sidebar(second).getByRole('button', { name: there }).waitFor()

  await tab.getByRole('button', { name: 'New contact' }).first().click()
  await tab.getByRole('dialog').locator('input').first().fill('Second of here')
  await tab.getByRole('dialog').getByRole('button', { name: 'New contact' }).click()
  await heading(tab, 'Second of here')
  await sidebar(tab).getByRole('link', { name: 'Contacts' }).click()
  await tab.getByRole('gridcell', { name: 'First of here', exact: true }).waitFor()
  expect(await tab.getByText('of there').count()).toBe(0)
  expect(await namesOf(owner)).toEqual(['Second of here', 'First of here'])
  expect(await namesOf(other)).toEqual(['First of there'])
  // The other tab is where it switched to.
  await sidebar(second).getByRole('link', { name: 'Contacts' }).click()
  await second.getByRole('gridcell', { name: 'First of there', exact: true }).waitFor()
})

browserTest('a tab of one person does nothing for the person who logs in next in the same browser', async () => {
  const owner = await newOwner(mailed.service)
  const id = await newContact(owner, 'Known to the first')
  const colleague = await mailed.join(owner.call, 'member')
  const context = await browserOf(owner)
  const tab = await openTab(context, `/contacts/${id}`)
  await tab.waitForLoadState('networkidle')
  await logInAs(context, colleague)
  expect((await owner.call('DELETE', '/v5/me/sessions')).status).toBe(204)
  await postNote(tab, 'Written by the first')
  await isInside(tab, `/contacts/${id}`)
  const notes = await colleague.call('GET', `/v5/contacts/${id}/notes`)
  expect(notes.body).toEqual([])
  // The page begins anew, for the person who is logged in now.
  await sidebar(tab).getByRole('button', { name: 'Person who is member' }).waitFor()
  expect(await tab.getByLabel('New note').inputValue()).toBe('')
})

browserTest('after a log-out, no other tab shows anything of the person', async () => {
  const owner = await newOwner(mailed.service)
  await newContact(owner, 'Secret of the organization')
  const context = await browserOf(owner)
  const other = await openTab(context, '/contacts')
  await other.getByRole('gridcell', { name: 'Secret of the organization', exact: true }).waitFor()
  const tab = await openTab(context, '/profile')
  const name = await tab.getByLabel('Your name').inputValue()
  await tab.getByRole('button', { name, exact: true }).click()
  await tab.getByRole('menuitem', { name: 'Log out' }).click()
  await heading(tab, 'You are logged out')
  await heading(other, 'Log in to Rapport')
  expect(await other.getByText('Secret of the organization').count()).toBe(0)
  // It comes back to the page that it showed.
  expect(new URL(other.url()).searchParams.get('next')).toBe('/contacts')
})

browserTest('a person who is removed from the organization sees nothing of it after the next action', async () => {
  const owner = await newOwner(mailed.service)
  const id = await newContact(owner, 'Secret of the organization')
  const member = await mailed.join(owner.call, 'member')
  const context = await browserOf(member)
  const tab = await openTab(context, `/contacts/${id}`)
  await tab.getByLabel('New note').waitFor()
  expect((await owner.call('DELETE', `/v5/members/${member.userId}`)).status).toBe(204)
  let requests = 0
  tab.on('request', (request) => (requests += /\/(?:v5|auth)\//.test(request.url()) ? 1 : 0))
  await postNote(tab, 'Too late')
  await heading(tab, 'Choose an organization')
  expect(await tab.getByText('Secret of the organization').count()).toBe(0)
  expect(requests).toBeLessThan(15)
})

browserTest('a person whose role was reduced is refused, and the page offers only what is left', async () => {
  const owner = await newOwner(mailed.service)
  const id = await newContact(owner, 'Only to be read')
  const member = await mailed.join(owner.call, 'member')
  const context = await browserOf(member)
  const tab = await openTab(context, `/contacts/${id}`)
  await tab.getByLabel('New note').waitFor()
  expect((await owner.call('PATCH', `/v5/members/${member.userId}`, { body: { role: 'viewer' } })).status).toBe(200)
  await postNote(tab, 'Too late')
  await tab.getByRole('region', { name: 'Notifications' }).getByText('scope').first().waitFor()
  await tab.getByLabel('New note').waitFor({ state: 'detached' })
  await heading(tab, 'Only to be read')
})

browserTest('a person whose sessions were ended elsewhere logs in again, and sees nothing until then', async () => {
  const owner = await newOwner(mailed.service)
  await newContact(owner, 'Secret of the organization')
  const context = await browserOf(owner)
  const tab = await openTab(context, '/contacts')
  await tab.getByRole('gridcell', { name: 'Secret of the organization', exact: true }).waitFor()
  await tab.getByRole('button', { name: 'New contact' }).first().click()
  await tab.getByRole('dialog').locator('input').first().fill('Not saved')
  expect((await owner.call('DELETE', '/v5/me/sessions')).status).toBe(204)
  let requests = 0
  tab.on('request', (request) => (requests += /\/(?:v5|auth)\//.test(request.url()) ? 1 : 0))
  await tab.getByRole('dialog').getByRole('button', { name: 'New contact' }).click()
  await heading(tab, 'Log in to Rapport')
  expect(await tab.getByText('Secret of the organization').count()).toBe(0)
  await send(tab, 'Log in', { email: owner.email, password: owner.password })
  // The form is open again, as the URL says.
  await tab.getByRole('dialog', { name: 'New contact' }).waitFor()
  expect(requests).toBeLessThan(25)
})
