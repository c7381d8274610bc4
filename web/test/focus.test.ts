import type { Page } from 'playwright-core'
import { beforeAll, expect } from 'vitest'
import { chromium } from '../../server/test/chromium.ts'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { focusIn } from './gestures.ts'

// Runs alone, because it changes stages, teams and properties.
const { openPage, callAs } = useApplication({ isAlone: true })

let page: Page
let call: Call
let number = 0
beforeAll(async () => {
  if (!chromium) return
  call = await callAs('owner', 'small')
  page = await openPage({ stays: true, organization: 'small', path: '/forgot-password' })
})

const created = async (path: string, body: object): Promise<Json> => {
  const answer = await call('POST', path, { body })
  expect(answer.status, answer.text).toBe(201)
  return answer.body
}
const dialog = () => page.getByRole('dialog')
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
const item = (name: string) => page.getByRole('menuitem', { name, exact: true })
const gone = () => dialog().first().waitFor({ state: 'detached' })

/** Expects that the focus has settled on a focusable element. */
async function expectFocus(after: string): Promise<void> {
  const place = () =>
    page.evaluate<string>(
      `document.activeElement === document.body || document.activeElement === null ? 'nowhere' : 'somewhere'`,
    )
  await expect.poll(place, { message: after }).toBe('somewhere')
}

/** Opens and closes a dialog with the keyboard, in every possible way. */
async function leave(name: string, open: () => Promise<unknown>): Promise<void> {
  for (const way of ['Escape', 'Cancel', 'Close']) {
    await open()
    await focusIn(dialog().first())
    const press = dialog().first().getByRole('button', { name: way, exact: true })
    if (way === 'Escape') await page.keyboard.press('Escape')
    else if ((await press.count()) > 0) await press.press('Enter')
    else await page.keyboard.press('Escape')
    await gone()
    await expectFocus(`${name}, left by ${way}`)
  }
}

browserTest('the focus stays in the page when dialogs of lists are cancelled, and after their actions', async () => {
  await page.goto('/contacts')
  await page.getByRole('row').nth(1).waitFor()
  await leave('new contact', () => button('New contact').press('Enter'))
  await leave('filter', () => button('Filter').press('Enter'))
  await leave('columns', () => button('Columns').press('Enter'))
  await leave('palette', () => page.keyboard.press('Control+k'))
  await leave('shortcuts', () => page.keyboard.press('?'))
  const tag = `focus ${++number}`
  for (const one of ['a', 'b', 'c']) await created('/v5/contacts', { name: `${tag} ${one}`, tags: [tag] })
  await page.goto(`/contacts?filter.tags.has=${encodeURIComponent(tag)}`)
  await expect.poll(() => page.getByRole('row').count()).toBe(4)
  await page.getByRole('row').nth(1).getByRole('checkbox').click()
  await button('Add a tag').press('Enter')
  await page.getByRole('textbox', { name: 'Tag' }).fill('more')
  await page.keyboard.press('Enter')
  // The changed rows are no longer selected.
  await button('Add a tag').waitFor({ state: 'detached' })
  await expectFocus('a tag was added')
  await page.getByRole('row').nth(1).getByRole('checkbox').click()
  await leave('delete', () => button('Delete').press('Enter'))
  await button('Delete').press('Enter')
  await dialog().getByRole('button', { name: 'Delete' }).press('Enter')
  await gone()
  await expectFocus('a selection was deleted')
  await button('Remove the filter').press('Enter')
  await expectFocus('a filter was removed')
})

browserTest('the focus stays in the page when parts of a record are created, changed and deleted', async () => {
  const contact = await created('/v5/contacts', { name: `Focus ${++number}` })
  await created('/v5/tasks', { title: 'To edit', contactId: contact.id })
  await created(`/v5/contacts/${contact.id}/notes`, { body: 'To delete' })
  await page.goto(`/contacts/${contact.id}`)
  await leave('new task', () => button('New task').press('Enter'))
  await button('New task').press('Enter')
  await dialog().getByRole('textbox', { name: 'Title' }).fill('Created')
  await page.keyboard.press('Enter')
  await gone()
  await expectFocus('a task was created')
  await button('Actions for To edit').first().press('Enter')
  await item('Edit').press('Enter')
  await dialog().getByRole('textbox', { name: 'Title' }).fill('Edited')
  await page.keyboard.press('Enter')
  await gone()
  await expectFocus('a task was edited')
  await button('Actions for Edited').first().press('Enter')
  await item('Delete').press('Enter')
  await page.getByText('Deleted: Edited').first().waitFor()
  await expectFocus('a task was deleted')
  await button('More actions').press('Enter')
  await item('Delete').press('Enter')
  await dialog().getByRole('button', { name: 'Delete' }).press('Enter')
  await page.waitForURL('**/contacts')
  await expectFocus('the record was deleted')
})

browserTest('the focus stays in the page when settings are added and deleted', async () => {
  const pipeline = await created('/v5/pipelines', { name: `Focus ${++number}` })
  await page.goto(`/settings/pipelines?pipeline=${pipeline.id}`)
  await leave('stage', () => button('Add a stage').press('Enter'))
  await button('Add a stage').press('Enter')
  await dialog().getByRole('textbox', { name: 'Name' }).fill('First')
  await page.keyboard.press('Enter')
  await gone()
  await expectFocus('a stage was added')
  await button('Actions for First').press('Enter')
  await item('Delete').press('Enter')
  await dialog().getByRole('button', { name: 'Delete' }).press('Enter')
  await gone()
  await expectFocus('a stage was deleted')
  await page.goto('/settings/organization')
  await leave('organization', () => button('Create').press('Enter'))
  await page.goto('/settings/properties')
  await leave('property', () => button('New property').press('Enter'))
})
