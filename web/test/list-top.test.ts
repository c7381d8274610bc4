import type { Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import { addRows } from '../../server/test/import-rows.ts'
import { browserTest, useApplication } from './application.ts'
import { BoardPage } from './board-page.ts'
import { inFocus, typeAtOnce } from './gestures.ts'
import { Grid } from './grid.ts'

const { openPage, callAs, service } = useApplication()

let page: Page
let grid: Grid
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/contacts' })
  grid = new Grid(page)
})

const far = 36 * 700
const scrollFar = async () => {
  await grid.settle()
  await grid.scrollTo(far)
  await expect.poll(async () => (await grid.rows()).has(705)).toBe(true)
}
const expectTop = async () => {
  await expect.poll(() => grid.scrollTop()).toBe(0)
  await grid.settle()
  await expect.poll(async () => (await grid.rows()).has(0)).toBe(true)
}

browserTest('other records start at the top: after a filter, a search, an order, a view, the bin', async () => {
  const call = await callAs()
  const view = { resource: 'contacts', name: 'By name', orderBy: 'name', sort: 'asc', columns: ['name', 'email'] }
  const { body, status } = await call('POST', '/v5/views', { body: view })
  expect(status).toBe(201)
  await page.goto('/contacts')
  await scrollFar()
  await page.keyboard.press('f')
  const form = page.getByRole('dialog', { name: 'Add a filter' })
  await inFocus(form.getByRole('combobox', { name: 'Property' }))
  await form.getByRole('combobox', { name: 'Property' }).selectOption({ label: 'Country' })
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await typeAtOnce(page, 'Germ')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.waitForURL(/filter.countryCode/)
  await expectTop()

  await page.goBack()
  // Back restores the position.
  await expect.poll(() => grid.scrollTop()).toBe(far)
  await page.getByRole('searchbox').fill('a')
  await page.waitForURL(/query=a/)
  await expectTop()

  await scrollFar()
  await page.getByRole('button', { name: /^Sorted by/ }).click()
  await page.getByRole('combobox', { name: 'Direction' }).selectOption({ label: 'Ascending' })
  await page.keyboard.press('Escape')
  await expectTop()

  await page.goto('/contacts')
  await scrollFar()
  await page
    .getByRole('navigation', { name: 'Views' })
    .getByRole('link', { name: /By name/ })
    .click()
  await page.waitForURL(new RegExp(body.id))
  await expectTop()
  await scrollFar()
  await page.getByRole('button', { name: 'More actions' }).first().click()
  await page.getByRole('menuitem', { name: 'deleted' }).click()
  await page.waitForURL(/deleted=true/)
  await expect.poll(() => grid.scrollTop()).toBe(0)
})

browserTest('cards of a board, rows of an import and results of the palette start at the top too', async () => {
  const call = await callAs()
  const names = Array.from({ length: 30 }, (_, index) => `Deal ${index}`)
  const board = await BoardPage.open(page, call, 'Long board', { Lead: names })
  const box = page.getByRole('group', { name: 'Long board' })
  const scrollDown = () =>
    box.evaluate((element) => {
      element.scrollTop = 1500
      return element.scrollTop
    })
  await expect.poll(scrollDown).toBeGreaterThan(1000)
  await page.getByRole('searchbox').fill('Deal 2')
  await page.waitForURL(/query=Deal/)
  await board.card('Deal 2').waitFor()
  await expect.poll(() => box.evaluate((element) => element.scrollTop)).toBe(0)

  const { body } = await call('POST', '/v5/imports', { body: { name: 'Long import' } })
  const rows = [...Array(30).fill({ status: 'INVALID' }), ...Array(30).fill({ status: 'PROCESSED' })]
  await addRows(service(), body.id, rows)
  await page.goto(`/imports/${body.id}`)
  const row = page.locator('tr[data-status]')
  await row.nth(40).scrollIntoViewIfNeeded()
  const rowsBox = page.getByRole('table', { name: 'Rows' }).locator('..')
  expect(await rowsBox.evaluate((element) => element.scrollTop)).toBeGreaterThan(100)
  await page
    .getByRole('group', { name: 'Filter by status' })
    .getByRole('button', { name: /^Invalid/ })
    .click()
  await expect.poll(() => row.count()).toBe(30)
  await expect.poll(() => rowsBox.evaluate((element) => element.scrollTop)).toBe(0)

  await page.keyboard.press('Control+k')
  const hits = page.getByRole('listbox', { name: 'Commands and search' })
  await inFocus(page.getByRole('combobox', { name: 'Commands and search' }))
  await hits.evaluate((element) => void (element.scrollTop = 200))
  await page.keyboard.type('o')
  await expect.poll(() => hits.evaluate((element) => element.scrollTop)).toBe(0)
  await page.keyboard.press('Escape')
})
