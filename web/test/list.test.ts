import type { Page } from 'playwright-core'
import { beforeEach, expect, onTestFinished } from 'vitest'
import { browserTest, useApplication } from './application.ts'
import { escape, typeAtOnce } from './gestures.ts'
import { Grid } from './grid.ts'

const { openPage, callAs, expectErrors } = useApplication()

let page: Page
let grid: Grid
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/forgot-password' })
  grid = new Grid(page)
})

const count = async (query: string): Promise<string> => {
  const { body } = await (await callAs())('GET', `/v5/contacts/count?${query}`)
  return `${Number(body.count).toLocaleString('en')} records`
}

/** The announced number of records. */
const status = () => page.getByRole('status').filter({ hasText: 'record' })
const chip = (text: RegExp | string) => page.getByRole('toolbar').getByRole('button', { name: text })

browserTest(
  'a filter is created with the keyboard alone, reads as a sentence, and changes the announced count',
  async () => {
    await page.goto('/contacts')
    await grid.settle()
    await page.keyboard.press('f')
    const form = page.getByRole('dialog', { name: 'Add a filter' })
    await form.getByRole('combobox', { name: 'Property' }).waitFor()
    await expect.poll(() => page.locator(':focus').evaluate((element) => element.tagName)).toBe('SELECT')
    await typeAtOnce(page, 'Country')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await typeAtOnce(page, 'Germ')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await chip('Country is Germany').waitFor()
    await status()
      .getByText(await count('filter.countryCode.equals=DE'))
      .waitFor()
    expect(new URL(page.url()).searchParams.get('filter.countryCode.equals')).toBe('DE')
    await expect.poll(() => page.locator(':focus').count()).toBe(1)
  },
)

browserTest('Backspace on the chip of a filter removes it, and the focus stays in the toolbar', async () => {
  await page.goto('/contacts?filter.status.equals=archived&filter.countryCode.in=DE,FR')
  await chip(/^Country .*Germany, France$/).focus()
  await page.keyboard.press('Backspace')
  await status()
    .getByText(await count('filter.status.equals=archived'))
    .waitFor()
  await expect.poll(() => page.getByRole('toolbar').locator(':focus').count()).toBe(1)
  expect(new URL(page.url()).search).toBe('?filter.status.equals=archived')
})

browserTest(
  'search, filters, order, columns and the panel survive reload, Back, Forward, and another member',
  async () => {
    await page.goto('/contacts')
    await grid.settle()
    await page.getByRole('searchbox').fill('Tanaka')
    await expect.poll(() => new URL(page.url()).searchParams.get('query')).toBe('Tanaka')
    await grid.settle()
    await page.getByRole('button', { name: /^Sorted by/ }).click()
    await page.getByRole('combobox', { name: 'Sort by' }).selectOption({ label: 'Email' })
    await page.getByRole('combobox', { name: 'Direction' }).selectOption({ label: 'Ascending' })
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Columns', exact: true }).click()
    await page.getByRole('checkbox', { name: 'City', exact: true }).click()
    await page.keyboard.press('Escape')
    const found = await (await callAs())('GET', '/v5/contacts?query=Tanaka&orderBy=email&sort=asc&limit=10')
    const ids = found.body.map(({ id }: { id: string }) => id)
    await expect.poll(async () => [...(await grid.rows()).values()].slice(0, 10)).toEqual(ids)
    await grid.box.focus()
    await grid.press('ArrowDown', ' ')
    const panel = page.getByRole('complementary')
    await panel.getByRole('heading').filter({ hasText: 'Tanaka' }).waitFor()
    const [address, rows] = [page.url(), await grid.rows()]
    expect([...new URL(address).searchParams.keys()].sort()).toEqual(['columns', 'orderBy', 'peek', 'query', 'sort'])

    const expectSame = async (shown: Page) => {
      const list = new Grid(shown)
      await list.settle()
      await expect
        .poll(async () => [...(await list.rows()).values()].slice(0, 10))
        .toEqual([...rows.values()].slice(0, 10))
      await expect.poll(() => shown.getByRole('searchbox').inputValue()).toBe('Tanaka')
      await shown.getByRole('columnheader').filter({ hasText: 'City' }).waitFor()
      await shown.getByRole('complementary').getByRole('heading').filter({ hasText: 'Tanaka' }).waitFor()
    }
    await page.reload()
    await expectSame(page)
    await page.goto('/companies')
    await grid.settle()
    await page.goBack()
    await expectSame(page)
    await page.goForward()
    await page.getByRole('heading', { level: 1, name: 'Companies' }).waitFor()
    const { pathname, search } = new URL(address)
    await expectSame(await openPage({ as: 'viewer', path: `${pathname}${search}` }))
  },
)

