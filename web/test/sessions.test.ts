import type { Browser, BrowserContext, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { chromium, sharedChromium } from '../../server/test/chromium.ts'
import { type MailedService, startMailedService } from '../../server/test/mailed-service.ts'
import { returnPage, takePage } from '../../server/test/page-pool.ts'
import { newOwner, receiveLinkToken, type TestOwner, type TestPerson } from '../../server/test/people.ts'
import { inFocus } from './gestures.ts'
import { calm, expectAccessible, heading, isInside, send, sessionCookie } from './visit.ts'

const browserTest = test.skipIf(!chromium)

let mailed: MailedService
let browser: Browser | undefined
beforeAll(async () => {
  mailed = await startMailedService()
  if (chromium) browser = await sharedChromium()
})
afterAll(async () => {
  await mailed.close()
})

/** The first tab of each browser. */
const unusedTabs = new WeakMap<BrowserContext, Page>()

/** A browser in which this person is logged in. */
async function browserOf(person: Pick<TestPerson, 'refreshToken'>): Promise<BrowserContext> {
  if (!browser) throw new Error('The test needs a browser.')
  const page = await takePage(browser, { baseURL: mailed.service.url, ...calm })
  onTestFinished(() => returnPage(page))
  const context = page.context()
  unusedTabs.set(context, page)
  context.setDefaultTimeout(10_000)
  await logInAs(context, person)
  return context
}

/** Simulates a log-in in another tab. */
const logInAs = (context: BrowserContext, person: Pick<TestPerson, 'refreshToken'>): Promise<void> =>
  context.addCookies([sessionCookie(mailed.service.url, person)])

async function openTab(context: BrowserContext, path: string): Promise<Page> {
  const page = unusedTabs.get(context) ?? (await context.newPage())
  unusedTabs.delete(context)
  await page.goto(path)
  await isInside(page, new URL(path, mailed.service.url).pathname)
  return page
}

/**
 * Runs an action elsewhere right after the person has sent such a request; any earlier, the page would notice by
 * itself.
 */
async function whileSending(page: Page, [method, path]: [string, string], happen: () => Promise<void>): Promise<void> {
  let isOver = false
  const happenOnce = async (route: Route) => {
    if (!isOver && route.request().method() === method) {
      isOver = true
      await happen()
    }
    await route.continue()
  }
  await page.route(({ pathname }) => pathname === path, happenOnce)
}

const sidebar = (page: Page) => page.getByRole('navigation', { name: 'Main navigation' }).first()

/** Types a note about the contact on the page. */
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
  // The other tab shows the organization to which it switched.
  await sidebar(second).getByRole('link', { name: 'Contacts' }).click()
  await second.getByRole('gridcell', { name: 'First of there', exact: true }).waitFor()
})

browserTest('a tab of one person does nothing as the person who logs in next in the same browser', async () => {
  const owner = await newOwner(mailed.service)
  const id = await newContact(owner, 'Known to the first')
  const colleague = await mailed.join(owner.call, 'member')
  const context = await browserOf(owner)
  const tab = await openTab(context, `/contacts/${id}`)
  await tab.getByText('created the contact').waitFor()
  await whileSending(tab, ['POST', `/v5/contacts/${id}/notes`], async () => {
    await logInAs(context, colleague)
    await endSessions(owner)
  })
  await postNote(tab, 'Written by the first')
  await isInside(tab, `/contacts/${id}`)
  const notes = await colleague.call('GET', `/v5/contacts/${id}/notes`)
  expect(notes.body).toEqual([])
  // The page reloads for the person who is logged in now.
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
  // The log-in leads back to the page that was open.
  expect(new URL(other.url()).searchParams.get('next')).toBe('/contacts')
})

