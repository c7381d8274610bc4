import type { Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import { browserTest, useApplication } from './application.ts'
import { inFocus } from './gestures.ts'

const { openPage, callAs, expectErrors } = useApplication()

let page: Page
beforeEach(async () => {
  page ??= await openPage({ stays: true, organization: 'small', path: '/forgot-password' })
})

const dialog = () => page.getByRole('dialog', { name: 'New contact' })
const input = (name: RegExp) => dialog().getByRole('textbox', { name })

browserTest('errors of a form are next to their fields, and the first of them has the focus', async () => {
  expectErrors(page, /status of 422/)
  await page.goto('/contacts?new=1')
  await input(/^Name/).fill('Form of errors')
  await input(/^Email/).fill('not an address')
  await page.keyboard.press('Enter')
  await expect.poll(() => input(/^Email/).getAttribute('aria-invalid')).toBe('true')
  await expect.poll(() => page.locator(':focus').getAttribute('type')).toBe('email')
  const described = (await input(/^Email/).getAttribute('aria-describedby')) ?? ''
  const texts = described.split(' ').map((id) => page.locator(`[id="${id}"]`).innerText())
  expect((await Promise.all(texts)).join(' ')).toMatch(/email/i)
})

browserTest('Enter submits a form, and pressing it again, or twice, creates one record', async () => {
  const name = 'Form Created Once'
  const posts: string[] = []
  page.on('request', (request) => request.method() === 'POST' && posts.push(new URL(request.url()).pathname))
  await page.goto('/contacts?new=1')
  await input(/^Name/).fill(name)
  await input(/^Email/).fill('form-once@example.com')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name }).waitFor()
  expect(posts.filter((path) => path === '/v5/contacts')).toHaveLength(1)
  const call = await callAs('owner', 'small')
  expect((await call('GET', '/v5/contacts?filter.email.equals=form-once@example.com')).body).toHaveLength(1)

  await page.goto('/contacts?new=1')
  await input(/^Name/).fill('Form Clicked Twice')
  await dialog().getByRole('button', { name: 'New contact' }).dblclick()
  await page.getByRole('heading', { level: 1, name: 'Form Clicked Twice' }).waitFor()
  expect(posts.filter((path) => path === '/v5/contacts')).toHaveLength(2)
})

browserTest('leaving a form with unsaved changes asks first', async () => {
  await page.goto('/contacts')
  await page.getByRole('button', { name: 'New contact' }).click()
  await inFocus(input(/^Name/))
  await page.keyboard.press('Escape')
  await dialog().waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'New contact' }).click()
  await input(/^Name/).fill('Somebody')
  await page.keyboard.press('Escape')
  const question = page.getByRole('dialog', { name: 'Leave without saving?' })
  await question.getByRole('button', { name: 'Stay' }).click()
  await question.waitFor({ state: 'detached' })
  await expect.poll(() => input(/^Name/).inputValue()).toBe('Somebody')
  await page.goBack()
  await question.getByRole('button', { name: 'Leave' }).click()
  await dialog().waitFor({ state: 'detached' })
  await page.getByRole('heading', { level: 1, name: 'Contacts' }).waitFor()
})

