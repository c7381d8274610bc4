import { readFileSync } from 'node:fs'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { answerWith, Receiver, verify } from '../../server/test/webhook-receiver.ts'
import type { Call, Json } from '../../server/test/service.ts'
import { newContact, newWebhook, sendsToLoopback } from '../../server/test/webhook-fixture.ts'
import { browserTest, useApplication } from './application.ts'
import { copiedBy } from './gestures.ts'
import { squeezed, resize } from './squeezed.ts'
import { expectAccessible } from './visit.ts'

const { openPage, openTab, callAs, expectErrors } = useApplication({ isAlone: true, environment: sendsToLoopback })

let receiver: Receiver
let call: Call
beforeAll(async () => {
  receiver = await new Receiver().open()
  call = await callAs('owner', 'small')
})
afterAll(() => receiver.close())

const open = (path: string): Promise<Page> => openPage({ organization: 'small', path })
const button = (page: Page | Locator, name: string | RegExp) => page.getByRole('button', { name, exact: true })
const group = (page: Page, name: string) =>
  page.locator('details').filter({ has: page.locator('summary', { hasText: name }) })
const panel = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
const menuItem = async (page: Page, name: string) => {
  await page.getByRole('button', { name: /^Actions for the webhook/ }).click()
  await page.getByRole('menuitem', { name }).click()
}
const rows = (page: Page) => page.getByRole('list', { name: 'Deliveries' }).getByRole('listitem')
const newest = async (): Promise<Json> =>
  (await call('GET', '/v5/webhooks?orderBy=createdAt&sort=desc&limit=1')).body[0]

browserTest('a person creates a webhook, receives a change, and rotates the secret', async () => {
  const page = await open('/settings/webhooks')
  await page.getByText('No webhooks yet.').waitFor()
  await button(page, 'Create webhook').click()
  await page.getByRole('textbox', { name: 'URL' }).fill(receiver.url)
  await page.getByRole('textbox', { name: 'Description' }).fill('Data warehouse')
  await group(page, 'Contacts').first().locator('summary').click()
  await page.getByRole('checkbox', { name: 'Contact: created' }).check()
  await page.getByRole('checkbox', { name: 'Contact: changed' }).check()
  // The permission that these events need is chosen with them.
  await page.getByText('1 chosen').waitFor()

  await button(panel(page, 'Conditions'), 'Filter').click()
  const form = page.getByRole('dialog', { name: 'Add a filter' })
  await form.getByRole('combobox', { name: 'Property' }).selectOption({ label: 'City' })
  await form.getByRole('textbox', { name: 'Value' }).fill('Paris')
  await form.getByRole('button', { name: 'Apply' }).click()
  await page.getByText(/^City contains Paris$/).waitFor()
  await group(page, 'Fields').locator('summary').click()
  await page.getByRole('checkbox', { name: 'Job title' }).check()

  await page.getByRole('checkbox', { name: /^Send the events of a record in their order/ }).check()
  await button(page, 'Add a header').click()
  const header = page.getByRole('group', { name: 'Header 1' })
  await header.getByRole('textbox', { name: 'Name' }).fill('authorization')
  await header.getByLabel('Value', { exact: true }).fill('Bearer of-the-receiver')
  await button(page, 'Create webhook').click()

  await page.getByRole('heading', { name: 'Copy the secret now' }).waitFor()
  const secret = await copiedBy(button(page, 'Copy: Secret'))
  expect(secret).toMatch(/^whsec_/)
  const webhook = await newest()
  expect(webhook).toMatchObject({
    url: receiver.url,
    events: ['contact.created', 'contact.updated'],
    scopes: ['urn:service:contact:list:read'],
    filter: { city: { contains: 'Paris' } },
    changedFields: ['employmentTitle'],
    ordered: true,
    headerNames: ['authorization'],
  })

  await newContact(call, { name: 'Not in Paris', city: 'Rome' })
  const contact = await newContact(call, { city: 'Paris' })
  // Without a reload.
  await rows(page).filter({ hasText: contact.id }).getByText('Delivered').waitFor()
  expect(await rows(page).count()).toBe(1)
  const [received] = receiver.received
  if (!received) throw new Error('Nothing was received.')
  verify(secret, received)
  expect(received.headers.authorization).toBe('Bearer of-the-receiver')

  await page.reload()
  await rows(page).first().waitFor()
  expect(await page.getByText('whsec_', { exact: false }).filter({ hasText: secret }).count()).toBe(0)
  await menuItem(page, 'Rotate the secret…')
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
  await page.getByRole('heading', { name: 'Copy the secret now' }).waitFor()
  const next = await copiedBy(button(page, 'Copy: Secret'))
  expect(next).not.toBe(secret)
  await call('PATCH', `/v5/contacts/${contact.id}`, { body: { employmentTitle: 'Engineer' } })
  const [, changed] = await receiver.count(2)
  if (!changed) throw new Error('The change was not received.')
  for (const one of [secret, next]) verify(one, changed)
  await button(page, 'I have stored the secret').click()
  await expect.poll(() => page.getByText(next).count()).toBe(0)
})