browserTest('a person who is removed from the organization sees nothing of it after the next action', async () => {
  const owner = await newOwner(mailed.service)
  const id = await newContact(owner, 'Secret of the organization')
  const member = await mailed.join(owner.call, 'member')
  const context = await browserOf(member)
  const tab = await openTab(context, `/contacts/${id}`)
  await tab.getByLabel('New note').waitFor()
  let requests = 0
  tab.on('request', (request) => (requests += /\/(?:v5|auth)\//.test(request.url()) ? 1 : 0))
  await whileSending(tab, ['POST', `/v5/contacts/${id}/notes`], async () => {
    expect((await owner.call('DELETE', `/v5/members/${member.userId}`)).status).toBe(204)
    requests = 0
  })
  await postNote(tab, 'Too late')
  await heading(tab, 'Choose an organization')
  expect(await stored(tab)).not.toMatch(/Too late/)
  expect(await tab.getByText('Secret of the organization').count()).toBe(0)
  expect(requests).toBeLessThan(15)
})

browserTest('a person whose role was reduced is refused, and the page only offers what is still allowed', async () => {
  const owner = await newOwner(mailed.service)
  const id = await newContact(owner, 'Only to be read')
  const member = await mailed.join(owner.call, 'member')
  const context = await browserOf(member)
  const tab = await openTab(context, `/contacts/${id}`)
  await tab.getByLabel('New note').waitFor()
  await whileSending(tab, ['POST', `/v5/contacts/${id}/notes`], async () => {
    const changed = await owner.call('PATCH', `/v5/members/${member.userId}`, { body: { role: 'viewer' } })
    expect(changed.status).toBe(200)
  })
  await postNote(tab, 'Too late')
  await tab.getByRole('region', { name: 'Notifications' }).getByText('scope').first().waitFor()
  await tab.getByLabel('New note').waitFor({ state: 'detached' })
  await heading(tab, 'Only to be read')
})

/** The dialog over a page whose session has ended. */
const logInDialog = (page: Page) => page.getByRole('dialog', { name: 'Your session has ended.' })

const logInAgain = async (page: Page, { email, password }: { email: string; password: string }) => {
  await logInDialog(page).getByLabel('Email').fill(email)
  await logInDialog(page).getByLabel('Password', { exact: true }).fill(password)
  await logInDialog(page).getByRole('button', { name: 'Log in', exact: true }).click()
}

const endSessions = async ({ call }: Pick<TestPerson, 'call'>) =>
  expect((await call('DELETE', '/v5/me/sessions')).status).toBe(204)

const notesOf = async ({ organization: { call } }: TestOwner, id: string): Promise<string[]> =>
  (await call('GET', `/v5/contacts/${id}/notes`)).body.map(({ body }: { body: string }) => body)

const stored = (page: Page): Promise<string> =>
  page.evaluate(`JSON.stringify([{ ...localStorage }, { ...sessionStorage }])`)

browserTest('a note sent after the session has ended is posted when the person has logged in', async () => {
  const owner = await newOwner(mailed.service)
  const id = await newContact(owner, 'Ada Ended')
  const tab = await openTab(await browserOf(owner), `/contacts/${id}`)
  await tab.evaluate(`localStorage.setItem('rapport.theme', 'dark')`)
  await tab.getByLabel('New note').fill('Called, will call back on Monday')
  let requests = 0
  tab.on('request', (request) => (requests += /\/(?:v5|auth)\//.test(request.url()) ? 1 : 0))
  await whileSending(tab, ['POST', `/v5/contacts/${id}/notes`], async () => {
    await endSessions(owner)
    requests = 0
  })
  await tab.keyboard.press('Control+Enter')
  await logInDialog(tab).getByText('Your note is safe.').waitFor()
  expect(await logInDialog(tab).getByLabel('Email').inputValue()).toBe(owner.email)
  await expectAccessible(tab)
  // The dialog demands an answer, and the page below it keeps the input.
  await tab.keyboard.press('Escape')
  expect(await tab.getByLabel('New note').inputValue()).toBe('Called, will call back on Monday')
  expect(requests).toBeLessThan(15)
  await logInAgain(tab, owner)
  await tab.getByText('Note added').first().waitFor()
  expect(await notesOf(owner, id)).toEqual(['Called, will call back on Monday'])
  expect(await tab.getByLabel('New note').inputValue()).toBe('')
  expect(await tab.evaluate(`localStorage.getItem('rapport.theme')`)).toBe('dark')
  expect(new URL(tab.url()).pathname).toBe(`/contacts/${id}`)
})

browserTest('a form stays open below the log-in, and is sent after it', async () => {
  const owner = await newOwner(mailed.service)
  const tab = await openTab(await browserOf(owner), '/contacts')
  await tab.getByRole('button', { name: 'New contact' }).first().click()
  const form = tab.getByRole('dialog', { name: 'New contact' })
  await form.locator('input').first().fill('Not lost')
  await whileSending(tab, ['POST', '/v5/contacts'], () => endSessions(owner))
  await form.getByRole('button', { name: 'New contact' }).click()
  await logInDialog(tab).getByText('What you entered in the form is safe.').waitFor()
  await logInAgain(tab, owner)
  await heading(tab, 'Not lost')
  expect(await namesOf(owner)).toEqual(['Not lost'])
})

browserTest('a value that was changed in place is saved after the log-in', async () => {
  const owner = await newOwner(mailed.service)
  const id = await newContact(owner, 'Ada Ended')
  const tab = await openTab(await browserOf(owner), `/contacts/${id}`)
  const edit = tab.getByRole('button', { name: 'Edit Job title' })
  await edit.waitFor({ state: 'attached' })
  await edit.focus()
  await tab.keyboard.press('Enter')
  await inFocus(tab.getByRole('textbox', { name: 'Job title' }))
  await tab.keyboard.type('Countess')
  // A save begins with a read.
  await endSessions(owner)
  await tab.keyboard.press('Enter')
  await logInDialog(tab).getByText('Your change is safe.').waitFor()
  await logInAgain(tab, owner)
  await tab.getByText('Job title saved').first().waitFor()
  expect((await owner.organization.call('GET', `/v5/contacts/${id}`)).body.employmentTitle).toBe('Countess')
})

browserTest('a name that is typed after @, and a choice of notifications, wait for the log-in', async () => {
  const [owner, other] = [await newOwner(mailed.service), await newOwner(mailed.service)]
  const tab = await openTab(await browserOf(owner), `/contacts/${await newContact(owner, 'Ada Ended')}`)
  await whileSending(tab, ['GET', '/v5/members'], () => endSessions(owner))
  await tab.getByLabel('New note').pressSequentially('Ask @')
  await logInAgain(tab, owner)
  await logInDialog(tab).waitFor({ state: 'detached' })
  expect(await tab.getByLabel('New note').inputValue()).toBe('Ask @')
  const second = await openTab(await browserOf(other), '/inbox/settings')
  await whileSending(second, ['PATCH', '/v5/inbox/settings'], () => endSessions(other))
  await second.getByRole('checkbox', { name: 'A note mentions you, Mail, daily' }).click()
  await logInAgain(second, other)
  await logInDialog(second).waitFor({ state: 'detached' })
  await second.reload()
  await second.getByRole('checkbox', { name: 'A note mentions you, Mail, daily', checked: true }).waitFor()
})

browserTest('the dialog does not interrupt typing, and a log-in in another tab closes it', async () => {
  const owner = await newOwner(mailed.service)
  const id = await newContact(owner, 'Ada Ended')
  const context = await browserOf(owner)
  const tab = await openTab(context, `/contacts/${id}`)
  // Simulates that the person types all the time, even while this test waits.
  await tab.evaluate(`globalThis.typing = setInterval(() => dispatchEvent(new Event('input')), 500)`)
  await tab.getByLabel('New note').fill('Half of')
  // The page polls by itself.
  const isRefused = tab.waitForResponse((response) => response.url().includes('/auth/refresh'))
  await endSessions(owner)
  await isRefused
  await tab.keyboard.type(' a note')
  expect(await tab.getByLabel('New note').inputValue()).toBe('Half of a note')
  expect(await logInDialog(tab).count()).toBe(0)
  await tab.evaluate('clearInterval(typing)')
  await logInDialog(tab).waitFor()
  const other = await context.newPage()
  await other.goto('/login')
  await send(other, 'Log in', { email: owner.email, password: owner.password })
  await isInside(other)
  await logInDialog(tab).waitFor({ state: 'detached' })
  await tab.getByRole('button', { name: 'Add note' }).click()
  await tab.getByText('Note added').first().waitFor()
  expect(await notesOf(owner, id)).toEqual(['Half of a note'])
})

browserTest('somebody else who logs in through the dialog sees nothing of the first person in any tab', async () => {
  const owner = await newOwner(mailed.service)
  const other = await newOwner(mailed.service)
  const id = await newContact(owner, 'Secret of the organization')
  const context = await browserOf(owner)
  const [tab, second] = [await openTab(context, `/contacts/${id}`), await openTab(context, `/contacts/${id}`)]
  await tab.getByLabel('New note').fill('Secret note')
  await second.getByLabel('New note').waitFor()
  await second.getByRole('button', { name: 'New task' }).click()
  await second.getByRole('dialog').getByLabel('Title').fill('Secret task')
  await endSessions(owner)
  await tab.bringToFront()
  await tab.keyboard.press('Control+Enter')
  await logInAgain(tab, other)
  await isInside(tab)
  await sidebar(second)
    .getByRole('button', { name: (await other.call('GET', '/v5/organization')).body.name })
    .waitFor()
  for (const page of [tab, second]) {
    expect(await page.content()).not.toMatch(/Secret/)
    expect(await stored(page)).not.toMatch(/Secret/)
  }
  expect(await notesOf(owner, id)).toEqual([])
})

browserTest('drafts survive a reload and a log-in, and a log-out deletes them', async () => {
  const owner = await newOwner(mailed.service)
  const id = await newContact(owner, 'Ada Ended')
  const tab = await openTab(await browserOf(owner), `/contacts/${id}`)
  await tab.getByLabel('New note').fill('Typed before')
  await tab.getByRole('button', { name: 'New task' }).click()
  await tab.getByRole('dialog').getByLabel('Title').fill('Task typed before')
  await endSessions(owner)
  tab.on('dialog', (dialog) => void dialog.accept())
  await tab.reload()
  await heading(tab, 'Log in to Rapport')
  await send(tab, 'Log in', { email: owner.email, password: owner.password })
  await isInside(tab, `/contacts/${id}`)
  expect(await tab.getByLabel('New note').inputValue()).toBe('Typed before')
  await tab.getByRole('button', { name: 'New task' }).click()
  const form = tab.getByRole('dialog', { name: 'New task' })
  expect(await form.getByLabel('Title').inputValue()).toBe('Task typed before')
  await form.getByText('This is what you entered before.').waitFor()
  // Closing the form discards the text.
  await form.getByRole('button', { name: 'Cancel' }).click()
  await form.waitFor({ state: 'detached' })
  expect(await stored(tab)).not.toMatch(/Task typed/)
  await tab.goto('/profile')
  const name = await tab.getByLabel('Your name').inputValue()
  await tab.getByRole('button', { name, exact: true }).click()
  await tab.getByRole('menuitem', { name: 'Log out' }).click()
  await heading(tab, 'You are logged out')
  expect(await stored(tab)).not.toMatch(/Typed|person/)
})

browserTest('a session that may have been hijacked leaves nothing in the browser', async () => {
  const owner = await newOwner(mailed.service)
  const id = await newContact(owner, 'Secret of the organization')
  const context = await browserOf(owner)
  const [first] = await context.cookies()
  const tab = await openTab(context, `/contacts/${id}`)
  await tab.getByLabel('New note').fill('Secret note')
  const renew = (token: string | undefined) => mailed.service.anonymous('POST', '/auth', { body: { token } })
  const current = (await context.cookies()).find(({ name }) => name === 'rapport')
  expect(current?.value).not.toBe(first?.value)
  expect((await renew(current?.value)).status).toBe(200)
  // An attacker has a copy of the first token.
  expect((await renew(first?.value)).status).toBe(401)
  await tab.keyboard.press('Control+Enter')
  await heading(tab, 'Log in to Rapport')
  expect(await tab.content()).not.toMatch(/Secret/)
  expect(await stored(tab)).not.toMatch(/Secret/)
})

browserTest('a secret is never stored, not even while it is shown', async () => {
  const owner = await newOwner(mailed.service)
  const tab = await openTab(await browserOf(owner), '/settings/single-sign-on')
  await tab.getByRole('button', { name: 'Add connection' }).first().click()
  const form = tab.getByRole('dialog', { name: 'Add a connection' })
  await form.getByRole('button', { name: 'Show the password' }).click()
  await form.getByLabel('Client secret').fill('violet secret')
  await form.getByLabel('Name', { exact: true }).fill('Typed name')
  await expect.poll(() => stored(tab)).toMatch(/Typed name/)
  expect(await stored(tab)).not.toMatch(/violet secret/)
})
