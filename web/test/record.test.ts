import type { Page, Request, Route } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { Grid } from './grid.ts'

const { openPage, openTab, callAs, expectErrors } = useApplication()

let page: Page
let call: Call
let contact: Json
let number = 0
beforeEach(async () => {
  page ??= await openPage({ stays: true, organization: 'small' })
  call ??= await callAs('owner', 'small')
  const name = `Rita Record ${++number}`
  contact = (await call('POST', '/v5/contacts', { body: { name, tags: ['record'], status: 'active' } })).body
  await page.goto(`/contacts/${contact.id}`)
  await page.getByRole('heading', { level: 1, name }).waitFor()
})

/** A gate that delays requests, and a function that opens it. */
const gate = (): [opened: Promise<void>, open: () => void] => {
  let open = () => {}
  return [new Promise<void>((resolve) => (open = resolve)), () => open()]
}
const properties = () => page.getByRole('complementary', { name: 'Properties' })
const expectStored = (values: object) =>
  expect.poll(async () => (await call('GET', `/v5/contacts/${contact.id}`)).body).toMatchObject(values)
const toast = (text: string | RegExp) => page.getByRole('region', { name: 'Notifications' }).getByText(text).first()

browserTest('an address that contains mail headers links to that address only', async () => {
  const email = `ada${number}?bcc=eve%40evil.example&subject=x@example.com`
  expect((await call('PATCH', `/v5/contacts/${contact.id}`, { body: { email } })).status).toBe(200)
  await page.reload()
  const link = properties().getByRole('link', { name: email })
  const href = (await link.getAttribute('href')) ?? ''
  expect(new URL(href).search).toBe('')
  expect(decodeURIComponent(new URL(href).pathname)).toBe(email)
})

browserTest('every editable property can be edited in place, with the keyboard', async () => {
  await properties()
    .getByRole('button', { name: /^Show \d+ more/ })
    .click()
  const edit = properties().getByRole('button', { name: /^Edit / })
  const names = (await edit.evaluateAll((buttons: Json[]) => buttons.map((button) => button.ariaLabel))) as string[]
  expect(names.length).toBeGreaterThan(20)
  for (const name of names) {
    const button = properties().getByRole('button', { name, exact: true })
    await button.focus()
    await page.keyboard.press('Enter')
    // Several choices are in a popover.
    const field = page.locator('input:focus, select:focus, textarea:focus')
    await field.waitFor()
    // A popover reacts to keys shortly after it has the focus.
    const close = async () => {
      if ((await field.count()) > 0) await page.keyboard.press('Escape')
      return button.evaluate((element) => element === element.ownerDocument.activeElement)
    }
    await expect.poll(close).toBe(true)
  }
  await properties().getByRole('button', { name: 'Edit Job title', exact: true }).click()
  await page.keyboard.type('Captain')
  await page.keyboard.press('Enter')
  await toast('Job title saved').waitFor()
  await expectStored({ employmentTitle: 'Captain' })
  await page.keyboard.press('Control+z')
  await expectStored({ employmentTitle: null })
})

browserTest('an entered value survives the answer to a read from before', async () => {
  const path = `/v5/contacts/${contact.id}`
  const [opened, open] = gate()
  const [answered, answer] = gate()
  let reads = 0
  await page.route(`**${path}`, async (route) => {
    // What another person changes leads to the first of them.
    if (route.request().method() !== 'GET' || ++reads > 1) return route.continue()
    const response = await route.fetch()
    answer()
    await opened
    await route.fulfill({ response })
  })
  await call('PATCH', path, { body: { city: 'Hamburg' } })
  await answered
  await properties().getByRole('button', { name: 'Edit Job title', exact: true }).click()
  await page.keyboard.type('Captain')
  await page.keyboard.press('Enter')
  await toast('Job title saved').waitFor()
  await Promise.all([page.waitForResponse((response) => response.url().endsWith(path)), open()])
  const seen = new Set<boolean>()
  // The next read is that of a later change.
  await call('PATCH', path, { body: { city: 'Bremen' } })
  await expect
    .poll(async () => {
      const text = await properties().innerText()
      seen.add(text.includes('Captain'))
      return text.includes('Bremen')
    })
    .toBe(true)
  expect([...seen]).toEqual([true])
  await page.unroute(`**${path}`)
})