browserTest(
  'a failing receiver shows why, and its events are sent again: one, the matching ones, all since a time',
  async () => {
    const { id } = await newWebhook(call, receiver, { events: ['company.*'], scopes: ['company:list:read'] })
    receiver.answer = answerWith(500, {}, 'The disk <b>is full</b>')
    const before = receiver.received.length
    for (const name of ['Engines', 'Looms', 'Mills']) await call('POST', '/v5/companies', { body: { name } })
    await receiver.count(before + 3)
    const page = await open(`/settings/webhooks?webhook=${id}`)
    await panel(page, 'Status and settings').getByText('Failing', { exact: true }).waitFor()
    await rows(page).nth(2).waitFor()
    await page.getByRole('combobox', { name: 'Status' }).selectOption({ label: 'Will be retried' })
    await page.waitForURL(/filter\.status\.equals=retrying/)
    await rows(page).nth(2).waitFor()
    await rows(page).first().getByRole('link').click()
    const attempts = page.getByRole('list', { name: 'Attempts' })
    await attempts.getByText('The disk <b>is full</b>').last().waitFor()
    await attempts.getByText('500', { exact: true }).last().waitFor()
    await attempts.getByText('The receiver answered 500.', { exact: false }).last().waitFor()

    receiver.answer = answerWith(204)
    await button(page, 'Send again').click()
    await page.getByText('The event is sent again').waitFor()
    await panel(page, 'Delivery').getByText('Delivered').waitFor()
    await attempts.getByText('204', { exact: true }).waitFor()

    // Back to the filtered list.
    await page
      .getByRole('main')
      .getByRole('link', { name: /^127\.0\.0\.1/ })
      .click()
    await page.waitForURL(/filter\.status\.equals=retrying/)
    await button(page, 'Clear filters').click()
    await page.getByRole('combobox', { name: 'Type' }).selectOption({ label: 'Company: created' })
    await button(panel(page, 'Deliveries'), 'Send again').click()
    await page.getByRole('dialog', { name: 'Send 3 events again?' }).getByRole('button', { name: 'Send again' }).click()
    await page.getByText('3 events are sent again').waitFor()
    await expect.poll(() => rows(page).getByText('Delivered').count()).toBe(3)

    // The events that failed at first are retried by themselves, too.
    const running = `/v5/webhooks/${id}/deliveries?filter.status.in=pending,retrying`
    await expect.poll(async () => (await call('GET', running)).body).toEqual([])
    const sent = receiver.received.length
    await menuItem(page, 'Send all since a time again…')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Since').fill('2026-01-01T00:00')
    await dialog.getByText('3 events will be sent.').waitFor()
    await dialog.getByRole('button', { name: 'Send again' }).click()
    const received = await receiver.count(sent + 3)
    expect(new Set(received.slice(sent).map((one) => one.id)).size).toBe(3)
  },
)

browserTest('a test event is sent of each kind, and shows its attempt while it runs', async () => {
  const { id } = await newWebhook(call, receiver, { events: ['*'], scopes: ['contact:list:read', 'deal:list:read'] })
  let release: () => void = () => undefined
  receiver.answer = (response) => void (release = () => response.writeHead(200).end('thanks'))
  const page = await open(`/settings/webhooks?webhook=${id}`)
  await button(page, 'Test').click()
  const dialog = page.getByRole('dialog', { name: 'Send a test event' })
  await dialog.getByRole('combobox', { name: 'Type' }).selectOption({ label: 'Deal: moved to a stage' })
  const before = receiver.received.length
  await dialog.getByRole('button', { name: 'Send' }).click()
  await panel(page, 'Delivery').getByText('Being sent').waitFor()
  await receiver.count(before + 1)
  expect(receiver.received.at(-1)?.body).toMatchObject({ type: 'deal.moved', data: { isTest: true } })
  release()
  receiver.answer = answerWith(204)
  await page.getByRole('list', { name: 'Attempts' }).getByText('thanks').waitFor()
  await expectAccessible(page)
})

