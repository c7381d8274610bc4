import type { Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import { decodeId } from '../../server/src/platform/model/ids.ts'
import { sql } from '../../server/src/platform/model/sql.ts'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { inFocus } from './gestures.ts'
import { Grid } from './grid.ts'

const { service, openPage, callAs } = useApplication()

let page: Page
let call: Call
let stages: Json[]
let deal: Json
let number = 0
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/forgot-password' })
  call ??= await callAs()
  const [pipeline] = (await call('GET', '/v5/pipelines?orderBy=createdAt&sort=asc&limit=1')).body
  stages = (await call('GET', `/v5/pipelines/${pipeline.id}/stages?orderBy=position&sort=asc`)).body
  deal = await create('deals', { name: `Bargain ${++number}`, amount: '12345678901234567.5', currency: 'USD' })
})

async function create(resource: string, body: object): Promise<Json> {
  const created = await call('POST', `/v5/${resource}`, { body })
  expect(created.status, created.text).toBe(201)
  return created.body
}

const stored = async (): Promise<Json> => (await call('GET', `/v5/deals/${deal.id}`)).body
const expectStored = (values: object) => expect.poll(stored).toMatchObject(values)
const toast = (text: string | RegExp) => page.getByRole('region', { name: 'Notifications' }).getByText(text).first()
const show = async (path = `/deals/${deal.id}`) => {
  await page.goto(path)
  await page.locator('h1').first().waitFor()
}
const section = (name: string) => page.getByRole('region', { name, exact: true })

browserTest('cells with a day, an amount, a currency and a stage have fitting editors', async () => {
  await show(`/deals?view=table&query=${encodeURIComponent(deal.name)}`)
  const grid = new Grid(page)
  await grid.settle()
  await expect.poll(() => grid.cell(0, 'amount').innerText()).toBe('US$12,345,678,901,234,567.50')
  const properties = page.getByRole('complementary', { name: /^Preview/ })
  await grid.box.focus()
  await grid.press('ArrowDown', 'Space')
  await properties.getByRole('button', { name: 'Edit Expected to close on' }).click()
  await properties.locator('input[type=date]').fill('2026-12-24')
  await page.keyboard.press('Enter')
  await expectStored({ expectedCloseDate: '2026-12-24' })
  await expect.poll(() => grid.cell(0, 'expectedCloseDate').innerText()).toBe('24 Dec 2026')
  await properties.getByRole('button', { name: 'Edit Currency' }).click()
  await properties.getByRole('combobox', { name: 'Currency' }).selectOption('CHF')
  await page.keyboard.press('Enter')
  await expectStored({ currency: 'CHF', amount: '12345678901234567.5' })
  await properties.getByRole('button', { name: 'Edit Stage' }).click()
  const options = page.getByRole('listbox').getByRole('option')
  const offered = async () => (await options.allInnerTexts()).slice(0, stages.length)
  await expect.poll(offered).toEqual(stages.map(({ name }) => expect.stringContaining(name)))
  await page.keyboard.type('Propo')
  await page.keyboard.press('Enter')
  await expectStored({ stage: { name: 'Proposal' } })
  await expect.poll(() => grid.cell(0, 'stage').innerText()).toBe('Proposal')
})

