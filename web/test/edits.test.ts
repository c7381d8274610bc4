import type { Page } from 'playwright-core'
import { beforeEach, expect, onTestFinished } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { inFocus, keepMessage } from './gestures.ts'
import { Grid } from './grid.ts'

const { openPage, openTab, callAs, expectErrors } = useApplication()

let page: Page
let grid: Grid
let call: Call
/** The contacts of the test in list order, and a text that only they contain. */
let contacts: Json[]
let tag: string
let number = 0
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/contacts' })
  await page.unrouteAll()
  call ??= await callAs()
  grid = new Grid(page)
  tag = `edits ${++number}`
  const created = []
  for (const name of ['Ada Grid', 'Bea Grid', 'Cleo Grid', 'Dora Grid'])
    created.push((await call('POST', '/v5/contacts', { body: { name, employmentTitle: 'Tester', tags: [tag] } })).body)
  contacts = created.reverse()
  await page.goto(`/contacts?filter.tags.has=${encodeURIComponent(tag)}`)
  await grid.settle()
  await grid.box.focus()
  await grid.press('ArrowDown')
})

const stored = async (index: number): Promise<Json> => (await call('GET', `/v5/contacts/${contacts[index].id}`)).body
const expectStored = (index: number, values: object) => expect.poll(() => stored(index)).toMatchObject(values)
const toTitle = async () => {
  await grid.press('ArrowRight', 'ArrowRight', 'ArrowRight')
  await grid.expectActive(0, 'employmentTitle')
}
const toast = (text: string | RegExp) => page.getByRole('region', { name: 'Notifications' }).getByText(text).first()

/** Delays requests about one contact until the returned function is called. */
async function holdRequests(): Promise<() => void> {
  const pattern = /v5\/contacts\/con_/
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route(pattern, (route) => held.then(() => route.continue()))
  onTestFinished(() => page.unroute(pattern))
  return release
}

browserTest('Enter edits a cell and saves it, and the next row becomes active', async () => {
  await toTitle()
  await grid.press('Enter')
  const editor = grid.cell(0, 'employmentTitle').getByRole('textbox')
  expect(await editor.inputValue()).toBe('Tester')
  await page.keyboard.type('Lead tester')
  await grid.press('Enter')
  await grid.expectActive(1, 'employmentTitle')
  await expect.poll(() => grid.cell(0, 'employmentTitle').innerText()).toBe('Lead tester')
  await expectStored(0, { employmentTitle: 'Lead tester' })
})

browserTest('typing replaces the value, Tab saves it and goes right, Escape keeps the old one', async () => {
  await toTitle()
  await page.keyboard.type('Pilot')
  await grid.press('Tab')
  await grid.expectActive(0, 'status')
  await grid.press('ArrowLeft')
  await page.keyboard.type('Driver')
  await grid.press('Escape')
  await grid.expectActive(0, 'employmentTitle')
  await expect.poll(() => grid.cell(0, 'employmentTitle').innerText()).toBe('Pilot')
  await expectStored(0, { employmentTitle: 'Pilot' })
})

browserTest(
  'a new value shows before the service has confirmed it, and the old one returns if it refuses',
  async () => {
    expectErrors(page, /status of 422/)
    const release = await holdRequests()
    await grid.press('ArrowRight', 'ArrowRight')
    await grid.expectActive(0, 'email')
    await page.keyboard.type('bad address')
    await grid.press('Enter')
    await expect.poll(() => grid.cell(0, 'email').innerText()).toBe('bad address')
    release()
    await toast('Email was not saved').waitFor()
    await toast(/^Expected an email address/).waitFor()
    await expect.poll(() => grid.cell(0, 'email').innerText()).toBe('')
    await expectStored(0, { email: null })
    // The text is still there, unless Escape discarded it.
    await grid.press('ArrowUp', 'Enter')
    expect(await grid.cell(0, 'email').getByRole('textbox').inputValue()).toBe('bad address')
    await grid.press('Escape', 'Enter')
    expect(await grid.cell(0, 'email').getByRole('textbox').inputValue()).toBe('')
    await grid.press('Escape')
  },
)