browserTest('dialogs keep the focus inside and return it to the button that opened them', async () => {
  await page.goto('/contacts')
  const button = page.getByRole('button', { name: 'New contact' })
  await button.focus()
  await page.keyboard.press('Enter')
  await inFocus(input(/^Name/))
  for (let step = 0; step < 25; step++) {
    await page.keyboard.press('Tab')
    await expect.poll(() => page.locator('[role=dialog]:focus, [role=dialog] :focus').count()).toBe(1)
  }
  await page.keyboard.press('Escape')
  await expect.poll(() => button.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
})

browserTest('text can be pasted into every field of a form', async () => {
  await page.goto('/contacts?new=1')
  await input(/^Name/).waitFor()
  await page.evaluate('navigator.clipboard.writeText("pasted text")')
  for (const field of await dialog().getByRole('textbox').all()) {
    await field.focus()
    await page.keyboard.press('Control+v')
    await expect.poll(() => field.inputValue()).toBe('pasted text')
  }
})

browserTest('a duplicate of a unique value shows a link to the other record with its name', async () => {
  expectErrors(page, /status of 409/)
  const call = await callAs('owner', 'small')
  const email = 'form-taken@example.com'
  const holder = (await call('POST', '/v5/contacts', { body: { name: 'Form Holder', email } })).body
  await page.goto('/contacts?new=1')
  await input(/^Name/).fill('Form Second')
  await input(/^Email/).fill(email)
  await page.keyboard.press('Enter')
  const link = dialog().getByRole('link', { name: 'Form Holder' })
  await link.waitFor()
  expect(await link.getAttribute('href')).toBe(`/contacts/${holder.id}`)
  expect(await dialog().innerText()).not.toContain(holder.id)
  const other = (await call('POST', '/v5/contacts', { body: { name: 'Form Third' } })).body
  await page.goto(`/contacts/${other.id}`)
  const properties = page.getByRole('complementary', { name: 'Properties' })
  await properties.getByRole('button', { name: 'Edit Email' }).click()
  await properties.getByRole('textbox', { name: 'Email' }).fill(email)
  await page.keyboard.press('Enter')
  const toasts = page.getByRole('region', { name: 'Notifications' })
  await toasts.getByRole('link', { name: 'Form Holder' }).waitFor()
  expect(await toasts.innerText()).not.toContain(holder.id)
})

browserTest('the tasks of the list and those of a record are created in the same dialog', async () => {
  const call = await callAs('owner', 'small')
  const { id } = (await call('GET', '/v5/me')).body
  const contact = (await call('POST', '/v5/contacts', { body: { name: 'Form Subject' } })).body
  const form = page.getByRole('dialog', { name: 'New task' })
  const shape = async () => {
    await form.getByRole('textbox', { name: 'Title' }).waitFor()
    await expect.poll(() => form.getByRole('combobox', { name: /^Assignee/ }).inputValue()).toBe('Ada Lovelace')
    const labels = await form.locator('label').allInnerTexts()
    expect(await form.innerText()).not.toContain('dueAt')
    return labels.filter((label) => !label.startsWith('Contact'))
  }
  await page.goto('/tasks?new=1')
  const ofList = await shape()
  await page.goto(`/contacts/${contact.id}`)
  await page.getByRole('button', { name: 'New task' }).click()
  await expect.poll(shape).toEqual(ofList)
  await page.goto('/tasks?new=Call%20them')
  await expect.poll(() => form.getByRole('textbox', { name: 'Title' }).inputValue()).toBe('Call them')
  await form.getByRole('combobox', { name: /^About/ }).selectOption({ label: 'Contact' })
  await form.getByRole('combobox', { name: /^Contact/ }).fill('Form Subject')
  // Enter must not choose a suggestion for the earlier text.
  await page.locator('[role=listbox][aria-busy=false]').getByRole('option', { name: 'Form Subject' }).waitFor()
  await page.keyboard.press('Enter')
  await form.getByRole('button', { name: 'Add task' }).click()
  await form.waitFor({ state: 'detached' })
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).not.toBe('BODY')
  const { body } = await call('GET', `/v5/tasks?contactId=${contact.id}`)
  expect(body).toMatchObject([{ title: 'Call them', assigneeId: id, dueDate: null, dueAt: null }])
})

browserTest('a web address is accepted without its scheme', async () => {
  await page.goto('/contacts?new=1')
  await input(/^Name/).fill('Form Website')
  await dialog()
    .getByRole('button', { name: /more fields/ })
    .click()
  const website = input(/^Website/)
  await website.fill('www.example.com')
  expect(
    await website.evaluate((element) => (element as unknown as { validity: { valid: boolean } }).validity.valid),
  ).toBe(true)
})
