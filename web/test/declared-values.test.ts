import type { Locator, Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { Grid } from './grid.ts'

// Runs alone, because definitions change the forms and lists of everybody in the organization.
const { openPage, callAs, expectErrors } = useApplication({ isAlone: true })

let page: Page
let call: Call
const dialog = (name: string | RegExp) => page.getByRole('dialog', { name })
const toast = (text: string | RegExp) => page.getByRole('region', { name: 'Notifications' }).getByText(text).first()

/** A text that only the companies of these tests contain. */
const tag = 'has values'
let people: Json[]
const created = async (path: string, body: object): Promise<Json> => {
  const { status, body: record, text } = await call('POST', path, { body })
  expect(status, text).toBe(201)
  return record
}

beforeEach(async () => {
  if (people) return
  page = await openPage({ stays: true, path: '/forgot-password' })
  call = await callAs()
  const choices = ['gold', 'silver', 'bronze'].map((value) => ({ value, label: `${value} tier` }))
  const named = (key: string, type: string, label: string, more: object = {}) =>
    created('/v5/properties', { resource: 'companies', key, type, label, ...more })
  await named('level', 'choice', 'Level', {
    choices: choices.map((one) => ({ ...one, archived: one.value === 'bronze' })),
  })
  await named('topics', 'multiChoice', 'Topics', { choices: choices.slice(0, 2) })
  await named('budget', 'money', 'Budget')
  await named('bornOn', 'date', 'Born on')
  await named('rating', 'number', 'Rating', { required: true, default: 5, description: 'From 1 to 10' })
  await named('workEmail', 'email', 'Work email')
  await named('remark', 'text', 'City')
  await named('parent', 'reference', 'Parent', { references: 'companies' })
  await named('former', 'text', 'Former')
  await named('constructor', 'text', 'Builder')
  const shared = { tags: [tag] }
  people = [
    await created('/v5/companies', {
      name: 'Alpha Typed',
      ...shared,
      customProperties: {
        level: 'gold',
        rating: 7,
        budget: { amount: '1250.50', currency: 'EUR' },
        former: 'Old',
        topics: ['gold'],
      },
    }),
    await created('/v5/companies', {
      name: 'Beta Typed',
      ...shared,
      customProperties: { level: 'silver', rating: 30, bornOn: '1990-05-01', loose: 'x' },
    }),
  ]
})

const stored = async (index: number): Promise<Json> =>
  (await call('GET', `/v5/companies/${people[index].id}`)).body.customProperties
const columns = ['level', 'topics', 'budget', 'bornOn', 'rating', 'workEmail', 'parent', 'constructor'].map(
  (key) => `customProperties.${key}:140`,
)
const listed = `filter.tags.has=${encodeURIComponent(tag)}&columns=name:160!,${columns.join(',')}`
const openGrid = async (parameters = 'orderBy=name&sort=asc'): Promise<Grid> => {
  await page.goto(`/companies?${listed}&${parameters}`)
  const grid = new Grid(page)
  await grid.settle()
  return grid
}

browserTest('the grid shows, edits and undoes values by their types', async () => {
  expectErrors(page, /status of 422/)
  const grid = await openGrid()
  const cell = (key: string, index = 0) => grid.cell(index, `customProperties.${key}`)
  await expect
    .poll(() => grid.box.getByRole('columnheader').allInnerTexts())
    .toEqual(expect.arrayContaining(['Level', 'Born on']))
  await expect.poll(() => cell('level').innerText()).toBe('gold tier')
  await expect.poll(() => cell('budget').innerText()).toBe('€1,250.50')
  await expect.poll(() => cell('bornOn', 1).innerText()).toBe('1 May 1990')
  await expect.poll(() => cell('constructor').innerText()).toBe('')
  const edit = async (key: string) => {
    await cell(key).dblclick()
    await page.locator('input:focus, select:focus, textarea:focus').waitFor()
  }
  await edit('level')
  // An archived choice cannot be chosen.
  await expect.poll(() => cell('level').getByRole('option').allInnerTexts()).toEqual(['', 'gold tier', 'silver tier'])
  await cell('level').getByRole('combobox').selectOption('silver')
  await page.keyboard.press('Enter')
  await edit('topics')
  await page.getByRole('checkbox', { name: 'silver tier' }).press('Space')
  await page.keyboard.press('Enter')
  await edit('budget')
  await page.keyboard.type('99.5')
  await cell('budget').getByRole('combobox', { name: 'Currency' }).selectOption('USD')
  await page.keyboard.press('Enter')
  await edit('bornOn')
  await cell('bornOn').locator('input').fill('2000-01-31')
  await page.keyboard.press('Enter')
  await edit('parent')
  await page.keyboard.type('Beta Typed')
  await page.getByRole('option', { name: 'Beta Typed' }).click()
  await expect
    .poll(() => stored(0))
    .toMatchObject({
      level: 'silver',
      topics: ['gold', 'silver'],
      budget: { amount: '99.5', currency: 'USD' },
      bornOn: '2000-01-31',
      parent: people[1].id,
    })
  await expect.poll(() => cell('topics').innerText()).toMatch(/gold tier\s*silver tier/)
  await cell('parent').getByText('Beta Typed').waitFor()
  await grid.press('Control+z')
  await expect.poll(async () => (await stored(0)).parent).toBe(undefined)
  await edit('workEmail')
  await page.keyboard.type('nobody')
  await page.keyboard.press('Enter')
  await toast('Work email was not saved').waitFor()
  await toast(/^Expected an email address/).waitFor()
  await expect.poll(() => cell('workEmail').innerText()).toBe('')
})

browserTest('lists are filtered and sorted by the types of properties', async () => {
  await openGrid()
  const filter = async (
    property: string,
    operator: string,
    enter: (value: Locator) => Promise<unknown>,
    kind = 'textbox',
  ) => {
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    const form = dialog('Add a filter')
    await form.getByRole('combobox', { name: 'Property' }).selectOption({ label: property })
    await form.getByRole('combobox', { name: 'Condition' }).selectOption({ label: operator })
    await enter(form.getByRole(kind as 'textbox', { name: 'Value' }))
    await form.getByRole('button', { name: 'Apply' }).click()
  }
  const names = () => page.getByRole('grid').getByRole('link').allInnerTexts()
  await filter('Rating', 'is at least', (value) => value.fill('10'))
  await expect.poll(names).toEqual(['Beta Typed'])
  await filter('Level', 'is', (value) => value.selectOption({ label: 'silver tier' }), 'combobox')
  await page.getByRole('button', { name: 'Level is silver tier' }).waitFor()
  await expect.poll(names).toEqual(['Beta Typed'])
  await openGrid()
  await filter('Budget', 'is at most', (value) => value.fill('2000'))
  await page.getByRole('button', { name: 'Budget is at most 2000' }).waitFor()
  await expect.poll(names).toEqual(['Alpha Typed'])
  await openGrid('orderBy=name&sort=desc')
  const sort = async (column: string) => {
    await page.getByRole('columnheader').filter({ hasText: column }).getByRole('button').click()
    await page.getByRole('menuitem', { name: 'Sort ascending' }).click()
  }
  await sort('Rating')
  // Sorted as numbers: as texts, 30 would come before 7.
  await expect.poll(names).toEqual(['Alpha Typed', 'Beta Typed'])
  await sort('Budget')
  await expect.poll(() => new URL(page.url()).searchParams.get('orderBy')).toBe('customProperties.budget.amount')
})

browserTest(
  'the form marks required properties, starts with defaults, and shows an error next to its field',
  async () => {
    expectErrors(page, /status of 422/)
    await page.goto('/companies?new=1')
    const form = dialog('New company')
    const submit = () => form.getByRole('button', { name: 'New company' }).click()
    await expect.poll(() => form.getByRole('textbox', { name: 'Rating' }).inputValue()).toBe('5')
    await form.getByText('From 1 to 10').waitFor()
    await form.getByRole('textbox', { name: 'Rating' }).fill('')
    await form.getByRole('button', { name: /more fields/ }).click()
    await form.getByRole('textbox', { name: /^Name/ }).fill('Made in a form')
    const email = form.getByRole('textbox', { name: /^Work email/ })
    await email.fill('nobody')
    await form.getByRole('textbox', { name: /^Budget/ }).fill('12.30')
    await form.getByRole('checkbox', { name: 'silver tier' }).check()
    await submit()
    await expect.poll(() => email.getAttribute('aria-invalid')).toBe('true')
    await form.getByText(/^Expected an email address/).waitFor()
    await expect.poll(() => form.getByRole('textbox', { name: 'Rating' }).getAttribute('aria-invalid')).toBe('true')
    await email.fill('work@example.com')
    await form.getByRole('textbox', { name: 'Rating' }).fill('9')
    await submit()
    await page.getByRole('heading', { level: 1, name: 'Made in a form' }).waitFor()
    const { body } = await call('GET', `/v5/companies/${new URL(page.url()).pathname.split('/').pop()}`)
    expect(body.customProperties).toMatchObject({
      workEmail: 'work@example.com',
      budget: { amount: '12.30', currency: expect.any(String) },
      topics: ['silver'],
      rating: 9,
    })
  },
)

browserTest(
  'the record page edits properties and lists their changes, and shows archived ones that have a value',
  async () => {
    const former = (await call('GET', '/v5/properties?filter.key.equals=former')).body[0]
    await call('PATCH', `/v5/properties/${former.id}`, { body: { archived: true } })
    await call('PATCH', `/v5/companies/${people[0].id}`, { body: { customProperties: { level: 'gold' } } })
    await page.goto(`/companies/${people[0].id}`)
    const properties = page.getByRole('complementary', { name: 'Properties' })
    await properties.getByText('Former').waitFor()
    await properties.getByRole('button', { name: 'Edit Level' }).click()
    await properties.getByRole('combobox', { name: 'Level' }).selectOption('silver')
    await page.keyboard.press('Enter')
    const timeline = page.getByRole('region', { name: 'Timeline' })
    await timeline.getByText('Ada Lovelace changed Level from gold tier to silver tier').waitFor()
    await page.goto(`/companies/${people[1].id}`)
    await properties.getByText('loose').waitFor()
    expect(await properties.getByText('Former').count()).toBe(0)
  },
)
