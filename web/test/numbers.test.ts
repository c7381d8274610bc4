import type { Page } from 'playwright-core'
import { beforeAll, expect } from 'vitest'
import { chromium } from '../../server/test/chromium.ts'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'

// Runs alone, because definitions change the forms of everybody in the organization.
const { openPage, callAs, expectErrors } = useApplication({ isAlone: true })

let page: Page
let call: Call
let number = 0
beforeAll(async () => {
  if (!chromium) return
  call = await callAs('owner', 'small')
  for (const [key, type, label] of [
    ['score', 'number', 'Score'],
    ['budget', 'money', 'Budget'],
  ])
    await call('POST', '/v5/properties', { body: { resource: 'companies', key, type, label } })
  page = await openPage({ stays: true, organization: 'small', path: '/forgot-password', locale: 'de-DE' })
})

const created = async (path: string, body: object): Promise<Json> => (await call('POST', path, { body })).body
const dialog = () => page.getByRole('dialog').first()
const properties = () => page.getByRole('complementary').first()
const read = async (path: string): Promise<Json> => (await call('GET', path)).body

/** Changes a property of the record on the page. */
async function edit(label: string, text: string): Promise<void> {
  await properties()
    .getByRole('button', { name: `${label} bearbeiten` })
    .click()
  await properties().getByRole('textbox', { name: label }).fill(text)
  await page.keyboard.press('Enter')
}

async function openCompany(): Promise<string> {
  const { id } = await created('/v5/companies', { name: `Zahlen ${++number}` })
  await page.goto(`/companies/${id}`)
  const more = properties().getByRole('button', { name: /weitere/ })
  await more.waitFor()
  await more.click()
  return `/v5/companies/${id}`
}

browserTest(
  "an amount in a form has the page's number format, and text copied from the list can be pasted",
  async () => {
    for (const [text, amount] of [
      ['1.234', '1234'],
      ['1.234,56', '1234.56'],
      ['1.234,50 €', '1234.50'],
      ['−5', '-5'],
    ] as const) {
      await page.goto('/deals?new=1')
      await dialog().getByRole('textbox', { name: /^Name/ }).fill(`Betrag ${text}`)
      await dialog()
        .getByRole('textbox', { name: /^Betrag/ })
        .fill(text)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: `Betrag ${text}` }).waitFor()
      expect(await read(`/v5/deals/${new URL(page.url()).pathname.split('/').pop()}`)).toMatchObject({ amount })
    }
  },
)

browserTest('text that is not a number is explained in the language of the page, and is not sent', async () => {
  await page.goto('/deals?new=1')
  await dialog().getByRole('textbox', { name: /^Name/ }).fill('Kein Betrag')
  const amount = dialog().getByRole('textbox', { name: /^Betrag/ })
  for (const text of ['1.2.3', '1.23', 'viel']) {
    await amount.fill(text)
    await page.keyboard.press('Enter')
    await dialog().getByText(`„${text}“ ist keine Zahl. Schreiben Sie sie so: 1.234,56`).waitFor()
    expect(await amount.getAttribute('aria-invalid')).toBe('true')
  }
  await amount.fill('7 CHF')
  await page.keyboard.press('Enter')
  await dialog().getByText('Dieser Betrag ist in EUR. Wählen Sie die Währung im eigenen Feld.').waitFor()
  await amount.fill('7')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Kein Betrag' }).waitFor()
})

browserTest("every numeric property of a record is edited in the page's number format", async () => {
  const path = await openCompany()
  const cases = [
    ['Jahresumsatz', '12.500.000,50', { annualRevenue: '12500000.50' }],
    ['Beschäftigte', '1.234', { employeesCount: 1234 }],
    ['Gegründet', '1.999', { foundedYear: 1999 }],
    ['Score', '0,125', { customProperties: { score: 0.125 } }],
    ['Budget', '1.234,5 CHF', { customProperties: { budget: { amount: '1234.5', currency: 'CHF' } } }],
  ] as const
  for (const [label, text, stored] of cases) {
    await edit(label, text)
    await expect.poll(() => read(path)).toMatchObject(stored)
  }
  const contact = await created('/v5/contacts', { name: 'Breite' })
  const company = page.url()
  await page.goto(`/contacts/${contact.id}`)
  await properties()
    .getByRole('button', { name: /weitere/ })
    .click()
  await edit('Breitengrad', '52,52')
  await expect.poll(() => read(`/v5/contacts/${contact.id}`)).toMatchObject({ latitude: 52.52 })
  await page.goto(company)
  await properties()
    .getByRole('button', { name: /weitere/ })
    .click()
  // Stored values appear in the locale's format.
  await properties().getByRole('button', { name: 'Jahresumsatz bearbeiten' }).click()
  const revenue = properties().getByRole('textbox', { name: 'Jahresumsatz' })
  expect(await revenue.inputValue()).toBe('12500000,50')
  await revenue.fill('1.5')
  await page.keyboard.press('Enter')
  const toasts = page.getByRole('region', { name: 'Notifications' })
  await toasts.getByText(/„1\.5“ ist keine Zahl/).waitFor()
  await properties().getByRole('button', { name: 'Jahresumsatz bearbeiten' }).click()
  expect(await revenue.inputValue()).toBe('1.5')
  await page.keyboard.press('Escape')
  expect(await read(path)).toMatchObject({ annualRevenue: '12500000.50' })
})

