import { expect } from 'vitest'
import { browserTest, useApplication } from './application.ts'
import { inFocus } from './gestures.ts'
import { violations } from './accessibility.ts'

const { openPage, callAs, expectErrors } = useApplication()

browserTest('a job is added with a company, shown on both pages, changed and deleted, by the keyboard', async () => {
  const page = await openPage({ organization: 'small' })
  expectErrors(page, /status of 422/)
  const call = await callAs('owner', 'small')
  const company = (await call('POST', '/v5/companies', { body: { name: 'Difference Engines' } })).body
  const contact = (await call('POST', '/v5/contacts', { body: { name: 'Edith Employed' } })).body
  const jobs = async () => (await call('GET', `/v5/contacts/${contact.id}/employments`)).body
  await page.goto(`/contacts/${contact.id}`)
  await page.getByRole('button', { name: 'Add employment' }).focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Add employment' })
  await inFocus(dialog.getByRole('combobox', { name: /^Company/ }))
  await page.keyboard.type('Difference')
  await page.locator('[role=listbox][aria-busy=false]').getByRole('option', { name: 'Difference Engines' }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await expect.poll(() => dialog.getByLabel('Organization').getAttribute('placeholder')).toBe('Difference Engines')
  await dialog.getByLabel(/^Job title/).fill('Countess')
  await dialog.getByLabel(/^Start/).fill('2021-03')
  expect(await violations(page)).toEqual([])
  await dialog.getByLabel('Current job').check()
  await page.keyboard.press('Enter')
  const row = page.getByRole('list', { name: 'Employment history' }).getByRole('listitem')
  await row.getByRole('link', { name: 'Difference Engines' }).waitFor()
  await expect.poll(() => row.textContent()).toMatch(/Countess · Difference Engines.*Mar 2021 – present/)
  expect(await jobs()).toMatchObject([
    { organization: 'Difference Engines', companyId: company.id, title: 'Countess', start: '2021-03', current: true },
  ])

  await page.getByRole('button', { name: 'Actions for Countess · Difference Engines' }).click()
  await page.getByRole('menuitem', { name: 'Edit employment' }).click()
  const edit = page.getByRole('dialog', { name: 'Edit employment' })
  await edit.getByLabel('Current job').uncheck()
  await edit.getByLabel(/^End/).fill('2020-01')
  await edit.getByRole('button', { name: 'Save' }).click()
  await edit.getByText(/end cannot be before the start/i).waitFor()
  await edit.getByLabel(/^End/).fill('2022-05')
  await edit.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Mar 2021 – May 2022').waitFor()

  await row.getByRole('link', { name: 'Difference Engines' }).click()
  await page.getByRole('heading', { level: 1, name: 'Difference Engines' }).waitFor()
  const people = page.getByRole('list', { name: 'Who works or worked here' }).getByRole('listitem')
  await people.getByRole('link', { name: 'Edith Employed' }).waitFor()
  await expect.poll(() => people.textContent()).toContain('Countess · Mar 2021 – May 2022')
  expect(await violations(page)).toEqual([])

  await page.goBack()
  await page.getByRole('button', { name: 'Actions for Countess · Difference Engines' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByText('No earlier jobs are known').waitFor()
  await expect.poll(jobs).toEqual([])
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(async () => (await jobs()).length).toBe(1)
})
