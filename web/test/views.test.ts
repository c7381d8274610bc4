import type { Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import type { Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { Grid } from './grid.ts'

const { openPage, callAs } = useApplication()

let page: Page
let grid: Grid
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/forgot-password' })
  grid = new Grid(page)
})

const tabs = (of = page) => of.getByRole('navigation', { name: 'Views' })
const tab = (name: string, of = page) => tabs(of).getByRole('link', { name: new RegExp(`^${name}\\b`) })
const button = (name: string, of = page) => of.getByRole('button', { name, exact: true })
const dialog = (name: string | RegExp) => page.getByRole('dialog', { name })
const unsaved = (of = page) => of.getByText('Unsaved changes')
const parameters = () => [...new URL(page.url()).searchParams.keys()].sort()
const isActive = (name: string, of = page) =>
  expect
    .poll(() =>
      tab(name, of)
        .getAttribute('aria-current', { timeout: 2000 })
        .catch(() => null),
    )
    .toBe('page')

async function create(name: string, body: object = {}, role?: 'member'): Promise<Json> {
  const call = await callAs(role)
  const created = await call('POST', '/v5/views', { body: { name, resource: 'contacts', ...body } })
  expect(created.status).toBe(201)
  return created.body
}

const stored = async (id: string): Promise<Json> => (await (await callAs())('GET', `/v5/views/${id}`)).body

const countBy = async (id: string): Promise<string> => {
  const { body } = await (await callAs())('GET', `/v5/contacts/count?view=${id}`)
  return `${Number(body.count).toLocaleString('en')} records`
}

async function chooseOption(item: string): Promise<void> {
  await button('Options of the view').click()
  await page.getByRole('menuitem', { name: item }).click()
}

const germans = { filter: { countryCode: { equals: 'DE' } } }

browserTest(
  'the current list is saved under a name, and later changes are unsaved until they are saved too',
  async () => {
    await page.goto('/contacts?filter.countryCode.equals=DE')
    await grid.settle()
    await expect.poll(() => unsaved().count()).toBe(0)
    await button('Save view').click()
    await dialog('New view').getByRole('textbox', { name: 'Name' }).fill('Saved')
    await page.keyboard.press('Enter')
    await isActive('Saved')
    expect(parameters()).toEqual(['view'])
    await page.getByRole('button', { name: /^Country is Germany/ }).waitFor()
    const id = new URL(page.url()).searchParams.get('view') ?? ''
    await page
      .getByRole('status')
      .getByText(await countBy(id))
      .waitFor()

    const changes: Record<string, () => Promise<unknown>> = {
      query: () => page.getByRole('searchbox').last().fill('an'),
      sort: async () => {
        await page.getByRole('button', { name: /^Sorted by/ }).click()
        await page.getByRole('combobox', { name: 'Sort by' }).selectOption({ label: 'Email' })
        await page.keyboard.press('Escape')
      },
      tree: () => page.getByRole('button', { name: 'Remove the filter' }).click(),
      columns: async () => {
        await button('Columns').click()
        await button('Email: wider').click()
        await button('Company: pin').click()
        await page.getByRole('button', { name: /^Company: /, pressed: true }).waitFor()
        await page.getByRole('checkbox', { name: 'City', exact: true }).click()
        await page.keyboard.press('Escape')
      },
    }
    for (const [parameter, change] of Object.entries(changes)) {
      await change()
      await unsaved().waitFor()
      await expect.poll(parameters).toContain(parameter)
      await button('Reset').click()
      await expect.poll(parameters).toEqual(['view'])
      await expect.poll(() => unsaved().count()).toBe(0)
    }
    for (const [parameter, change] of Object.entries(changes)) {
      await change()
      await expect.poll(parameters).toContain(parameter)
    }
    await expect.poll(parameters).toEqual(['columns', 'orderBy', 'query', 'sort', 'tree', 'view'])
    const list = (await (await callAs())('GET', '/v5/contacts?query=an&orderBy=email&sort=desc&limit=10')).body
    const rows = list.map((contact: Json) => contact.id)
    const firstRows = async () => [...(await grid.rows()).values()].slice(0, 10)
    await expect.poll(firstRows).toEqual(rows)
    await button('Save').click()
    await expect.poll(parameters).toEqual(['view'])
    expect(await stored(id)).toMatchObject({
      filter: {},
      query: 'an',
      orderBy: 'email',
      sort: 'desc',
      pinnedColumns: 2,
    })
    expect((await stored(id)).columns.slice(0, 2)).toEqual(['name', 'company'])
    expect((await stored(id)).columns).toContain('city')
    await page.reload()
    await grid.settle()
    await expect.poll(firstRows).toEqual(rows)
    await page.getByRole('columnheader').filter({ hasText: 'City' }).waitFor()

    await page.getByRole('searchbox').last().fill('ander')
    await button('Save as new').click()
    await dialog('New view').getByRole('textbox', { name: 'Name' }).fill('Second')
    await dialog('New view').getByRole('checkbox').check()
    await page.keyboard.press('Enter')
    await isActive('Second')
    expect((await stored(id)).query).toBe('an')
    const second = await stored(new URL(page.url()).searchParams.get('view') ?? '')
    expect(second).toMatchObject({ name: 'Second', query: 'ander', isShared: true, orderBy: 'email' })
  },
)