browserTest('while other rows load, the previous ones stay and nothing moves', async () => {
  await page.goto('/contacts')
  await grid.settle()
  await page.evaluate(`
    globalThis.shift = 0
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) shift += entry.value
    }).observe({ type: 'layout-shift', buffered: true })`)
  let release = () => undefined as void
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route(/v5\/contacts\?.*status/, async (route) => {
    await held
    await route.continue()
  })
  const before = await grid.rows()
  await page.evaluate(
    `history.pushState(history.state, '', '/contacts?filter.status.equals=archived'); dispatchEvent(new PopStateEvent('popstate'))`,
  )
  await chip(/^Status is archived$/i).waitFor()
  expect(await grid.rows()).toEqual(before)
  expect(await grid.box.locator('[aria-busy=true]').count()).toBe(0)
  release()
  await status()
    .getByText(await count('filter.status.equals=archived'))
    .waitFor()
  await expect.poll(() => grid.rows()).not.toEqual(before)
  await page.unroute(/v5\/contacts\?.*status/)
  expect(await page.evaluate('shift')).toBeLessThan(0.02)
})

browserTest('an empty list says why: no match, no permission, an error with its request, no records yet', async () => {
  await page.goto('/contacts?query=xqzvwkj')
  await page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await expect.poll(() => new URL(page.url()).search).toBe('')
  await grid.settle()

  expectErrors(page, /status of (?:403|500)/)
  const refuse = (code: number, body: object) =>
    page.route(/v5\/companies/, (route) =>
      route.fulfill({ status: code, json: body, headers: { 'x-request-id': 'req_of_this_test' } }),
    )
  await refuse(403, { code: 'insufficient_permissions', message: 'Missing scopes', description: 'You may not.' })
  await page.goto('/companies')
  await page.getByRole('heading', { name: 'You cannot see this' }).waitFor()
  await page.unroute(/v5\/companies/)

  await refuse(500, { code: 'internal_error', message: 'It broke', description: 'Try again later.' })
  await page.reload()
  const alert = page.getByRole('alert')
  await alert.getByRole('heading', { name: 'It broke' }).waitFor()
  await alert.getByText('req_of_this_test').waitFor()
  await page.unroute(/v5\/companies/)
  await alert.getByRole('button', { name: 'Try again' }).click()
  await grid.settle()

  await page.goto('/campaigns')
  await page.getByRole('heading', { name: 'No campaigns yet' }).waitFor()
  await page.getByRole('main').getByRole('button', { name: 'New campaign' }).last().click()
  await escape(page.getByRole('dialog', { name: 'New campaign' }))
})

browserTest("a list reopened after it became stale shows its rows at the person's position", async () => {
  const start = Date.now()
  await page.clock.setFixedTime(start)
  await page.goto('/contacts')
  await grid.settle()
  await grid.scrollTo(36 * 700)
  await expect.poll(async () => (await grid.rows()).has(705)).toBe(true)
  await grid.settle()
  await page.getByRole('link', { name: 'Home' }).first().click()
  await page.getByRole('heading', { name: 'My day' }).waitFor()
  await page.clock.setFixedTime(start + 60_000)
  const isReloaded = page.waitForResponse(/v5\/contacts\/count/)
  await page.goBack()
  await isReloaded
  await grid.settle()
  await expect.poll(async () => (await grid.rows()).has(705)).toBe(true)
  await expect.poll(async () => [...(await grid.rows()).values()]).not.toContain(undefined)
})

browserTest('rows scrolled into view during a reload are loaded', async () => {
  await page.goto('/contacts')
  await grid.settle()
  const { body } = await (await callAs())('POST', '/v5/contacts', { body: { name: 'Restored Row' } })
  await page.goto('/contacts?orderBy=createdAt&sort=desc')
  await expect.poll(async () => (await grid.rows()).get(0)).toBe(body.id)
  await grid.settle()
  await grid.box.focus()
  await grid.press('ArrowDown', 'x')
  await page.getByRole('region', { name: 'Actions for the selection' }).getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await expect.poll(async () => (await grid.rows()).get(0)).not.toBe(body.id)
  let release = () => undefined as void
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route(/v5\/contacts\/count/, async (route) => {
    await held
    await route.continue()
  })
  onTestFinished(() => page.unroute(/v5\/contacts\/count/))
  const isReloading = page.waitForRequest(/v5\/contacts\/count/)
  await grid.box.focus()
  await grid.press('Control+z')
  await isReloading
  await grid.scrollTo(36 * 700)
  await expect.poll(async () => (await grid.rows()).has(705)).toBe(true)
  release()
  await grid.settle()
  await expect.poll(async () => (await grid.rows()).get(705)).toBeDefined()
})
