import type { Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { violations, violationsInFront } from './accessibility.ts'
import { browserTest, useApplication } from './application.ts'

const { openPage, openTab, callAs, expectErrors } = useApplication()

let page: Page
let call: Call
let contact: Json
let number = 0
beforeEach(async () => {
  page ??= await openPage({ stays: true, organization: 'small' })
  call ??= await callAs('owner', 'small')
  const name = `Ada Address ${++number}`
  const body = { name, email: `ada${number}@work.example`, phone: '+49301234567' }
  contact = (await call('POST', '/v5/contacts', { body })).body
  await page.goto(`/contacts/${contact.id}`)
  await page.getByRole('heading', { level: 1, name }).waitFor()
})

const edit = async (on = page) => {
  await on.getByRole('button', { name: 'Edit addresses' }).click()
  return on.getByRole('dialog', { name: `Addresses of ${contact.name}` })
}
const stored = async () => (await call('GET', `/v5/contacts/${contact.id}`)).body
const section = (on = page) => on.getByRole('region', { name: 'Further addresses' })

browserTest('further addresses are added, ordered, made primary and removed, with the keyboard', async () => {
  expectErrors(page, /status of 422/)
  const dialog = await edit()
  const emails = dialog.getByRole('group', { name: 'Emails' })
  await emails.getByRole('button', { name: 'Add an email' }).focus()
  await page.keyboard.press('Enter')
  await emails.getByLabel('Email', { exact: true }).nth(1).fill(`countess${number}@home.example`)
  await emails.getByLabel('Kind').nth(1).selectOption('Personal')
  await emails.getByRole('button', { name: 'Add an email' }).click()
  await emails.getByLabel('Email', { exact: true }).nth(2).fill('no address')
  await page.keyboard.press('Enter')
  await emails
    .getByText('expected an email address', { exact: false })
    .or(emails.locator('[aria-invalid=true]'))
    .first()
    .waitFor()
  await emails.getByRole('button', { name: 'Remove no address' }).click()
  await emails.getByRole('checkbox', { name: `countess${number}@home.example is primary` }).check()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'hidden' })
  expect((await stored()).emails).toEqual([
    { address: `ada${number}@work.example`, kind: null, primary: false, bouncedAt: null },
    { address: `countess${number}@home.example`, kind: 'personal', primary: true, bouncedAt: null },
  ])
  await section()
    .getByRole('link', { name: `ada${number}@work.example` })
    .waitFor()

  await edit()
  await emails
    .getByRole('button', { name: new RegExp(`ada${number}@work.example`) })
    .first()
    .focus()
  await page.keyboard.press('ArrowDown')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'hidden' })
  expect((await stored()).emails.map((entry: Json) => entry.address)).toEqual([
    `countess${number}@home.example`,
    `ada${number}@work.example`,
  ])
  await edit()
  await emails.getByRole('button', { name: `Remove countess${number}@home.example` }).click()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect.poll(async () => (await stored()).email).toBe(`ada${number}@work.example`)
})

browserTest('a list shows the primary address and how many others there are, and a search finds all', async () => {
  const emails = [`ada${number}@work.example`, `second${number}@x.example`, `unusual${number}@home.example`]
  const body = { emails: emails.map((address) => ({ address })) }
  const changed = await call('PATCH', `/v5/contacts/${contact.id}`, { body })
  expect([changed.status, changed.body.emails?.length]).toEqual([200, 3])
  await page.goto(`/contacts?query=unusual${number}`)
  const row = page.getByRole('row').filter({ hasText: contact.name })
  await row.waitFor()
  await row.getByText('+2').waitFor()
  await row.getByRole('link', { name: emails[0] ?? '' }).waitFor()
})