browserTest("the toast's Undo and Ctrl+Z undo changes, most recent first", async () => {
  await toTitle()
  for (const title of ['First', 'Second']) {
    await page.keyboard.type(title)
    await grid.press('Enter')
    await keepMessage(page, 'Job title saved')
    await expectStored(0, { employmentTitle: title })
    await grid.press('ArrowUp')
  }
  await grid.press('Control+z')
  await expectStored(0, { employmentTitle: 'First' })
  await expect.poll(() => grid.cell(0, 'employmentTitle').innerText()).toBe('First')
  await page.getByRole('button', { name: 'Undo' }).last().click()
  await expectStored(0, { employmentTitle: 'Tester' })
})

async function storeTitle(title: string): Promise<void> {
  await toTitle()
  await page.keyboard.type(title)
  await grid.press('Enter')
  await toast('Job title saved').waitFor()
}

browserTest('Ctrl+Z undoes the change that is still being stored, not the previous one', async () => {
  await storeTitle('Stored')
  const release = await holdRequests()
  await grid.press('ArrowUp')
  await page.keyboard.type('Late')
  await grid.press('Enter', 'Control+z')
  release()
  await toast('Job title restored').waitFor()
  await expectStored(0, { employmentTitle: 'Stored' })
})

browserTest('Ctrl+Z for a refused change undoes nothing', async () => {
  expectErrors(page, /status of 422/)
  await storeTitle('Stored')
  const release = await holdRequests()
  await grid.press('ArrowUp', 'ArrowLeft')
  await page.keyboard.type('bad address')
  await grid.press('Enter', 'Control+z')
  release()
  await toast('Email was not saved').waitFor()
  await grid.press('Control+z')
  await toast('Job title restored').waitFor()
  await expectStored(0, { employmentTitle: 'Tester' })
})

browserTest('a change is undone once: by the toast or by Ctrl+Z, which closes the toast', async () => {
  await toTitle()
  const undo = page.getByRole('button', { name: 'Undo' })
  for (const title of ['One', 'Two', 'Three']) {
    await page.keyboard.type(title)
    await grid.press('Enter')
    await keepMessage(page, 'Job title saved')
    await expectStored(0, { employmentTitle: title })
    await grid.press('ArrowUp')
  }
  await expect.poll(() => undo.count()).toBe(3)
  // Ctrl+Shift+Z means redo elsewhere, so it must not undo.
  await grid.press('Control+Shift+z')
  // The second undo checks the state that the first one left.
  await grid.press('Control+z', 'Control+z')
  await expectStored(0, { employmentTitle: 'One' })
  await expect.poll(() => undo.count()).toBe(1)
  await undo.click()
  await expectStored(0, { employmentTitle: 'Tester' })
  await expect.poll(() => undo.count()).toBe(0)
  expect(await toast('It has been changed since.').count()).toBe(0)
})

browserTest('Undo does not overwrite what someone else has changed meanwhile', async () => {
  await toTitle()
  await page.keyboard.type('Mine')
  await grid.press('Enter')
  await expectStored(0, { employmentTitle: 'Mine' })
  await toast('Job title saved').waitFor()
  await call('PATCH', `/v5/contacts/${contacts[0].id}`, { body: { employmentTitle: 'Theirs' } })
  await grid.press('Control+z')
  await toast('Job title was not saved').waitFor()
  await toast('It has been changed since.').waitFor()
  await expectStored(0, { employmentTitle: 'Theirs' })
})

