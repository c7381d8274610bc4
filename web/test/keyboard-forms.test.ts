import type { CDPSession, Locator, Page } from 'playwright-core'
import { beforeEach, expect, onTestFinished } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { inFocus } from './gestures.ts'

const { openPage, callAs } = useApplication()

let page: Page
let call: Call
let number = 0
/** A text that only the records of this test contain. */
let tag: string
beforeEach(async () => {
  page ??= await openPage({ stays: true, organization: 'small', path: '/forgot-password' })
  call ??= await callAs('owner', 'small')
  tag = `Keys${++number}`
})

const created = async (path: string, body: object): Promise<Json> => {
  const answer = await call('POST', path, { body })
  expect(answer.status).toBe(201)
  return answer.body
}
const dialog = (name: string | RegExp) => page.getByRole('dialog', { name })
const properties = () => page.getByRole('complementary', { name: 'Properties' })
interface Labelled {
  ariaLabel: string | null
  labels?: ArrayLike<{ firstChild: { textContent: string } }>
}
const labelOf = (element: unknown): string | undefined => {
  const { ariaLabel, labels } = element as Labelled
  return ariaLabel ?? labels?.[0]?.firstChild.textContent
}
const focusedLabel = () => page.locator(':focus').evaluate(labelOf)

/** Waits for a suggestion for the whole text: Enter does not choose one for its beginning. */
async function suggested(name: string): Promise<void> {
  await page.locator('[role=listbox][aria-busy=false]').getByRole('option', { name }).waitFor()
}

/** Delays the responses to requests for suggestions until the returned function is called. */
async function holdSuggestions(path: RegExp): Promise<() => void> {
  let release = () => undefined as void
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route(path, async (route) => {
    if (new URL(route.request().url()).searchParams.has('query')) await held
    await route.continue()
  })
  onTestFinished(() => page.unroute(path))
  return release
}

browserTest('a form can be filled in with the keyboard alone, including references', async () => {
  const company = await created('/v5/companies', { name: `${tag} Works` })
  await page.goto('/contacts?new=1')
  const form = dialog('New contact')
  await form.getByRole('textbox', { name: /^Name/ }).waitFor()
  await form.getByRole('button', { name: /more fields/ }).click()
  const reference = form.getByRole('combobox', { name: /^Company/ })
  await reference.focus()
  await page.keyboard.type(tag)
  await suggested(`${tag} Works`)
  await page.keyboard.press('Enter')
  // The dialog is still open and has the focus.
  await expect.poll(() => reference.inputValue()).toBe(`${tag} Works`)
  await inFocus(reference)
  const fields = await form.locator('input, select, textarea').all()
  const labels = await Promise.all(fields.map((field) => field.evaluate(labelOf)))
  await page.keyboard.press('Tab')
  expect(await focusedLabel()).toBe(labels[labels.indexOf('Company') + 1])
  await form.getByRole('textbox', { name: /^Name/ }).fill(`${tag} Person`)
  // Tab also selects the record, and moves the focus on.
  const owner = form.getByRole('combobox', { name: /^Owner/ })
  await owner.focus()
  await page.keyboard.type('Ada')
  await suggested('Ada Lovelace')
  await page.keyboard.press('Tab')
  await expect.poll(() => owner.inputValue()).toBe('Ada Lovelace')
  await page.locator('[role=dialog] :focus').waitFor()
  expect(await focusedLabel()).not.toBe('Owner')
  // The first Escape closes the suggestions, the next one the confirmation.
  await owner.focus()
  await page.keyboard.type('Al')
  await page.getByRole('listbox').getByRole('option').first().waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => owner.inputValue()).toBe('Ada Lovelace')
  await form.getByRole('textbox', { name: /^Name/ }).press('Enter')
  await page.getByRole('heading', { level: 1, name: `${tag} Person` }).waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).not.toBe('BODY')
  const { body } = await call('GET', `/v5/contacts/${new URL(page.url()).pathname.split('/').pop()}`)
  expect(body).toMatchObject({ companyId: company.id, ownerId: expect.stringMatching(/^usr_/) })
})

browserTest('text that matches no record is an error, and the form is not sent', async () => {
  await page.goto('/contacts?new=1')
  const form = dialog('New contact')
  await form.getByRole('textbox', { name: /^Name/ }).fill(`${tag} Person`)
  await form.getByRole('button', { name: /more fields/ }).click()
  const reference = form.getByRole('combobox', { name: /^Company/ })
  await reference.fill('no company has this name')
  await page.getByText('Nothing matches').waitFor()
  await form.getByRole('textbox', { name: /^Name/ }).press('Enter')
  await form.getByText('Choose one from the list.').waitFor()
  await expect.poll(focusedLabel).toBe('Company')
  await reference.fill('')
  await page.keyboard.press('Tab')
  await form.getByRole('textbox', { name: /^Name/ }).press('Enter')
  await page.getByRole('heading', { level: 1, name: `${tag} Person` }).waitFor()
})

