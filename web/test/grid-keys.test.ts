import type { Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import { browserTest, useApplication } from './application.ts'
import { Grid } from './grid.ts'

const { openPage, callAs } = useApplication()

let page: Page
let grid: Grid
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/contacts', height: 900 })
  grid = new Grid(page)
  await grid.settle()
  await grid.box.focus()
  await grid.press('Control+Home')
  await grid.expectActive(0, 'name')
})

/** Is the active cell visible, and not covered by the grid's head or pinned columns? */
async function expectActiveIsVisible(): Promise<void> {
  await expect
    .poll(() =>
      grid.box.evaluate((box) => {
        const cell = box.querySelector('[data-active]')?.getBoundingClientRect()
        const outer = box.getBoundingClientRect()
        const head = box.querySelector('[role=columnheader]').getBoundingClientRect()
        return (
          cell !== undefined &&
          cell.top >= head.bottom - 1 &&
          cell.bottom <= outer.bottom + 1 &&
          cell.left >= outer.left - 1 &&
          cell.left < outer.right
        )
      }),
    )
    .toBe(true)
}

browserTest('the grid is one Tab stop, whose arrow keys move the active cell, which is always visible', async () => {
  await grid.press('ArrowDown', 'ArrowDown', 'ArrowRight', 'j', 'k', 'ArrowUp')
  await grid.expectActive(1, 'company')
  await grid.press('End')
  await grid.expectActive(1, 'createdAt')
  await expectActiveIsVisible()
  await grid.press('Home')
  await grid.expectActive(1, 'name')
  await grid.press('PageDown', 'PageDown')
  await expect.poll(async () => (await grid.active())?.index).toBeGreaterThan(30)
  await expectActiveIsVisible()
  await grid.press('PageUp')
  await expectActiveIsVisible()
  await grid.press('Tab')
  await expect.poll(() => page.locator('[role=grid]:focus, [role=grid] :focus').count()).toBe(0)
  await grid.press('Shift+Tab')
  await expect.poll(() => grid.box.evaluate((box) => box === box.ownerDocument.activeElement)).toBe(true)
})

browserTest('Ctrl+End goes to the last of 100,000 rows, and Ctrl+Home back to the first', async () => {
  const call = await callAs()
  const end = (await call('GET', '/v5/contacts/count')).body.count - 1
  const last = await call('GET', '/v5/contacts?limit=100&orderBy=createdAt&sort=asc&select[]=id')
  await grid.press('Control+End')
  await grid.expectActive(end, 'createdAt')
  await grid.settle()
  await expectActiveIsVisible()
  await expect.poll(() => grid.activeId()).toBe(last.body[0].id)
  const rows = [...(await grid.rows())].filter(([index]) => index > end - 100)
  expect(rows.map(([, id]) => id)).toEqual(rows.map(([index]) => last.body[end - index].id))
  await grid.press('Control+Home')
  await grid.expectActive(0, 'name')
  await expectActiveIsVisible()
})

browserTest('the active cell stays on its record when the order changes', async () => {
  await page.goto('/contacts?query=Ruth%20Tanaka')
  await grid.settle()
  await grid.box.focus()
  await grid.press('ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowRight')
  const id = await grid.activeId()
  const before = await grid.rows()
  await grid.box.getByRole('button', { name: 'Created' }).click()
  await page.getByRole('menuitem', { name: 'Sort ascending' }).click()
  await expect.poll(async () => (await grid.rows()).get(0)).not.toBe(before.get(0))
  await grid.settle()
  await expect.poll(() => grid.activeId()).toBe(id)
  await page.goto('/contacts')
})

browserTest('scrolling away from the active cell stays where it is while rows are rendered', async () => {
  await grid.settle()
  await grid.box.focus()
  await grid.press('ArrowDown', 'ArrowDown', 'ArrowDown')
  const place = () => grid.box.evaluate((box) => [box.scrollLeft, box.scrollTop])
  // By less than the rows that are rendered outside of the screen, so that the active cell stays in the document.
  for (const [x, y] of [
    [200, 0],
    [200, 150],
  ]) {
    await grid.box.evaluate((box, [left, top]) => box.scrollTo(left, top), [x, y])
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    expect(await place()).toEqual([x, y])
  }
  await grid.press('Control+Home')
})

