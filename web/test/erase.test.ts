import type { Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { escape, inFocus } from './gestures.ts'

const { openPage, callAs } = useApplication()

let call: Call
let contact: Json
let number = 0
beforeEach(async () => {
  call ??= await callAs('owner', 'small')
  contact = (await call('POST', '/v5/contacts', { body: { name: `Gerd Gone ${++number}` } })).body
})

const openRecord = async (page: Page) => {
  await page.goto(`/contacts/${contact.id}`)
  await page.getByRole('heading', { level: 1, name: contact.name }).waitFor()
}

browserTest('an owner erases a contact with the keyboard, by typing its name', async () => {
  const page = await openPage({ organization: 'small' })
  await openRecord(page)
  await page.getByRole('button', { name: 'More actions' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Erase…' }).press('Enter')
  const dialog = page.getByRole('dialog', { name: `Erase ${contact.name} for good?` })
  const field = dialog.getByRole('textbox', { name: `To confirm, type: ${contact.name}` })
  await inFocus(field)
  await page.keyboard.type('Gerd')
  await page.keyboard.press('Enter')
  await dialog.getByText(`This is not the name: ${contact.name}`).waitFor()
  expect((await call('GET', `/v5/contacts/${contact.id}`)).status).toBe(200)
  await field.fill(contact.name)
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Notifications' }).getByText(`${contact.name} was erased`).waitFor()
  await page.waitForURL(/\/contacts$/)
  expect((await call('GET', `/v5/contacts/${contact.id}`)).status).toBe(404)
  expect((await call('POST', `/v5/contacts/${contact.id}/restore`)).status).toBe(404)
})

browserTest('a member is not offered to erase, and the dialog is in the language of the person', async () => {
  const member = await openPage({ organization: 'small', as: 'member' })
  await openRecord(member)
  await member.getByRole('button', { name: 'More actions' }).click()
  await member.getByRole('menuitem', { name: 'Delete' }).waitFor()
  expect(await member.getByRole('menuitem', { name: 'Erase…' }).count()).toBe(0)
  const page = await openPage({ organization: 'small', locale: 'de-DE' })
  await openRecord(page)
  await page.getByRole('button', { name: 'Weitere Aktionen' }).click()
  await page.getByRole('menuitem', { name: 'Endgültig löschen (DSGVO) …' }).click()
  const dialog = page.getByRole('dialog', { name: `${contact.name} endgültig löschen?` })
  await dialog.getByText('Nichts kann wiederhergestellt werden.').waitFor()
  await escape(dialog)
  await dialog.waitFor({ state: 'hidden' })
  expect((await call('GET', `/v5/contacts/${contact.id}`)).status).toBe(200)
})