browserTest(
  'a receiver that is gone is disabled with a reason; it is enabled, paused, resumed, deleted and restored',
  async () => {
    const { id } = await newWebhook(call, receiver, {
      description: 'Old shop',
      events: ['task.*'],
      scopes: ['task:list:read'],
    })
    receiver.answer = answerWith(410)
    const page = await open(`/settings/webhooks?webhook=${id}`)
    await panel(page, 'Status and settings').getByText('Enabled').waitFor()
    await call('POST', '/v5/tasks', { body: { title: 'Oil the looms' } })
    await page.getByText('The receiver answered 410 Gone', { exact: false }).waitFor()
    receiver.answer = answerWith(204)
    const statusNow = async () => (await call('GET', `/v5/webhooks/${id}`)).body.status
    await button(page, 'Enable again').click()
    await expect.poll(statusNow).toBe('enabled')
    await menuItem(page, 'Pause')
    await page.getByRole('heading', { name: 'This webhook is paused' }).waitFor()
    await button(page, 'Resume').click()
    await expect.poll(statusNow).toBe('enabled')
    // The page is left first: it would fetch the deleted webhook until the answer came, which the browser reports.
    const list = page.getByRole('heading', { name: 'Webhooks', level: 1 })
    await page.route(`**/v5/webhooks/${id}`, async (route) => {
      if (route.request().method() === 'DELETE') await list.waitFor()
      await route.continue()
    })
    await menuItem(page, 'Delete…')
    await page.getByRole('dialog', { name: 'Delete Old shop?' }).getByRole('button', { name: 'Delete' }).click()
    const deleted = page.getByRole('list', { name: 'Deleted webhooks' })
    await deleted.getByText('Old shop').waitFor()
    await deleted.getByRole('listitem').filter({ hasText: 'Old shop' }).getByRole('button', { name: 'Restore' }).click()
    await page.getByRole('list', { name: 'Webhooks' }).getByRole('link', { name: 'Old shop' }).waitFor()
  },
)

browserTest(
  'refusals say what to do, a draft survives a reload without header values, and two tabs lose nothing',
  async () => {
    const page = await open('/settings/webhooks?new=true')
    expectErrors(page, /422/)
    await page.getByRole('textbox', { name: 'URL' }).fill('http://example.com/hooks')
    await button(page, 'Create webhook').click()
    await page.getByText('Choose at least one type of event.').waitFor()
    await group(page, 'Contacts').first().locator('summary').click()
    await page.getByRole('checkbox', { name: 'Contacts: all events' }).check()
    await button(page, 'Create webhook').click()
    await page.getByText('URL must start with https://', { exact: false }).waitFor()
    await button(page, 'Add a header').click()
    await page.getByLabel('Value', { exact: true }).fill('a secret value')
    await page.getByRole('textbox', { name: 'Description' }).fill('Half done')
    await page.reload()
    await page.getByText('This is what you entered before.', { exact: false }).waitFor()
    expect(await page.getByRole('textbox', { name: 'Description' }).inputValue()).toBe('Half done')
    expect(await page.evaluate('JSON.stringify([sessionStorage, localStorage])')).not.toContain('a secret value')

    const { id } = await newWebhook(call, receiver, { description: 'Ours', headers: { 'x-shop': 'mine' } })
    const path = `/settings/webhooks?webhook=${id}&edit=true`
    const first = await openTab(page, path)
    const second = await openTab(page, path)
    for (const [tab, text] of [
      [first, 'First'],
      [second, 'Second'],
    ] as const) {
      expectErrors(tab, /412/)
      await tab.getByText('Stored: x-shop').waitFor()
      await tab.getByRole('textbox', { name: 'Description' }).fill(text)
    }
    await button(first, 'Save').click()
    await first.getByRole('heading', { name: 'First', level: 1 }).waitFor()
    await button(second, 'Save').click()
    const conflict = second.getByRole('dialog', { name: 'Description was changed meanwhile' })
    await expect.poll(() => conflict.locator('dd').allInnerTexts()).toEqual(['First', 'Second'])
    await conflict.getByRole('button', { name: 'Cancel' }).click()
    expect(await second.getByRole('textbox', { name: 'Description' }).inputValue()).toBe('Second')
    await button(second, 'Save').click()
    await conflict.getByRole('button', { name: 'Keep mine' }).click()
    await second.getByRole('heading', { name: 'Second', level: 1 }).waitFor()
    expect((await call('GET', `/v5/webhooks/${id}`)).body).toMatchObject({
      description: 'Second',
      headerNames: ['x-shop'],
    })
  },
)