browserTest('Space shows the active record next to the list, and the arrow keys change it', async () => {
  const panel = page.getByRole('complementary')
  await grid.press('ArrowDown', ' ')
  const [first, second] = [await nameAt(1), await nameAt(2)]
  await panel.getByRole('heading', { name: first }).waitFor()
  await grid.press('ArrowDown')
  await panel.getByRole('heading', { name: second }).waitFor()
  await grid.press('Escape')
  await panel.waitFor({ state: 'detached' })
  await grid.expectActive(2, 'name')
  await expect.poll(() => grid.box.evaluate((box) => box === box.ownerDocument.activeElement)).toBe(true)
})

const nameAt = (index: number): Promise<string> => grid.cell(index, 'name').getByRole('link').innerText()

browserTest('Enter opens the record that is shown next to the list, and Back restores the position', async () => {
  for (let count = 0; count < 3; count++) await grid.press('PageDown')
  await expectActiveIsVisible()
  await grid.settle()
  const [active, id, offset] = [await grid.active(), await grid.activeId(), await grid.scrollTop()]
  const name = await nameAt(active?.index ?? 0)
  await grid.press(' ')
  await page.getByRole('complementary').getByRole('heading', { name }).waitFor()
  await grid.press('Enter')
  await page.getByRole('heading', { level: 1, name }).waitFor()
  await page.goBack()
  await grid.settle()
  await expect.poll(() => grid.scrollTop()).toBe(offset)
  await expect.poll(() => grid.activeId()).toBe(id)
  await grid.box.focus()
  await grid.press('Escape')
})

const bulk = () => page.getByRole('region', { name: 'Actions for the selection' })

browserTest('x, Shift+arrows and Shift+click select rows, and the bar shows their number', async () => {
  await grid.press('x')
  await bulk().getByText('1 selected').waitFor()
  await grid.press('Shift+ArrowDown', 'Shift+ArrowDown')
  await bulk().getByText('3 selected').waitFor()
  await box(6).click({ modifiers: ['Shift'] })
  await bulk().getByText('7 selected').waitFor()
  await box(1).click()
  await bulk().getByText('6 selected').waitFor()
  await expect.poll(() => grid.box.locator('[role=row][aria-selected=true]').count()).toBe(6)
  await page.getByRole('button', { name: 'Clear the selection' }).click()
  await bulk().waitFor({ state: 'detached' })
})

const box = (index: number) => grid.box.locator(`[role=row][aria-rowindex="${index + 2}"]`).getByRole('checkbox')

browserTest('an action for the selection changes exactly the selected records', async () => {
  const call = await callAs()
  const tag = 'chosen by key'
  const ids = [...(await grid.rows())]
  await grid.press('x', 'ArrowDown', 'ArrowDown', 'x', 'ArrowDown', 'x')
  await page.getByRole('button', { name: 'Add a tag' }).click()
  await page.getByRole('textbox', { name: 'Tag' }).fill(tag)
  await page.keyboard.press('Enter')
  await page.getByText(`Tagged 3 contacts with “${tag}”`).first().waitFor()
  const { body } = await call('GET', `/v5/contacts?filter.tags.has=${encodeURIComponent(tag)}&select[]=id`)
  const expected = [0, 2, 3].map((index) => ids[index]?.[1])
  expect(body.map(({ id }: { id: string }) => id).sort()).toEqual(expected.sort())
})

browserTest('a selection ends when the list shows other records, and survives another order', async () => {
  await grid.press('x')
  await bulk().getByText('1 selected').waitFor()
  await page.getByRole('toolbar').getByRole('button', { name: 'Created at' }).click()
  await page.getByRole('combobox', { name: 'Direction' }).selectOption({ label: 'Ascending' })
  await page.waitForURL(/sort=asc/)
  await page.keyboard.press('Escape')
  await bulk().getByText('1 selected').waitFor()
  await page.getByRole('toolbar').getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'deleted' }).click()
  await page.waitForURL(/deleted=true/)
  await bulk().waitFor({ state: 'detached' })
})
