import type { Locator, Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import type { Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { steadyBox } from './gestures.ts'
import { Grid } from './grid.ts'
import { resize } from './squeezed.ts'

const { openPage } = useApplication()

let page: Page
let grid: Grid
beforeEach(async () => {
  page ??= await openPage({ stays: true, organization: 'small', path: '/contacts' })
  grid = new Grid(page)
  if (new URL(page.url()).search !== '') await page.goto('/contacts')
  await grid.settle()
})

const header = (name: string): Locator => grid.box.getByRole('columnheader').filter({ hasText: name })
const widthOf = async (name: string): Promise<number> => (await steadyBox(header(name))).width
const titles = async (): Promise<string[]> =>
  (await grid.box.getByRole('columnheader').allInnerTexts()).map((text) => text.trim()).filter((text) => text !== '')

/** Is each cell of the first row below its header? */
async function expectAligned(): Promise<void> {
  const edges = (cells: Json[]) =>
    cells.map((cell) => {
      const { left, width } = cell.getBoundingClientRect()
      return [Math.round(left), Math.round(width)]
    })
  const difference = async () => {
    const heads = await grid.box.getByRole('columnheader').evaluateAll(edges)
    const cells = await grid.box.locator('[role=row][aria-rowindex="2"] [role=gridcell]').evaluateAll(edges)
    return JSON.stringify(heads) === JSON.stringify(cells) ? undefined : { heads, cells }
  }
  await expect.poll(difference).toBeUndefined()
}

browserTest('dragging the edge of a header changes the width of the column, also after reload', async () => {
  const before = await widthOf('Email')
  const edge = await steadyBox(header('Email'))
  await page.mouse.move(edge.x + before - 2, edge.y + 10)
  await page.mouse.down()
  await page.mouse.move(edge.x + before + 78, edge.y + 10, { steps: 4 })
  await page.mouse.up()
  await expect.poll(() => widthOf('Email')).toBe(before + 80)
  await expectAligned()
  await page.waitForURL(/columns=/)
  await page.reload()
  await grid.settle()
  await expect.poll(() => widthOf('Email')).toBe(before + 80)
})

browserTest('the columns menu resizes, moves, hides, pins and adds columns with the keyboard', async () => {
  const [before, names] = [await widthOf('Company'), await titles()]
  const press = async (name: string) => {
    await page.getByRole('dialog', { name: 'Columns' }).getByRole('button', { name, exact: true }).focus()
    await page.keyboard.press('Enter')
  }
  await page.getByRole('button', { name: 'Columns', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Columns' }).waitFor()
  await press('Company: wider')
  await expect.poll(() => widthOf('Company')).toBe(before + 20)
  await press('Company: move down')
  await expect.poll(titles).toEqual([names[0], names[2], names[1], ...names.slice(3)])
  await press('Email: pin')
  await page.getByRole('button', { name: /^Email: /, pressed: true }).waitFor()
  const city = page.getByRole('checkbox', { name: 'City', exact: true })
  await city.focus()
  await page.keyboard.press('Space')
  await expect.poll(async () => (await titles()).at(-1)).toBe('City')
  await page.getByRole('checkbox', { name: 'Status', exact: true }).focus()
  await page.keyboard.press('Space')
  await expect.poll(titles).not.toContain('Status')
  await page.keyboard.press('Escape')
  await page.reload()
  await grid.settle()
  const expected = [names[0], names[2], names[1], ...names.slice(3).filter((name) => name !== 'Status'), 'City']
  await expect.poll(titles).toEqual(expected)
  await expectAligned()
})

browserTest(
  'pinned columns stay, and header and cells stay aligned, when the grid is scrolled to the side',
  async () => {
    await resize(page, 900)
    const leftOf = async (name: string) => (await steadyBox(header(name))).x
    const [left, email] = [await leftOf('Name'), await leftOf('Email')]
    await grid.box.evaluate((box) => void (box.scrollLeft = 300))
    await expect.poll(() => leftOf('Email')).toBe(email - 300)
    expect(await leftOf('Name')).toBe(left)
    await expectAligned()
    await resize(page, 1440)
  },
)

browserTest('two changes in immediate succession are both kept', async () => {
  const before = await widthOf('Company')
  await page.getByRole('button', { name: 'Columns', exact: true }).click()
  const menu = page.getByRole('dialog', { name: 'Columns' })
  await menu.waitFor()
  // In a single task, so that the page renders none of the changes before the others.
  await menu.evaluate((element: Json) => {
    for (const label of ['Company: wider', 'Company: wider', 'Phone: pin'])
      element.querySelector(`[aria-label="${label}"]`).click()
  })
  await expect.poll(() => widthOf('Company')).toBe(before + 40)
  await menu.getByRole('button', { name: /^Phone: /, pressed: true }).waitFor()
  await page.keyboard.press('Escape')
})

browserTest('two filters removed in immediate succession are both gone', async () => {
  await page.goto('/contacts?filter.status.equals=active&filter.city.not=Paris&filter.email.not=null')
  const toolbar = page.getByRole('toolbar').first()
  const removals = toolbar.getByRole('button', { name: 'Remove the filter' })
  await expect.poll(() => removals.count()).toBe(3)
  await removals.evaluateAll(([first, second]: Json[]) => {
    first.click()
    second.click()
  })
  await expect.poll(() => decodeURIComponent(new URL(page.url()).search)).toBe('?filter.email.not=null')
})

browserTest('dragging a header moves its column', async () => {
  const names = await titles()
  await header('Email').dragTo(header('Company'))
  await expect.poll(titles).toEqual([names[0], names[2], names[1], ...names.slice(3)])
  await expectAligned()
})

browserTest('the menu of a header sorts, pins and hides its column', async () => {
  const choose = async (name: string, item: string) => {
    await header(name).getByRole('button').click()
    await page.getByRole('menuitem', { name: item, exact: true }).click()
  }
  await choose('Name', 'Sort ascending')
  await expect.poll(() => header('Name').getAttribute('aria-sort')).toBe('ascending')
  await choose('Company', 'Hide')
  await expect.poll(titles).not.toContain('Company')
  await choose('Email', 'Pin')
  await expect
    .poll(() => header('Email').evaluate((cell) => cell.ownerDocument.defaultView.getComputedStyle(cell).position))
    .toBe('sticky')
  await page.goBack()
  await expect.poll(() => new URL(page.url()).searchParams.get('orderBy')).toBe(null)
})