browserTest('deleting a selection states the kind and number of records, and Undo restores exactly those', async () => {
  await grid.press('x', 'Shift+ArrowDown')
  await page.getByRole('region', { name: 'Actions for the selection' }).getByRole('button', { name: 'Delete' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete 2 contacts?' })
  await dialog.getByRole('button', { name: 'Delete' }).dblclick()
  await toast('Deleted 2 contacts').waitFor()
  await expect.poll(() => grid.box.getAttribute('aria-rowcount')).toBe('3')
  await expect.poll(async () => [...(await grid.rows()).values()]).toEqual([contacts[2].id, contacts[3].id])
  // The focus returns to the list, on a row that still exists.
  await expect.poll(() => grid.box.evaluate((box) => box === box.ownerDocument.activeElement)).toBe(true)
  await expect.poll(() => grid.activeId()).toBeOneOf([contacts[2].id, contacts[3].id])
  expect((await call('GET', `/v5/contacts/${contacts[0].id}`)).status).toBe(404)
  await grid.press('Control+z')
  await expect.poll(async () => (await call('GET', `/v5/contacts/${contacts[0].id}`)).status).toBe(200)
  await expect.poll(() => grid.box.getAttribute('aria-rowcount')).toBe('5')
})

browserTest('Undo removes a tag from exactly the records that got it', async () => {
  const added = `${tag} added`
  await call('PATCH', `/v5/contacts/${contacts[1].id}`, { body: { tags: [tag, 'kept'] } })
  await grid.press('x', 'Shift+ArrowDown')
  await page.getByRole('button', { name: 'Add a tag' }).click()
  await page.getByRole('textbox', { name: 'Tag' }).fill(added)
  await grid.press('Enter')
  await toast(`Tagged 2 contacts with “${added}”`).waitFor()
  await expectStored(1, { tags: [tag, 'kept', added] })
  await page.getByRole('button', { name: 'Undo' }).last().click()
  await expectStored(0, { tags: [tag] })
  await expectStored(1, { tags: [tag, 'kept'] })
})

browserTest('a saved value survives a response that was requested before', async () => {
  await grid.press('ArrowDown', 'ArrowDown', 'x')
  await page.getByRole('region', { name: 'Actions for the selection' }).getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await expect.poll(() => grid.box.getAttribute('aria-rowcount')).toBe('4')
  await inFocus(grid.box)
  let release = () => undefined as void
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route(/v5\/contacts\?.*limit=100/, async (route) => {
    const response = await route.fetch()
    await held
    await route.fulfill({ response })
  })
  onTestFinished(() => page.unroute(/v5\/contacts\?.*limit=100/))
  const isReloading = page.waitForRequest(/v5\/contacts\?.*limit=100/)
  await grid.press('Control+z')
  await isReloading
  await grid.press('ArrowUp', 'ArrowUp')
  await toTitle()
  await page.keyboard.type('Saved meanwhile')
  await grid.press('Enter')
  await expectStored(0, { employmentTitle: 'Saved meanwhile' })
  release()
  await expect.poll(() => grid.box.getAttribute('aria-rowcount')).toBe('5')
  await grid.settle()
  expect(await grid.cell(0, 'employmentTitle').innerText()).toBe('Saved meanwhile')
})

browserTest('what others change is loaded after a change that is being stored, which it would revert', async () => {
  const tab = await openTab(page, new URL(page.url()).pathname + new URL(page.url()).search)
  const other = new Grid(tab)
  await other.settle()
  const release = await holdRequests()
  await toTitle()
  await page.keyboard.type('Mine')
  await grid.press('Enter')
  await expect.poll(() => grid.cell(0, 'employmentTitle').innerText()).toBe('Mine')
  let reads = 0
  page.on('request', (request) => (reads += new URL(request.url()).pathname === '/v5/contacts' ? 1 : 0))
  await call('PATCH', `/v5/contacts/${contacts[0].id}`, { body: { name: 'Dora Other' } })
  await expect.poll(() => other.cell(0, 'name').innerText()).toContain('Dora Other')
  expect(reads).toBe(0)
  release()
  await expect.poll(() => grid.cell(0, 'name').innerText()).toContain('Dora Other')
  await expectStored(0, { name: 'Dora Other', employmentTitle: 'Mine' })
  await expect.poll(() => grid.cell(0, 'employmentTitle').innerText()).toBe('Mine')
  await tab.close()
})

browserTest('records selected during a deletion stay selected, and other lists drop the deleted ones too', async () => {
  await grid.press('x')
  let release = () => undefined as void
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route(`**/v5/contacts/${contacts[0].id}`, async (route) => {
    if (route.request().method() === 'DELETE') await held
    await route.continue()
  })
  const bar = page.getByRole('region', { name: 'Actions for the selection' })
  await bar.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await grid.box.getByRole('checkbox', { name: 'Select Bea Grid' }).or(grid.box.getByRole('checkbox')).nth(2).click()
  release()
  await toast('Deleted 1 contact').waitFor()
  await bar.getByText('1 selected').waitFor()
})