browserTest('a filter finds contacts by any of their addresses', async () => {
  const emails = [`ada${number}@work.example`, `any${number}@further.example`]
  await call('PATCH', `/v5/contacts/${contact.id}`, { body: { emails: emails.map((address) => ({ address })) } })
  await page.goto('/contacts')
  await page.getByRole('row').filter({ hasText: contact.name }).waitFor()
  await page.keyboard.press('f')
  const form = page.getByRole('dialog', { name: 'Add a filter' })
  await form.getByRole('combobox', { name: 'Property' }).selectOption('Email (all addresses)')
  await form.getByRole('textbox', { name: 'Value' }).fill(`any${number}@`)
  await form.getByRole('button', { name: 'Apply' }).click()
  await page
    .getByRole('toolbar')
    .getByRole('button', { name: `Email (all addresses) contains any${number}@` })
    .waitFor()
  await expect.poll(() => page.getByRole('row').filter({ hasText: '@work.example' }).count()).toBe(1)
  await page.getByRole('row').filter({ hasText: contact.name }).waitFor()
})

browserTest('two tabs that add different addresses keep both', async () => {
  const other = await openTab(page, `/contacts/${contact.id}`)
  for (const [tab, address] of [
    [page, `one${number}@example.com`],
    [other, `two${number}@example.com`],
  ] as const) {
    const dialog = await edit(tab)
    await dialog.getByRole('button', { name: 'Add an email' }).click()
    await dialog.getByLabel('Email', { exact: true }).nth(1).fill(address)
  }
  for (const tab of [page, other]) {
    const dialog = tab.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'hidden' })
  }
  await expect
    .poll(async () => (await stored()).emails.map((entry: Json) => entry.address))
    .toEqual([`ada${number}@work.example`, `one${number}@example.com`, `two${number}@example.com`])
  await section()
    .getByRole('link', { name: `two${number}@example.com` })
    .waitFor()
  await other.close()
})

browserTest('a removed row counts as a change, and a restored draft keeps what others have added', async () => {
  expectErrors(page, /status of 409/)
  const wouldAsk = () => page.evaluate<boolean>('!dispatchEvent(new Event("beforeunload", { cancelable: true }))')
  const dialog = await edit()
  expect(await wouldAsk()).toBe(false)
  const phones = dialog.getByRole('group', { name: 'Phones' })
  await phones.getByRole('button', { name: 'Remove +49301234567' }).click()
  await expect.poll(wouldAsk).toBe(true)

  const emails = [{ address: `ada${number}@work.example` }, { address: `theirs${number}@example.com` }]
  await call('PATCH', `/v5/contacts/${contact.id}`, { body: { emails } })
  page.once('dialog', (question) => void question.accept())
  await page.reload()
  await section()
    .getByRole('link', { name: `theirs${number}@example.com` })
    .waitFor()
  await edit()
  await dialog.getByText('This is what you entered before', { exact: false }).waitFor()

  const other = await call('POST', '/v5/contacts', { body: { name: 'Other', email: `taken${number}@example.com` } })
  expect(other.status).toBe(201)
  const fields = dialog.getByRole('group', { name: 'Emails' })
  await fields.getByLabel('Email', { exact: true }).fill(`taken${number}@example.com`)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await fields.getByRole('alert').getByText('is taken by').waitFor()
  await fields.getByLabel('Email', { exact: true }).fill(`ada${number}@work.example`)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'hidden' })
  const { emails: kept, phones: left } = await stored()
  expect([kept.map((entry: Json) => entry.address), left]).toEqual([emails.map(({ address }) => address), []])
})

browserTest('the addresses and their dialog are accessible, also on a phone', async () => {
  const emails = [
    { address: `ada${number}@work.example`, kind: 'work' },
    { address: `${'long'.repeat(15)}@home.example` },
  ]
  await call('PATCH', `/v5/contacts/${contact.id}`, { body: { emails } })
  const phone = await openTab(page, `/contacts/${contact.id}`)
  await phone.setViewportSize({ width: 390, height: 844 })
  await section(phone).getByRole('link').first().waitFor()
  const dialog = await edit(phone)
  await dialog.getByLabel('Kind').nth(1).waitFor()
  const overflow = () => phone.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  await expect.poll(overflow).toBe(0)
  expect(await violationsInFront(phone)).toEqual([])
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'hidden' })
  await expect.poll(overflow).toBe(0)
  expect(await violations(phone)).toEqual([])
  await phone.close()
})
