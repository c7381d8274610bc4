import type { Page } from 'playwright-core'
import { beforeAll, expect } from 'vitest'
import { decodeId } from '../../server/src/platform/model/ids.ts'
import { sql } from '../../server/src/platform/model/sql.ts'
import { chromium } from '../../server/test/chromium.ts'
import { browserTest, useApplication } from './application.ts'

const { service, openPage, callAs } = useApplication()

const noteCount = 200
let page: Page
beforeAll(async () => {
  if (!chromium) return
  const { body } = await (await callAs())('POST', '/v5/contacts', { body: { name: 'Longa Historia' } })
  await service().database.crossTenantQuery(
    'check the database',
    sql`insert into notes (organization_id, id, contact_id, body, created_at)
      select organization_id, gen_random_uuid(), id, 'Note number ' || number || ' ends',
        now() - number * interval '1 hour'
      from contacts, generate_series(1, ${noteCount}::integer) number where id = ${decodeId('con', body.id)}::uuid`,
  )
  page = await openPage({ stays: true, path: `/contacts/${body.id}` })
})

const timeline = () => page.getByRole('region', { name: 'Timeline' })
const entry = (number: number) =>
  timeline()
    .getByRole('listitem')
    .filter({ hasText: `Note number ${number} ends` })
const elementsIn = () => timeline().evaluate((element) => element.querySelectorAll('*').length)
/** Scrolls like a person until the entry is in the document. */
async function scrollTo(number: number): Promise<void> {
  const scroll = async () => {
    if ((await entry(number).count()) > 0) return true
    await timeline().evaluate((element, wanted) => {
      const shown = [...element.querySelectorAll('li[data-index]')].map((one) =>
        Number(/number (\d+)/.exec(one.textContent)?.[1] ?? 0),
      )
      const isBelow = Math.max(...shown) < wanted
      element.closest('[class*=column]').scrollBy(0, isBelow ? 2000 : -2000)
    }, number)
    return false
  }
  await expect.poll(scroll, { timeout: 40_000 }).toBe(true)
  await entry(number).evaluate((element) => element.scrollIntoView({ block: 'center' }))
}

browserTest('only entries near the visible part of a long timeline are in the document', async () => {
  await entry(1).waitFor()
  const atFirst = await elementsIn()
  await scrollTo(noteCount)
  expect(await elementsIn()).toBeLessThan(3 * atFirst)
  expect(await entry(1).count()).toBe(0)
  // The browser's search finds the others, because it includes content that is hidden until found.
  const hidden = timeline().locator('[hidden=until-found]').filter({ hasText: 'Note number 2 ends' })
  expect(await hidden.count()).toBe(1)
  await hidden.dispatchEvent('beforematch')
  await entry(2).waitFor()
})

browserTest('unsaved text in an entry survives scrolling away, and Back restores the position', async () => {
  await scrollTo(100)
  await entry(100).getByRole('button', { name: 'Edit the note' }).click()
  const editor = timeline().getByRole('textbox', { name: 'Text of the note' })
  await editor.fill('Not saved yet')
  await page.getByRole('heading', { level: 2, name: 'Longa Historia' }).click()
  await scrollTo(190)
  expect(await editor.inputValue()).toBe('Not saved yet')
  await editor.press('Escape')
  // The entry becomes lower without the form, and the browser keeps what is visible in place.
  await editor.waitFor({ state: 'detached' })
  await scrollTo(190)
  const place = async () => (await entry(190).boundingBox())?.y ?? Number.NaN
  await expect.poll(async () => Math.abs((await place()) - (await place()))).toBe(0)
  const before = await place()
  await page.getByRole('navigation', { name: 'Main navigation' }).getByRole('link', { name: 'Companies' }).click()
  await page.getByRole('heading', { level: 1, name: 'Companies' }).waitFor()
  await page.goBack()
  await entry(190).waitFor()
  await expect.poll(async () => Math.abs((await place()) - before)).toBeLessThan(100)
})

browserTest('a printed record has all its entries and no controls, on white', async () => {
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  await entry(1).waitFor()
  await expect.poll(() => entry(noteCount).count()).toBe(1)
  for (const role of ['navigation', 'button', 'textbox', 'combobox'] as const)
    await expect.poll(() => page.getByRole(role).count(), { message: role }).toBe(0)
  const colors = await page.evaluate<string[]>(
    `[getComputedStyle(document.querySelector('h1')).color, getComputedStyle(document.body).backgroundColor]`,
  )
  expect(colors[0]).toMatch(/rgb\((?:[0-4]?\d, ){2}[0-5]?\d\)|oklch\(0\.[0-3]/)
  expect(colors[1]).toBe('rgba(0, 0, 0, 0)')
  // Nothing scrolls, so that nothing is cut off in print.
  const cut = await page.evaluate<number>(
    `[...document.querySelectorAll('#root *')].filter((one) => getComputedStyle(one).overflowY !== 'visible').length`,
  )
  expect(cut).toBe(0)
  const { length } = await page.pdf({ format: 'A4' })
  expect(length).toBeGreaterThan(50_000)
  await page.emulateMedia({ media: 'screen' })
})

browserTest('a printed list has the loaded rows with all their columns', async () => {
  await page.goto('/contacts')
  await page.getByRole('row').nth(5).waitFor()
  const onScreen = await page.getByRole('row').count()
  await page.setViewportSize({ width: 794, height: 1123 })
  await page.emulateMedia({ media: 'print' })
  await expect.poll(() => page.getByRole('row').count()).toBeGreaterThan(Math.max(100, onScreen))
  const { scrollWidth, clientWidth } = await page.evaluate<{ scrollWidth: number; clientWidth: number }>(
    '(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }))(document.documentElement)',
  )
  expect(scrollWidth).toBeLessThanOrEqual(clientWidth)
  const tops = await page.getByRole('row').evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().top))
  expect(new Set(tops).size).toBe(tops.length)
  await page.emulateMedia({ media: 'screen' })
})