browserTest('the view and its changes survive reload, Back and Forward, and are seen by another member', async () => {
  const [view, personal] = [
    await create('Shared one', { ...germans, isShared: true, columns: ['name', 'city'] }),
    await create('Only mine'),
  ]
  await page.goto('/contacts')
  await tab('Shared one').click()
  await isActive('Shared one')
  await page.getByRole('searchbox').last().fill('an')
  await unsaved().waitFor()
  const count = await (await callAs())('GET', `/v5/contacts/count?view=${view.id}&query=an`)
  await page
    .getByRole('status')
    .getByText(`${count.body.count.toLocaleString('en')} records`)
    .waitFor()
  await grid.settle()
  const address = page.url()
  const rows = await grid.rows()
  const expectSame = async (shown: Page) => {
    await new Grid(shown).settle()
    await isActive('Shared one', shown)
    await shown.getByRole('button', { name: /^Country is Germany/ }).waitFor()
    await expect.poll(() => shown.getByRole('searchbox').last().inputValue()).toBe('an')
    await unsaved(shown).waitFor()
    await expect
      .poll(async () => [...(await new Grid(shown).rows()).values()].slice(0, 5))
      .toEqual([...rows.values()].slice(0, 5))
  }
  await page.reload()
  await expectSame(page)
  await tab('All').click()
  await isActive('All')
  await expect.poll(() => unsaved().count()).toBe(0)
  await page.goBack()
  await expectSame(page)
  await page.goForward()
  await isActive('All')

  const { pathname, search } = new URL(address)
  const member = await openPage({ as: 'member', path: `${pathname}${search}` })
  await expectSame(member)
  expect(await tab('Only mine', member).count()).toBe(0)
  expect(await button('Save', member).count()).toBe(0)
  await button('Save as new', member).waitFor()
  await button('Options of the view', member).click()
  await member.getByRole('menuitem').first().waitFor()
  expect(await member.getByRole('menuitem').allTextContents()).toEqual(['Change the order'])
  await member.goto(`/contacts?view=${personal.id}`)
  await member.getByRole('alert').getByText('This view is not available').waitFor()
  expect(await member.getByRole('row').count()).toBe(0)
  await member.getByRole('link', { name: 'Show all contacts' }).click()
  await isActive('All', member)

  // An untouched order and untouched columns stay as they were stored.
  await page.goto(`/contacts?view=${view.id}&query=bert`)
  await button('Save').click()
  await expect.poll(async () => (await stored(view.id)).query).toBe('bert')
  expect(await stored(view.id)).toMatchObject({ ...germans, columns: ['name', 'city'], orderBy: null, sort: null })
})

