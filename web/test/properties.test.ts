import type { Locator, Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { inFocus } from './gestures.ts'

// Runs alone, because definitions change the forms and lists of everybody in the organization.
const { openPage, callAs, expectErrors } = useApplication({ isAlone: true })

let page: Page
let call: Call
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/forgot-password' })
  call ??= await callAs()
})

/** The definitions for a resource, in order. */
const definitions = async (resource = 'deals'): Promise<Json[]> =>
  (await call('GET', `/v5/properties?filter.resource.equals=${resource}&orderBy=position&sort=asc&limit=100`)).body
const define = async (body: object): Promise<Json> => {
  const { status, body: definition, text } = await call('POST', '/v5/properties', { body })
  expect(status, text).toBe(201)
  return definition
}
const create = async (resource: string, body: object): Promise<Json> => {
  const { status, body: record, text } = await call('POST', `/v5/${resource}`, { body })
  expect(status, text).toBe(201)
  return record
}
const show = async (resource: string) => {
  await page.goto(`/settings/properties?resource=${resource}`)
  await page.getByText('Properties without a definition').waitFor()
}
const dialog = (name: string | RegExp) => page.getByRole('dialog', { name })
const toast = (text: string | RegExp) => page.getByRole('region', { name: 'Notifications' }).getByText(text).first()
const list = (name: string) => page.getByRole('list', { name, exact: true })
const choose = async (property: string, action: string) => {
  await page.getByRole('button', { name: `Actions for ${property}`, exact: true }).click()
  await page.getByRole('menuitem', { name: action }).click()
}
const save = (form: Locator, name = 'Create') => form.getByRole('button', { name, exact: true }).click()

browserTest('each type of property can be defined, with a key derived from its label', async () => {
  const kinds: [label: string, type: string, expected: object][] = [
    ['Delivery notes', 'Text', { key: 'deliveryNotes', type: 'text' }],
    ['Seats', 'Number', { key: 'seats', type: 'number' }],
    ['Set-up fee', 'Money', { key: 'setUpFee', type: 'money' }],
    ['Needs training', 'Yes or no', { key: 'needsTraining', type: 'boolean' }],
    ['Renewal date', 'Date', { key: 'renewalDate', type: 'date' }],
    ['Demo at', 'Date and time', { key: 'demoAt', type: 'instant' }],
    ['Tier', 'Choice', { key: 'tier', type: 'choice' }],
    ['Modules', 'Several choices', { key: 'modules', type: 'multiChoice' }],
    ['Billing email', 'Email', { key: 'billingEmail', type: 'email' }],
    ['Hotline', 'Phone', { key: 'hotline', type: 'phone' }],
    ['Contract', 'Link', { key: 'contract', type: 'url' }],
    ['Partner', 'Reference', { key: 'partner', type: 'reference', references: 'members' }],
  ]
  await show('deals')
  await page.getByText('No properties are defined yet.').waitFor()
  for (const [label, type] of kinds) {
    await page.getByRole('button', { name: 'New property' }).click()
    const form = dialog('New property of Deals')
    await form.getByRole('textbox', { name: 'Label', exact: true }).fill(label)
    await form.getByRole('radio', { name: new RegExp(`^${type} ?[A-Z]`) }).press('Space')
    if (type.toLowerCase().includes('choice')) {
      await form.getByRole('textbox', { name: 'New choice: label' }).fill('Very large')
      await page.keyboard.press('Enter')
      await inFocus(form.getByRole('textbox', { name: 'New choice: label' }))
      await page.keyboard.type('Small')
      await form.getByRole('textbox', { name: 'Small: value' }).fill('s')
    }
    if (type === 'Reference') await form.getByRole('combobox', { name: 'Refers to' }).selectOption('members')
    await save(form)
    await list('Defined properties').getByText(label, { exact: true }).waitFor()
    await form.waitFor({ state: 'detached' })
  }
  const defined = await definitions()
  expect(defined).toMatchObject(kinds.map(([label, , expected]) => ({ label, ...expected })))
  expect(defined.find(({ key }) => key === 'tier').choices).toMatchObject([
    { value: 'very_large', label: 'Very large' },
    { value: 's', label: 'Small' },
  ])
})

browserTest(
  'definitions are reordered by dragging and with the keyboard, archived and unarchived, deleted and restored',
  async () => {
    const names = ['One', 'Two', 'Three']
    for (const label of names) await define({ resource: 'companies', key: label.toLowerCase(), type: 'text', label })
    await show('companies')
    const expectOrder = (...labels: string[]) =>
      expect.poll(async () => (await definitions('companies')).map(({ label }) => label)).toEqual(labels)
    const handle = (name: string) => page.getByRole('button', { name: `Move ${name}`, exact: true })
    await handle('Three').focus()
    await page.keyboard.press('ArrowUp')
    await expectOrder('One', 'Three', 'Two')
    const titles = async () => (await list('Defined properties').getByRole('listitem').allInnerTexts()).join()
    await expect.poll(titles).toMatch(/One.*Three.*Two/s)
    const [from, to] = [await handle('One').boundingBox(), await handle('Two').boundingBox()]
    if (!from || !to) throw new Error('The handles are not visible.')
    await page.mouse.move(from.x + 8, from.y + 8)
    await page.mouse.down()
    await page.mouse.move(to.x + 8, to.y + 12, { steps: 5 })
    await page.mouse.up()
    await expectOrder('Three', 'Two', 'One')
    await choose('Two', 'Archive')
    await toast('Two was archived').waitFor()
    const archived = list('Archived properties').getByRole('listitem').filter({ hasText: 'Two' })
    await archived.getByRole('button', { name: 'Bring back' }).click()
    await archived.waitFor({ state: 'detached' })
    await choose('One', 'Delete')
    await dialog('Delete the property One?').getByRole('button', { name: 'Delete' }).click()
    await list('Deleted properties').getByRole('button', { name: 'Restore' }).click()
    await toast('The property One is back').waitFor()
    await expectOrder('Three', 'Two', 'One')
    expect((await definitions('companies')).map(({ archived: is }) => is)).toEqual([false, false, false])
  },
)

