import type { Locator, Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import { browserTest, useApplication } from './application.ts'
import { copiedBy, escape, inFocus, typeAtOnce } from './gestures.ts'
import { Grid } from './grid.ts'

const { openPage, callAs, expectErrors } = useApplication()

let page: Page
let grid: Grid
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/forgot-password' })
  grid = new Grid(page)
})

const form = () => page.getByRole('dialog', { name: 'Add a filter' })
const chip = (text: RegExp | string) => page.getByRole('toolbar').getByRole('button', { name: text })
const treeOf = () => JSON.parse(new URL(page.url()).searchParams.get('tree') ?? 'null') as unknown

/** Presses Tab until the focus is on this element of a form. */
async function tabTo(target: Locator): Promise<void> {
  await page.locator('[role=dialog] :focus').waitFor()
  await target.waitFor()
  for (let step = 0; step < 40; step++) {
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error('Tab does not reach the element.')
}

/** Chooses an option by typing its first letters. */
async function choose(target: Locator, option: string): Promise<void> {
  await tabTo(target)
  await typeAtOnce(page, option)
  await expect
    .poll(() => target.evaluate((select: { selectedOptions: { text: string }[] }) => select.selectedOptions[0]?.text))
    .toBe(option)
}

async function press(target: Locator): Promise<void> {
  await tabTo(target)
  await page.keyboard.press('Enter')
}

/** The announced number of records matches the API. */
async function expectCount(resource: string, filter: object): Promise<void> {
  const { status, body } = await (await callAs())('POST', `/v5/${resource}/search/count`, { body: { filter } })
  expect(status).toBe(200)
  await page
    .getByRole('status')
    .getByText(new RegExp(`^${Number(body.count).toLocaleString('en')} records?$`))
    .waitFor()
}

const row = (number: number, within: Locator = form()) =>
  within.getByRole('group', { name: `Condition ${number}`, exact: true }).first()
const field = (name: string, within: Locator = form()) => within.getByLabel(name, { exact: true }).first()

browserTest('contacts without an open task and companies with a large deal are found with the keyboard', async () => {
  const call = await callAs()
  const [contact] = (await call('GET', '/v5/contacts?limit=1')).body
  const [company] = (await call('GET', '/v5/companies?limit=1')).body
  await call('POST', '/v5/tasks', { body: { title: 'Call back', contactId: contact.id } })
  await call('POST', '/v5/deals', { body: { name: 'Large', amount: '12000', companyId: company.id } })
  await call('POST', '/v5/deals', { body: { name: 'Small', amount: '9000', companyId: company.id } })

  await page.goto('/contacts')
  await grid.settle()
  await page.keyboard.press('f')
  await choose(field('Property'), 'Tasks')
  await choose(field('How many'), 'none')
  await press(form().getByRole('button', { name: 'Add a condition' }))
  await choose(field('Property', row(1)), 'Done')
  await choose(field('Value', row(1)), 'No')
  await press(form().getByRole('button', { name: 'Apply' }))
  await chip('Has no tasks with Done is No').waitFor()
  const withoutTask = { tasks: { none: { done: { equals: false } } } }
  expect(treeOf()).toEqual(withoutTask)
  await expectCount('contacts', withoutTask)
  await expect.poll(() => page.locator(':focus').count()).toBe(1)
  await expect.poll(async () => [...(await grid.rows()).values()]).not.toContain(contact.id)

  await page.getByRole('button', { name: 'More actions' }).first().click()
  const copied = await copiedBy(page.getByRole('menuitem', { name: 'Copy as API request' }))
  expect(copied).toContain(`/v5/contacts/search'`)
  expect(JSON.parse(/ -d '(.*)'$/.exec(copied)?.[1] ?? '')).toMatchObject({ filter: withoutTask })

  await page.goto('/companies')
  await grid.settle()
  await page.keyboard.press('f')
  await choose(field('Property'), 'Deals')
  await press(form().getByRole('button', { name: 'Add a condition' }))
  await choose(field('Property', row(1)), 'Amount')
  await choose(field('Condition', row(1)), 'is more than')
  await tabTo(field('Value', row(1)))
  await page.keyboard.type('10000')
  await page.keyboard.press('Enter')
  await chip('Has deals with Amount is more than 10,000').waitFor()
  await expectCount('companies', { deals: { some: { amount: { gt: 10000 } } } })
  await chip(/^Has deals/).focus()
  await page.keyboard.press('Backspace')
  await expectCount('companies', {})
  expect(new URL(page.url()).search).toBe('')
})

browserTest('a group of alternatives with a group in it, and relative dates, are built and changed', async () => {
  await page.goto('/contacts?filter.status.equals=active')
  await grid.settle()
  await page.keyboard.press('f')
  await choose(field('Property'), 'Group of conditions')
  await choose(field('Property', row(1)), 'Country')
  await choose(field('Value', row(1)), 'Germany')
  await press(row(2).getByRole('button', { name: 'Remove condition 2' }))
  await press(form().getByRole('button', { name: 'Add a group' }))
  await choose(field('Property', row(1, row(2))), 'Country')
  await choose(field('Value', row(1, row(2))), 'France')
  await press(row(2).getByRole('button', { name: 'Add a condition' }))
  await tabTo(field('Value', row(2, row(2))))
  await page.keyboard.type('an')
  await press(form().getByRole('button', { name: 'Apply' }))
  await chip('Country is Germany or (Country is France and Name contains an)').waitFor()
  const either = [{ countryCode: { equals: 'DE' } }, { countryCode: { equals: 'FR' }, name: { contains: 'an' } }]
  expect(treeOf()).toEqual({ or: either })
  await expectCount('contacts', { status: { equals: 'active' }, or: either })

  // The same filter after a reload, then its negation.
  await page.reload()
  await grid.settle()
  await chip(/^Country is Germany or/).focus()
  await page.keyboard.press('Enter')
  const edit = page.getByRole('dialog', { name: 'Change the filter' })
  await choose(field('Match', edit), 'None of these')
  await press(edit.getByRole('button', { name: 'Apply' }))
  await chip(/^not \(Country is Germany or/).waitFor()
  await expectCount('contacts', { status: { equals: 'active' }, not: { or: either } })
  await chip(/^not/).focus()
  await page.keyboard.press('Delete')
  await expectCount('contacts', { status: { equals: 'active' } })

  await page.keyboard.press('f')
  await choose(field('Property'), 'Created at')
  await choose(field('Condition'), 'is longer ago than')
  await form().getByText('Days begin in the time zone of the organization, UTC.').waitFor()
  await tabTo(field('How many'))
  await page.keyboard.press('Control+A')
  await page.keyboard.type('10')
  await choose(field('Unit'), 'years')
  await press(form().getByRole('button', { name: 'Apply' }))
  await chip('Created at is longer ago than 10 years').waitFor()
  const old = { createdAt: { lt: { last: { years: 10 } } } }
  expect(treeOf()).toEqual(old)
  await expectCount('contacts', { status: { equals: 'active' }, ...old })
})

browserTest('bulk actions apply to the records that the filter tree finds', async () => {
  const call = await callAs()
  for (const name of ['Tree 1', 'Tree 2', 'Other 3'])
    await call('POST', '/v5/contacts', { body: { name, customProperties: { group: 'trees' } } })
  const tree = { or: [{ name: { equals: 'Tree 1' } }, { name: { equals: 'Tree 2' } }] }
  await page.goto(
    `/contacts?filter.customProperties.group.equals=trees&tree=${encodeURIComponent(JSON.stringify(tree))}`,
  )
  await page.getByRole('status').getByText('2 records').waitFor()
  await grid.settle()
  await page.getByRole('checkbox', { name: 'Select all loaded records' }).click()
  const bar = page.getByRole('region', { name: 'Actions for the selection' })
  await bar.getByText('2 selected').waitFor()
  await bar.getByRole('button', { name: 'Add a tag' }).click()
  await page.getByRole('textbox', { name: 'Tag' }).fill('found')
  await page.keyboard.press('Enter')
  const tagged = async () =>
    (await call('GET', '/v5/contacts?tags=found&orderBy=name&sort=asc')).body.map(({ name }: { name: string }) => name)
  await expect.poll(tagged).toEqual(['Tree 1', 'Tree 2'])
})

browserTest('an invalid or refused filter shows a notice instead of records', async () => {
  const notice = () => page.getByRole('alert').getByText('This filter is not valid')
  for (const tree of ['{"or":[', '[]', '7']) {
    await page.goto(`/contacts?tree=${encodeURIComponent(tree)}`)
    await notice().waitFor()
    expect(await page.getByRole('row').count()).toBe(0)
  }
  expectErrors(page, /422/)
  await page.goto(`/contacts?tree=${encodeURIComponent('{"nams":{"equals":"Ada"}}')}`)
  await notice().waitFor()
  await page.getByText('did you mean name?').waitFor()
  expect(await page.getByRole('gridcell').count()).toBe(0)
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await expectCount('contacts', {})
})

browserTest('a tree with too many levels for the form is shown as text, and stays when the view is saved', async () => {
  const call = await callAs()
  const deep = { or: [{ not: { or: [{ not: { name: { equals: 'x' } } }, { city: { equals: null } }] } }] }
  const body = {
    name: 'Deep',
    resource: 'contacts',
    filter: { ...deep, company: { none: { name: { in: ['a,b', 'c'] } } } },
  }
  const { body: view } = await call('POST', '/v5/views', { body })
  await page.goto(`/contacts?view=${view.id}`)
  await grid.settle()
  await expectCount('contacts', body.filter)
  await chip('Has no company with Name is any of "a,b", c').waitFor()
  const deepest = chip('not (not Name is x or City is None)')
  await deepest.click()
  const notice = page.getByText('more levels than can be edited here')
  await notice.waitFor()
  await escape(page.getByRole('dialog'))
  await notice.waitFor({ state: 'detached' })
  await inFocus(deepest)
  await chip(/^Has no company/).focus()
  await page.keyboard.press('Backspace')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await expect.poll(async () => (await call('GET', `/v5/views/${view.id}`)).body.filter).toEqual(deep)
})
