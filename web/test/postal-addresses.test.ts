import { expect } from 'vitest'
import { violations } from './accessibility.ts'
import { browserTest, useApplication } from './application.ts'

const { openPage, callAs } = useApplication()

browserTest('a new contact gets an address, whose line is shown in the language of the page and copied', async () => {
  const page = await openPage({ organization: 'small' })
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto('/contacts?new=1')
  const dialog = page.getByRole('dialog', { name: 'New contact' })
  await dialog.getByLabel(/^Name/).fill('Adele Address')
  await dialog.getByRole('button', { name: /more fields/ }).click()
  const address = dialog.getByRole('group', { name: 'Address' })
  await address.getByLabel(/^Street/).fill('Hauptstr. 5\nHinterhaus')
  await address.getByLabel(/^Postal code/).fill('10115')
  await address.getByLabel(/^City/).fill('Berlin')
  await address.getByLabel(/^Country/).selectOption({ label: 'Germany' })
  expect(await violations(page)).toEqual([])
  await dialog.getByRole('button', { name: 'New contact' }).click()
  const properties = page.getByRole('complementary', { name: 'Properties' })
  const line = 'Hauptstr. 5, Hinterhaus, 10115 Berlin, Germany'
  await properties.getByText(line).waitFor()
  await properties.getByRole('button', { name: 'Copy: Address' }).focus()
  await page.keyboard.press('Enter')
  await properties.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(line)
  expect(await violations(page)).toEqual([])
  await page.getByRole('button', { name: 'Edit City', exact: true }).click()
  await page.keyboard.type('Bonn')
  await page.keyboard.press('Enter')
  await properties.getByText('Hauptstr. 5, Hinterhaus, 10115 Bonn, Germany').waitFor()

  const german = await openPage({
    organization: 'small',
    locale: 'de-DE',
    width: 390,
    path: new URL(page.url()).pathname,
  })
  await german.getByRole('button', { name: /weitere Felder/ }).click()
  await german.getByText('Hauptstr. 5, Hinterhaus, 10115 Bonn, Deutschland').waitFor()
  expect(await german.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
})

browserTest('lists can show the address', async () => {
  const call = await callAs('owner', 'small')
  await call('POST', '/v5/companies', { body: { name: 'Addressed', city: 'Springfield', countryCode: 'US' } })
  const page = await openPage({ organization: 'small', path: '/companies?columns=name:160!,formattedAddress:260' })
  await page.getByRole('columnheader', { name: 'Address' }).waitFor()
  await page.getByRole('gridcell', { name: 'Springfield, USA' }).waitFor()
  expect(await page.getByRole('button', { name: 'Copy: Address' }).count()).toBe(0)
})