browserTest("filters use the page's number format, for one number and several", async () => {
  const tag = `zahlfilter-${++number}`
  for (const annualRevenue of ['1234.5', '2000', '9'])
    await created('/v5/companies', { name: `${tag} ${annualRevenue}`, annualRevenue, tags: [tag] })
  await page.goto(`/companies?filter.tags.has=${tag}`)
  const names = () => page.getByRole('grid').getByRole('link').allInnerTexts()
  await expect.poll(async () => (await names()).length).toBe(3)
  const form = page.getByRole('dialog', { name: 'Filter hinzufügen' })
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await form.getByRole('combobox', { name: 'Feld' }).selectOption({ label: 'Jahresumsatz' })
  await form.getByRole('combobox', { name: 'Bedingung' }).selectOption('gte')
  const value = form.getByRole('textbox', { name: 'Wert' })
  await value.fill('1.23')
  expect(await form.getByRole('button', { name: 'Anwenden' }).isDisabled()).toBe(true)
  await value.fill('1.234,5')
  await page.keyboard.press('Enter')
  await expect.poll(() => new URL(page.url()).searchParams.get('filter.annualRevenue.gte')).toBe('1234.5')
  await expect.poll(async () => (await names()).length).toBe(2)
  await page.getByRole('button', { name: /1\.234,5/ }).click()
  await page.getByRole('dialog', { name: 'Filter ändern' }).getByRole('textbox', { name: 'Wert' }).waitFor()
  const again = page.getByRole('dialog', { name: 'Filter ändern' }).getByRole('textbox', { name: 'Wert' })
  expect(await again.inputValue()).toBe('1234,5')
})

browserTest(
  "the settings of a stage use the page's number format, and the service's messages are in its language",
  async () => {
    expectErrors(page, /status of 422/)
    const pipeline = await created('/v5/pipelines', { name: `Zahlen ${++number}` })
    await page.goto(`/settings/pipelines?pipeline=${pipeline.id}`)
    await page.getByRole('button', { name: /Phase hinzufügen/ }).click()
    await dialog().getByRole('textbox', { name: /^Name/ }).fill('Angebot')
    await dialog()
      .getByRole('textbox', { name: /Wahrscheinlichkeit/ })
      .fill('40 %')
    const rotting = dialog().locator('[name=rottingDays]')
    await rotting.fill('4.000')
    await page.keyboard.press('Enter')
    await dialog().getByText('Der größte mögliche Wert ist 3.650.').waitFor()
    await rotting.fill('1.000')
    await page.keyboard.press('Enter')
    await dialog().waitFor({ state: 'detached' })
    const stages = await read(`/v5/pipelines/${pipeline.id}/stages`)
    expect(stages).toContainEqual(expect.objectContaining({ name: 'Angebot', probability: 40, rottingDays: 1000 }))

    await page.goto('/contacts?new=1')
    await dialog().getByRole('textbox', { name: /^Name/ }).fill('Ohne Adresse')
    await dialog()
      .getByRole('textbox', { name: /^E-Mail/ })
      .fill('keine')
    await page.keyboard.press('Enter')
    await dialog().getByText('Erwartet wird eine E-Mail-Adresse, zum Beispiel ada@example.com.').waitFor()
  },
)

browserTest('values of a list stay whole when one is added', async () => {
  const { id } = await created('/v5/companies', {
    name: `Listen ${++number}`,
    tags: ['a,b', 'x'],
    industries: ['Maschinen, Anlagen'],
  })
  await page.goto(`/companies/${id}`)
  const more = properties().getByRole('button', { name: /weitere/ })
  await more.waitFor()
  await more.click()
  for (const [label, name] of [
    ['Tags', 'tags'],
    ['Branchen', 'industries'],
  ] as const) {
    const before = (await read(`/v5/companies/${id}`))[name]
    await properties()
      .getByRole('button', { name: `${label} bearbeiten` })
      .click()
    const editor = properties().getByRole('textbox', { name: label })
    await editor.press('End')
    await page.keyboard.type(', c')
    await page.keyboard.press('Enter')
    await expect.poll(async () => (await read(`/v5/companies/${id}`))[name]).toEqual([...before, 'c'])
  }
  await page.goto('/companies?filter.tags.hasSome=a%5C,b')
  await page.getByRole('button', { name: /a,b/ }).click()
  const value = page.getByRole('dialog', { name: 'Filter ändern' }).getByRole('textbox', { name: 'Wert' })
  expect(await value.inputValue()).toBe('"a,b"')
  await value.fill('"a,b", z')
  await page.keyboard.press('Enter')
  await expect.poll(() => new URL(page.url()).searchParams.get('filter.tags.hasSome')).toBe(String.raw`a\,b,z`)
})