browserTest('the receivers are those of the guide, which the keyboard chooses and copies', async () => {
  const guide = readFileSync(new URL('../../docs/guides/webhooks.md', import.meta.url), 'utf8')
  const { id } = await newWebhook(call, receiver)
  const page = await open(`/settings/webhooks?webhook=${id}`)
  await page.getByRole('tab', { name: 'Node' }).focus()
  for (const [index, file] of ['receiver.mjs', 'receiver.py', 'receiver.php'].entries()) {
    if (index > 0) await page.keyboard.press('ArrowRight')
    await page.getByRole('region', { name: file, exact: true }).waitFor()
    const copied = await copiedBy(button(page, `Copy: ${file}`))
    expect(guide).toContain(`${file}\n${copied}\n\`\`\``)
    await page.getByRole('tab', { selected: true }).focus()
  }
})

browserTest('a long list of deliveries is read page by page', async () => {
  const { id } = await newWebhook(call, receiver, { events: ['note.created'], scopes: ['note:list:read'] })
  for (let count = 0; count < 30; count++)
    await call('POST', `/v5/webhooks/${id}/test`, { body: { type: 'note.created' } })
  const page = await open(`/settings/webhooks?webhook=${id}`)
  await rows(page).nth(24).waitFor()
  await button(page, 'Load more').click()
  await rows(page).nth(29).waitFor()
})

/** Moves the focus with the Tab key until it is on the element with this name. */
async function tabTo(page: Page, element: Locator): Promise<void> {
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press('Tab')
    if ((await element.and(page.locator(':focus')).count()) === 1) return
  }
  throw new Error('The Tab key does not reach the element.')
}

browserTest('a webhook is created and tested with the keyboard alone', async () => {
  const page = await open('/settings/webhooks?new=true')
  await page.getByRole('textbox', { name: 'URL' }).focus()
  await page.keyboard.type(receiver.url)
  await tabTo(page, page.locator('summary', { hasText: /^Campaigns/ }).first())
  await page.keyboard.press('Enter')
  await tabTo(page, page.getByRole('checkbox', { name: 'Campaign: deleted' }))
  await page.keyboard.press('Space')
  await tabTo(page, button(page, 'Create webhook'))
  await page.keyboard.press('Enter')
  // The focus is where the secret is.
  await page.getByRole('heading', { name: 'Copy the secret now' }).waitFor()
  await tabTo(page, button(page, 'I have stored the secret'))
  await page.keyboard.press('Enter')
  await tabTo(page, button(page, 'Test'))
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Send a test event' }).waitFor()
  await tabTo(page, button(page, 'Send'))
  await page.keyboard.press('Enter')
  await panel(page, 'Delivery').getByText('Delivered').waitFor()
  await tabTo(page, page.getByRole('main').getByRole('link', { name: /^127\.0\.0\.1/ }))
  await page.keyboard.press('Enter')
  await rows(page).first().waitFor()
})

/** What is wider than the scrolling part of the page that contains it. */
const overflow = `[...document.querySelectorAll('[class*=_content_], [class*=_panel_]')]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map(({ textContent }) => textContent.slice(0, 60))`

for (const [locale, name] of [
  ['en-GB', 'Deliveries'],
  ['de-DE', 'Zustellungen'],
] as const) {
  browserTest(`form, webhook and delivery fit windows of all widths in ${locale}, with everything open`, async () => {
    const { id } = await newWebhook(call, receiver, {
      headers: { authorization: 'Bearer 1' },
      filter: { city: { equals: 'Rome' } },
    })
    receiver.answer = answerWith(500, {}, 'x'.repeat(2000))
    const { body: delivery } = await call('POST', `/v5/webhooks/${id}/test`, { body: { type: 'contact.created' } })
    const path = `/settings/webhooks?webhook=${id}`
    const page = await openPage({ organization: 'small', locale, path })
    await panel(page, name).getByRole('listitem').first().waitFor()
    for (const shown of [path, `${path}&edit=true`, `${path}&delivery=${delivery.id}`]) {
      await page.goto(shown)
      await page.getByRole('main').locator('h2').nth(1).waitFor()
      await page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true')
      for (const width of [390, 768, 1024, 1440]) {
        await resize(page, width)
        // The page measures itself after a resize.
        const faults = async () => [...(await squeezed(page)), ...(await page.evaluate<string[]>(overflow))]
        await expect.poll(faults, { message: `${shown} at ${width}` }).toEqual([])
      }
      await expectAccessible(page)
    }
    receiver.answer = answerWith(204)
  })
}