browserTest('“n” focuses the note box, the draft survives reload, and Ctrl+Enter posts it once', async () => {
  const box = page.getByRole('textbox', { name: 'New note' })
  await box.waitFor()
  await page.keyboard.press('n')
  await expect.poll(() => box.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
  await page.keyboard.type('Met at the fair')
  await page.reload()
  await expect.poll(() => box.inputValue()).toBe('Met at the fair')
  await box.focus()
  await page.keyboard.press('Control+Enter')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('listitem').filter({ hasText: 'Met at the fair' }).waitFor()
  await expect.poll(() => box.inputValue()).toBe('')
  await expect.poll(() => box.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
  expect((await call('GET', `/v5/contacts/${contact.id}/notes`)).body).toHaveLength(1)
})

browserTest('a note whose response was lost is posted once, and can be changed before it is sent again', async () => {
  expectErrors(page, /ERR_FAILED|status of 500/)
  const box = page.getByRole('textbox', { name: 'New note' })
  const post = async (text: string) => {
    await box.fill(text)
    await page.keyboard.press('Control+Enter')
  }
  const postAndLose = async (text: string) => {
    const isLost = new Promise<void>((resolve) => {
      const lose = async (route: Route) => {
        await route.fetch()
        // From a proxy that has lost the response.
        await route.fulfill({ status: 500, body: '' })
        resolve()
      }
      void page.route(/\/notes$/, lose, { times: 1 }).then(() => post(text))
    })
    await isLost
    await toast(/The answer did not come from Rapport/).waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Add note' }).isEnabled()).toBe(true)
    expect(await box.inputValue()).toBe(text)
  }
  const notes = async () => (await call('GET', `/v5/contacts/${contact.id}/notes`)).body.map(({ body }: Json) => body)
  const lose = (route: Route) => route.fetch().then(() => route.abort())
  await page.route(/\/notes$/, lose, { times: 1 })
  await post('First')
  // The page retries it with the same key.
  await expect.poll(() => box.inputValue()).toBe('')
  expect(await notes()).toEqual(['First'])
  await postAndLose('Second')
  await post('Second, changed')
  await expect.poll(() => box.inputValue()).toBe('')
  expect(await notes()).toEqual(['Second, changed', 'Second', 'First'])
})

browserTest('the next note can be typed and posted before the responses for the last one arrive', async () => {
  const box = page.getByRole('textbox', { name: 'New note' })
  const [notesOpen, openNotes] = gate()
  const [timelinesOpen, openTimelines] = gate()
  await page.route(/\/notes$/, (route) => notesOpen.then(() => route.continue()))
  const sent = page.waitForRequest(/\/notes$/)
  await box.fill('One')
  await page.keyboard.press('Control+Enter')
  await sent
  await page.keyboard.type(' and more')
  await page.route(/\/v5\/.*\/timeline/, (route) => timelinesOpen.then(() => route.continue()))
  openNotes()
  await toast('Note added').waitFor()
  await expect.poll(() => box.inputValue()).toBe('and more')
  await box.fill('Two')
  await page.keyboard.press('Control+Enter')
  await expect.poll(() => box.inputValue()).toBe('')
  const { body } = await call('GET', `/v5/contacts/${contact.id}/notes`)
  expect(body.map((note: Json) => note.body)).toEqual(['Two', 'One'])
  openTimelines()
  await page.unrouteAll({ behavior: 'wait' })
})

browserTest('a link with a path instead of an id reaches no other route of the API', async () => {
  const { id: importId } = (await call('POST', '/v5/imports', { body: { name: 'Not meant' } })).body
  const requests: string[] = []
  const record = (request: Request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`)
  page.on('request', record)
  for (const id of [`../imports/${importId}`, `../imports/${importId}/rotate-url#`]) {
    await page.goto(`/contacts/${encodeURIComponent(id)}`)
    await page.getByRole('button', { name: 'Restore' }).click()
    await toast(/There is no record with this id/).waitFor()
    await page.goto(`/contacts?peek=${encodeURIComponent(id)}`)
    await page.getByRole('grid').waitFor()
  }
  page.off('request', record)
  expect(requests.filter((line) => line.includes(importId) && line.includes(' /v5/'))).toEqual([])
})

browserTest('deleting a record asks first, naming it, and Undo or its old page restores it', async () => {
  expectErrors(page, /status of 404/)
  const remove = async () => {
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page
      .getByRole('dialog', { name: `Delete ${contact.name}?` })
      .getByRole('button', { name: 'Delete' })
      .click()
    await page.getByRole('heading', { level: 1, name: 'Contacts' }).waitFor()
  }
  const isStored = async () => (await call('GET', `/v5/contacts/${contact.id}`)).status === 200
  await remove()
  await toast('Deleted 1 contact').waitFor()
  await expect.poll(() => page.locator(':focus').count()).toBe(1)
  await page.getByRole('button', { name: 'Undo' }).last().click()
  await expect.poll(isStored).toBe(true)
  await page.goto(`/contacts/${contact.id}`)
  await remove()
  await page.goto(`/contacts/${contact.id}`)
  await page.getByRole('heading', { name: 'This record is not there' }).waitFor()
  await page.getByRole('button', { name: 'Restore' }).click()
  await page.getByRole('heading', { level: 1, name: contact.name }).waitFor()
  expect(await isStored()).toBe(true)
})

browserTest('names are links: Ctrl+click opens a tab, and hovering loads the record', async () => {
  await page.goto('/contacts')
  await new Grid(page).settle()
  const link = page.getByRole('grid').getByRole('link', { name: contact.name, exact: true })
  expect(await link.getAttribute('href')).toBe(`/contacts/${contact.id}`)
  const loaded = page.waitForRequest((request) => request.url().includes(`/v5/contacts/${contact.id}`))
  await link.hover()
  await loaded
  const opened = page.context().waitForEvent('page')
  await link.click({ modifiers: ['Control'] })
  const tab = await opened
  await tab.getByRole('heading', { level: 1, name: contact.name }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/contacts')
  await tab.close()
  const nav = page.getByRole('navigation').getByRole('link', { name: 'Companies' }).first()
  expect(await nav.getAttribute('href')).toBe('/companies')
})

browserTest(
  'a time shows how long ago it was and, on hover and focus, the exact time in the person’s time zone',
  async () => {
    await call('POST', `/v5/contacts/${contact.id}/notes`, { body: { body: 'When was this?' } })
    const [{ createdAt }] = (await call('GET', `/v5/contacts/${contact.id}/notes`)).body
    for (const [timezone, locale] of [
      ['America/New_York', 'en-GB'],
      ['Asia/Tokyo', 'de-DE'],
    ] as const) {
      const now = new Date(Date.parse(createdAt) + 3 * 60 * 60 * 1000)
      const shown = await openPage({ organization: 'small', path: `/contacts/${contact.id}`, timezone, locale, now })
      const time = shown.getByRole('listitem').filter({ hasText: 'When was this?' }).getByRole('time')
      expect(await time.innerText()).toBe(locale === 'en-GB' ? '3 hours ago' : 'vor 3 Stunden')
      expect(await time.getAttribute('datetime')).toBe(createdAt)
      const full = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'long', timeZone: timezone })
      const exact = shown.getByText(full.format(new Date(createdAt)))
      await time.hover()
      await exact.waitFor()
      await shown.mouse.move(0, 0)
      await exact.waitFor({ state: 'detached' })
      await time.focus()
      await exact.waitFor()
    }
  },
)

browserTest('a second tab of the same person works at the same time as the first', async () => {
  const tab = await openTab(page, `/contacts/${contact.id}`)
  await tab.getByRole('heading', { level: 1, name: contact.name }).waitFor()
  await page.reload()
  await page.getByRole('heading', { level: 1, name: contact.name }).waitFor()
  await tab.close()
})