browserTest('the page of a deal moves it along its stages, closes it and shows the time in each stage', async () => {
  const { stageId } = (await call('GET', `/v5/deals/${deal.id}`)).body
  // Newer ones are above it.
  for (const name of ['Newer', 'Newest']) await create('deals', { name: `${name} ${number}`, stageId })
  const column = async () =>
    (await call('GET', `/v5/deals?stageId=${stageId}&orderBy=position&sort=asc&limit=3`)).body.map(({ id }: Json) => id)
  const before = await column()
  expect(before[2]).toBe(deal.id)
  await show()
  const stage = (name: string) => section('Stage').getByRole('button', { name, exact: true })
  await stage('Qualified').click()
  await expectStored({ stage: { name: 'Qualified' } })
  await expect.poll(() => stage('Qualified').getAttribute('aria-current')).toBe('step')
  await page.keyboard.press('Control+z')
  await expectStored({ stage: { name: 'Lead' } })
  await expect.poll(column).toEqual(before)
  await stage('Qualified').click()
  await expectStored({ stage: { name: 'Qualified' } })
  await section('Timeline').getByText('moved the deal from Lead to Qualified').first().waitFor()
  await section('Timeline').getByText('1 minute in Lead').first().waitFor()
  await expect.poll(() => stage('Qualified').getAttribute('aria-current')).toBe('step')
  await page.getByRole('button', { name: 'Lost', exact: true }).first().click()
  await page.getByRole('dialog').getByRole('button', { name: 'No answer' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Lost' }).click()
  await expectStored({ status: 'lost', lostReason: 'No answer' })
  await section('Stage').getByText('No answer').waitFor()
  const reopen = async () => {
    await page.getByRole('button', { name: 'Reopen' }).click()
    // The page has the answer: nothing moves any more, and Undo takes this back.
    await page.getByRole('button', { name: 'Reopen' }).waitFor({ state: 'detached' })
    await expectStored({ status: 'open', lostReason: null })
  }
  await reopen()
  await page.keyboard.press('Control+z')
  await expectStored({ status: 'lost', lostReason: 'No answer' })
  await reopen()
  await page.getByRole('button', { name: 'Won', exact: true }).first().click()
  await toast(`Won: ${deal.name}`).waitFor()
  await expectStored({ status: 'won' })
})

browserTest('contacts of a deal are added with a role, made primary and removed', async () => {
  for (const name of ['Rosa Decides', 'Tilda Pays']) await create('contacts', { name: `${name} ${number}` })
  await show()
  const links = async () => (await call('GET', `/v5/deals/${deal.id}/contacts?sort=asc`)).body
  for (const name of ['Rosa', 'Tilda']) {
    await section('Contacts').getByRole('button', { name: 'Add a contact' }).click()
    await inFocus(section('Contacts').getByRole('combobox'))
    await page.keyboard.type(name)
    await page
      .getByRole('option', { name: new RegExp(`^${name} .*${number}$`) })
      .first()
      .click()
    await section('Contacts')
      .getByRole('link', { name: new RegExp(`^${name}`) })
      .waitFor()
  }
  const menu = async (name: string, item: string) => {
    await section('Contacts')
      .getByRole('button', { name: new RegExp(`^Actions for ${name}`) })
      .click()
    await page.getByRole('menuitem', { name: item }).click()
  }
  await menu('Tilda', 'Budget holder')
  await menu('Tilda', 'Make primary')
  await expect
    .poll(async () => (await links()).map(({ role, isPrimary }: Json) => [role, isPrimary]))
    .toEqual([
      [null, false],
      ['budget_holder', true],
    ])
  await menu('Rosa', 'Remove')
  await expect.poll(async () => (await links()).length).toBe(1)
  await page.getByRole('button', { name: 'Undo' }).first().click()
  await expect.poll(async () => (await links()).length).toBe(2)
})

browserTest('a company and a contact show their deals, and a new one belongs to both', async () => {
  const company = await create('companies', { name: `Buyer ${number}` })
  const contact = await create('contacts', { name: `Clara Buyer ${number}`, companyId: company.id })
  await create('deals', { name: 'Known', companyId: company.id, amount: '10', currency: 'EUR' })
  await show(`/companies/${company.id}`)
  await section('Deals').getByRole('link', { name: 'Known' }).waitFor()
  await section('Deals').getByText('€10').waitFor()
  await show(`/contacts/${contact.id}`)
  await section('Deals').getByRole('button', { name: 'New deal' }).click()
  const dialog = page.getByRole('dialog', { name: 'New deal' })
  await dialog.getByRole('textbox', { name: 'Name' }).fill(`Together ${number}`)
  await expect.poll(() => dialog.getByRole('combobox', { name: 'Company' }).inputValue()).toBe(`Buyer ${number}`)
  await dialog.getByRole('button', { name: 'New deal' }).click()
  await page.getByRole('heading', { level: 1, name: `Together ${number}` }).waitFor()
  await section('Contacts').getByRole('link', { name: contact.name }).waitFor()
  await show(`/contacts/${contact.id}`)
  await section('Deals').getByRole('link', { name: 'Show the deal in the list' }).click()
  await page.getByRole('button', { name: `Contact is ${contact.name}` }).waitFor()
  await expect.poll(() => page.getByRole('grid').getAttribute('aria-rowcount')).toBe('2')
})

browserTest('a deal without activity for too long is marked on the board', async () => {
  const name = `Old ${number}`
  const { id } = await create('deals', { name })
  await service().database.crossTenantQuery(
    'check the database',
    sql`update deals set stage_changed_at = now() - interval '15 days' where id = ${decodeId('del', id)}::uuid`,
  )
  await show(`/deals?view=board&query=${encodeURIComponent(name)}`)
  const card = page.getByRole('listitem').filter({ has: page.getByRole('link', { name, exact: true }) })
  await card.getByText('No activity for 15 days').waitFor()
  await card.getByRole('link').focus()
  await page.keyboard.press('Alt+ArrowRight')
  await expect.poll(() => card.getByText('No activity for 15 days').count()).toBe(0)
})