browserTest('Enter before the suggestions arrive only selects the record with exactly that name', async () => {
  const contact = await created('/v5/contacts', { name: `${tag} Person` })
  const company = await created('/v5/companies', { name: `${tag} Exact` })
  await created('/v5/companies', { name: `${tag} Exact Holding` })
  await page.goto(`/contacts/${contact.id}`)
  const release = await holdSuggestions(/\/v5\/companies\?/)
  const edit = properties().getByRole('button', { name: 'Edit Company' })
  const editor = properties().getByRole('combobox', { name: 'Company' })
  await edit.click()
  await page.getByRole('option').first().waitFor()
  await page.keyboard.type(`${tag} Ex`)
  await page.keyboard.press('Enter')
  release()
  await expect.poll(() => page.getByRole('option').count()).toBe(2)
  // Enter chose neither, because neither was visible when it was pressed.
  expect(await editor.inputValue()).toBe(`${tag} Ex`)
  expect((await call('GET', `/v5/contacts/${contact.id}`)).body.companyId).toBeNull()
  await editor.press('Escape')

  const again = await holdSuggestions(/\/v5\/companies\?/)
  await edit.click()
  await page.getByRole('option').first().waitFor()
  await page.keyboard.type(`${tag.toLowerCase()} exact`)
  await page.keyboard.press('Enter')
  again()
  await expect.poll(async () => (await call('GET', `/v5/contacts/${contact.id}`)).body.companyId).toBe(company.id)
})

browserTest('the palette opens no result of an earlier text', async () => {
  await created('/v5/contacts', { name: `${tag} Person` })
  const other = await created('/v5/contacts', { name: `${tag} Else` })
  await page.goto('/contacts')
  await page.getByRole('row').nth(1).waitFor()
  await page.keyboard.press('Control+k')
  const palette = page.getByRole('dialog').getByRole('combobox')
  await palette.fill(`${tag} Person`)
  await page
    .getByRole('option', { name: `${tag} Person` })
    .first()
    .waitFor()
  const release = await holdSuggestions(/\/v5\/contacts\?/)
  await palette.fill(`${tag} Else`)
  await page.keyboard.press('Enter')
  await expect.poll(() => page.getByRole('listbox').getAttribute('aria-busy')).toBe('true')
  expect(new URL(page.url()).pathname).toBe('/contacts')
  release()
  await page.waitForURL(`**/contacts/${other.id}`)
})

browserTest('in the properties of a record, Tab moves to the next one, and Shift+Tab back', async () => {
  const company = await created('/v5/companies', { name: `${tag} Tab` })
  const contact = await created('/v5/contacts', { name: `${tag} Person` })
  await page.goto(`/contacts/${contact.id}`)
  const buttons = properties().locator('[data-edit]')
  await buttons.first().waitFor()
  const labels = await Promise.all((await buttons.all()).map((button) => button.evaluate(labelOf)))
  const place = labels.indexOf('Edit Company')
  await buttons.nth(place).press('Enter')
  await inFocus(properties().getByRole('combobox', { name: 'Company' }))
  await page.keyboard.type(`${tag} Tab`)
  await suggested(`${tag} Tab`)
  await page.keyboard.press('Tab')
  await expect.poll(focusedLabel).toBe(labels[place + 1])
  await expect.poll(async () => (await call('GET', `/v5/contacts/${contact.id}`)).body.companyId).toBe(company.id)
  await page.keyboard.press('Enter')
  // The next property is being edited.
  await properties().locator('input:focus, select:focus, textarea:focus').waitFor()
  await page.keyboard.press('Shift+Tab')
  await expect.poll(focusedLabel).toBe('Edit Company')
})

/** Simulates an input method: key events arrive while a part of the text is undecided. */
async function compose(session: CDPSession, text: string, keys: readonly string[]): Promise<void> {
  await session.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length })
  for (const key of keys) await page.keyboard.press(key)
}

browserTest("keys of an input method's composition do nothing else", async () => {
  const contact = await created('/v5/contacts', { name: `${tag} Person` })
  await created('/v5/companies', { name: `日本 ${tag}` })
  const session = await page.context().newCDPSession(page)
  const keys = ['ArrowDown', 'Enter', 'Control+Enter', 'Tab', 'Escape']
  const expectComposed = async (input: Locator) => {
    await input.and(page.locator(':focus')).waitFor()
    await compose(session, '日', keys)
    expect(await input.and(page.locator(':focus')).count()).toBe(1)
    expect(await input.inputValue()).toContain('日')
    await session.send('Input.insertText', { text: '日' })
  }
  await page.goto(`/contacts/${contact.id}`)
  await properties().getByRole('button', { name: 'Edit Company' }).click()
  await expectComposed(properties().getByRole('combobox', { name: 'Company' }))
  await page.keyboard.press('Escape')
  expect((await call('GET', `/v5/contacts/${contact.id}`)).body.companyId).toBeNull()
  await properties().getByRole('button', { name: 'Edit Job title' }).click()
  await expectComposed(properties().getByRole('textbox', { name: 'Job title' }))
  await page.keyboard.press('Escape')
  const note = page.getByRole('textbox', { name: /note/i })
  await note.focus()
  await expectComposed(note)
  await note.fill('')
  await page.keyboard.press('Control+k')
  await expectComposed(page.getByRole('dialog').getByRole('combobox'))
  await page.keyboard.press('Escape')
  await page.goto('/contacts')
  const search = page.getByRole('searchbox', { name: 'Search contacts' })
  await search.focus()
  await expectComposed(search)
  await page.goto('/contacts?new=1')
  const name = dialog('New contact').getByRole('textbox', { name: /^Name/ })
  await expectComposed(name)
  expect(await dialog('New contact').count()).toBe(1)
  const { body } = await call('GET', `/v5/contacts/${contact.id}/notes`)
  expect(body).toEqual([])
  expect((await call('GET', `/v5/contacts/${contact.id}`)).body).toMatchObject({
    companyId: null,
    employmentTitle: null,
  })
})