browserTest(
  'a definition is changed: its rules, default, choices and their order; an error is next to its field',
  async () => {
    expectErrors(page, /status of 4(?:09|22|23)/)
    const choices = ['a', 'b', 'c'].map((value) => ({ value, label: value.toUpperCase() }))
    await define({ resource: 'companies', key: 'grade', type: 'choice', label: 'Grade', choices })
    await show('companies')
    await page.getByRole('button', { name: 'New property' }).click()
    const create = dialog('New property of Companies')
    await create.getByRole('textbox', { name: 'Label', exact: true }).fill('Grade')
    await save(create)
    await create.locator('[aria-invalid=true]').waitFor()
    await inFocus(create.locator('[aria-invalid=true]'))
    expect(await page.locator(':focus').inputValue()).toBe('grade')
    await page.keyboard.press('Escape')
    await choose('Grade', 'Edit')
    const form = dialog('Change Grade')
    await form.getByRole('button', { name: 'Move C', exact: true }).focus()
    await page.keyboard.press('ArrowUp')
    await form.getByRole('button', { name: 'A: archive' }).click()
    await form.getByRole('textbox', { name: 'Description' }).fill('From the last audit')
    await form.getByRole('checkbox', { name: /^Required/ }).check()
    await form.getByRole('combobox', { name: 'Default' }).selectOption({ label: 'B' })
    await save(form, 'Save')
    await form.waitFor({ state: 'detached' })
    expect((await definitions('companies')).find(({ key }) => key === 'grade')).toMatchObject({
      description: 'From the last audit',
      required: true,
      default: 'b',
      choices: [
        { value: 'a', archived: true },
        { value: 'c', archived: false },
        { value: 'b', archived: false },
      ],
    })
  },
)

browserTest(
  'a key in use is defined with one click, after the values that do not fit have been corrected',
  async () => {
    expectErrors(page, /status of 422/)
    const [fitting, wrong] = [
      await create('contacts', { name: 'Fits', customProperties: { shoeSize: 42 } }),
      await create('contacts', { name: 'Does not fit', customProperties: { shoeSize: 'large' } }),
    ]
    await show('contacts')
    await page.getByRole('button', { name: 'Define shoeSize' }).click()
    const form = dialog('New property of Contacts')
    expect(await form.getByRole('textbox', { name: 'Label', exact: true }).inputValue()).toBe('Shoe size')
    await form.getByRole('radio', { name: /^Number/ }).press('Space')
    await save(form)
    const report = form.getByRole('alert')
    await report.getByText(/^1 record has/).waitFor()
    const misfit = list('Records to correct').getByRole('listitem')
    expect(await misfit.innerText()).toContain('"large"')
    expect(await misfit.getByRole('link', { name: 'Does not fit' }).getAttribute('href')).toBe(`/contacts/${wrong.id}`)
    await call('PATCH', `/v5/contacts/${wrong.id}`, { body: { customProperties: { shoeSize: 45 } } })
    await save(form)
    await form.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Define shoeSize' }).waitFor({ state: 'detached' })
    expect((await call('GET', `/v5/contacts/${fitting.id}`)).body.customProperties).toEqual({ shoeSize: 42 })
  },
)

browserTest('keys without a definition are accepted or refused', async () => {
  await show('companies')
  const accept = page.getByRole('checkbox', { name: /^Accept keys without a definition/ })
  await expect.poll(() => accept.isChecked()).toBe(true)
  await accept.click()
  await toast('Unknown keys of companies are refused').waitFor()
  expect((await call('GET', '/v5/properties/undeclared')).body).toMatchObject({
    companies: 'refused',
    deals: 'accepted',
  })
  // A click on the box as it was before would refuse them again.
  await expect.poll(() => accept.isChecked()).toBe(false)
  await accept.click()
  await expect.poll(async () => (await call('GET', '/v5/properties/undeclared')).body.companies).toBe('accepted')
})

browserTest('viewers see the definitions without buttons, and labels as the organization wrote them', async () => {
  await define({ resource: 'contacts', key: 'place', type: 'text', label: 'City' })
  const theirs = await openPage({ as: 'viewer', locale: 'de-DE', path: '/settings/properties' })
  const defined = theirs.getByRole('list', { name: 'Definierte Eigenschaften' })
  // “City” is also a label of the product, which is translated.
  await defined.getByText('City', { exact: true }).waitFor()
  expect(await theirs.getByRole('main').getByRole('button').allInnerTexts()).toEqual([
    'Kontakte',
    'Firmen',
    'Geschäfte',
    '',
  ])
  await theirs.getByText('Schlüssel ohne Definition werden angenommen.').waitFor()
})