browserTest(
  'a view is renamed, shared, moved with the keyboard, and deleted after a confirmation that names it',
  async () => {
    const [one, two] = [await create('Order one'), await create('Order two')]
    await page.goto(`/contacts?view=${two.id}`)
    await isActive('Order two')
    await chooseOption('Rename')
    await dialog('Rename “Order two”').getByRole('textbox').fill('Renamed')
    await page.keyboard.press('Enter')
    await isActive('Renamed')
    await chooseOption('Share with everyone')
    await tabs().getByRole('link', { name: 'Renamed shared view' }).waitFor()
    expect(await stored(two.id)).toMatchObject({ name: 'Renamed', isShared: true })

    await chooseOption('Change the order')
    const handle = dialog('Order of the views').getByRole('button', { name: /Renamed/ })
    await handle.press('ArrowUp')
    const names = async () => (await page.locator('nav[aria-label=Views] a').allTextContents()).join()
    await expect.poll(names).toMatch(/Renamed.*Order one/)
    await expect.poll(async () => Number((await stored(two.id)).position)).toBeLessThan(Number(one.position))
    await page.locator(`:focus[data-handle="${two.id}"]`).waitFor()
    await page.keyboard.press('Escape')
    await page.reload()
    await expect.poll(names).toMatch(/Renamed.*Order one/)

    await chooseOption('Delete')
    await dialog('Delete the view “Renamed”?').getByRole('button', { name: 'Delete' }).click()
    await isActive('All')
    await expect.poll(() => tab('Renamed').count()).toBe(0)
    await button('Undo').click()
    await tab('Renamed').waitFor()
    expect((await stored(two.id)).deletedAt).toBeUndefined()
    const call = await callAs()
    await call('DELETE', `/v5/views/${one.id}`)
    await page.goto(`/contacts?view=${one.id}`)
    await page.getByRole('alert').getByText('This view is not available').waitFor()
  },
)

browserTest(
  'a view of a board stores the pipeline, and its records are the same in the table and the API',
  async () => {
    const call = await callAs()
    const { body: pipeline } = await call('POST', '/v5/pipelines', { body: { name: 'Views' } })
    const { body: stage } = await call('POST', `/v5/pipelines/${pipeline.id}/stages`, {
      body: { name: 'First', kind: 'open', probability: 10 },
    })
    for (const name of ['Big one', 'Small one'])
      await call('POST', '/v5/deals', { body: { name, stageId: stage.id, amount: name === 'Big one' ? '20000' : '5' } })
    await page.goto(`/deals?view=board&board=${pipeline.id}`)
    await page.getByText('Small one').waitFor()
    await button('Save view').click()
    await dialog('New view').getByRole('textbox', { name: 'Name' }).fill('My board')
    await page.keyboard.press('Enter')
    await isActive('My board')
    const id = new URL(page.url()).searchParams.get('view') ?? ''
    expect(await stored(id)).toMatchObject({
      layout: 'board',
      groupBy: 'stageId',
      filter: { pipelineId: { equals: pipeline.id } },
    })
    expect((await call('GET', `/v5/deals/count?view=${id}`)).body).toEqual({ count: 2 })
    await page.reload()
    await page.locator('[data-card]').filter({ hasText: 'Big one' }).waitFor()
    await button('Table').click()
    await unsaved().waitFor()
    await page.getByRole('status').getByText('2 records').waitFor()
    await button('Board').click()
    await expect.poll(() => unsaved().count()).toBe(0)
    expect(parameters()).toEqual(['view'])

    const tree = encodeURIComponent('{"or":[{"amount":{"gt":10000}},{"name":{"equals":"nobody"}}]}')
    await page.goto(`/deals?view=board&board=${pipeline.id}&tree=${tree}`)
    await page.locator('[data-card]').filter({ hasText: 'Big one' }).waitFor()
    await expect.poll(() => page.locator('[data-card]').count()).toBe(1)
    await page.getByText('€20,000').first().waitFor()
  },
)

browserTest('the tabs can be reached on a phone, and loading them moves nothing', async () => {
  for (let index = 0; index < 8; index++) await create(`A view with a long name ${index}`, { resource: 'tasks' })
  const { id } = await create('The last one', { resource: 'tasks' })
  const phone = await openPage({ width: 390, path: `/tasks?view=${id}` })
  await isActive('The last one', phone)
  const isOnScreen = async () => {
    const box = await tab('The last one', phone).boundingBox()
    return box !== null && box.x >= 0 && box.x + box.width <= 390
  }
  await expect.poll(isOnScreen).toBe(true)
  await tab('All', phone).tap()
  await isActive('All', phone)
  expect(await phone.evaluate('document.documentElement.scrollWidth')).toBe(390)
  const desktop = await openPage({ path: `/tasks?view=${id}` })
  await isActive('The last one', desktop)
  await desktop.reload()
  await isActive('The last one', desktop)
  const shift = await desktop.evaluate(`new Promise((resolve) => {
    let shift = 0
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) shift += entry.value
    }).observe({ type: 'layout-shift', buffered: true })
    setTimeout(() => resolve(shift))
  })`)
  expect(shift).toBeLessThan(0.02)
})
