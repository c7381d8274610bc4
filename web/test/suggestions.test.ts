import type { Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import { decodeId } from '../../server/src/platform/model/ids.ts'
import { sql } from '../../server/src/platform/model/sql.ts'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { typeAtOnce } from './gestures.ts'

const { service, openPage, callAs, expectErrors } = useApplication({
  isAlone: true,
  environment: { REASONING_CONCURRENCY: '1' },
})

let page: Page
let call: Call
let contact: Json
let number = 0
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/forgot-password', organization: 'small' })
  call ??= await callAs('owner', 'small')
  contact = await create('/v5/contacts', { name: `Petra Plan ${++number}`, timeZone: 'Europe/Berlin' })
})

async function create(path: string, body: object): Promise<Json> {
  const created = await call('POST', path, { body })
  expect(created.status, created.text).toBe(201)
  return created.body
}

const read = async (path: string): Promise<Json> => (await call('GET', path)).body
const suggestionsOf = (record = contact): Promise<Json[]> => read(`/v5/suggestions?contactId=${record.id}`)
const timeline = (on = page) => on.getByRole('region', { name: /^(?:Timeline|Verlauf)$/ })
const card = (name: string | RegExp, on = page) => on.getByRole('group', { name })
const toast = (text: string | RegExp) => page.getByRole('region', { name: 'Notifications' }).getByText(text).first()
const focused = (on = page): Promise<string> =>
  on.evaluate(
    `document.getElementById(document.activeElement.getAttribute('aria-labelledby'))?.textContent ?? document.activeElement.tagName`,
  )

/** Creates a note on the contact; resolves once it is analysed. */
async function noted(body: string, path = `/v5/contacts/${contact.id}/notes`): Promise<Json> {
  const note = await create(path, { body })
  await expect.poll(async () => (await read(`/v5/notes/${note.id}`)).reasoningQueuedAt, { timeout: 15_000 }).toBe(null)
  return note
}

async function show(record = contact, on = page): Promise<void> {
  await on.goto(`/contacts/${record.id}`)
  await timeline(on).waitFor()
}

const watchShifts = (): Promise<void> =>
  page.evaluate(`
    globalThis.shift = 0
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) shift += entry.value
    }).observe({ type: 'layout-shift' })`)

browserTest('a suggestion appears next to a new note, and moves neither the page nor the focus', async () => {
  await noted('Older note')
  await show()
  const place = timeline().getByText('Looking for next actions')
  let isHeld = true
  const asked: string[] = []
  await page.route(/v5\/(?:suggestions|note-analyses)\?.*noteId/, (route) => {
    if (isHeld) return route.fulfill({ json: [] })
    asked.push(new URL(route.request().url()).pathname)
    return route.continue()
  })
  const box = page.getByRole('textbox', { name: 'New note' })
  await box.fill('Please **call me** tomorrow at 10:00.')
  await box.press('Control+Enter')
  await place.first().waitFor()
  await watchShifts()
  await expect.poll(async () => (await suggestionsOf()).length, { timeout: 15_000 }).toBe(1)
  isHeld = false
  await card(/^Call Petra Plan \d+ on \w+,? \d+ \w+(?: \d{4})? at 10:00$/).waitFor()
  // At the next poll of the page.
  expect(asked.filter((path) => path === '/v5/suggestions').length).toBeLessThanOrEqual(2)
  expect(await page.evaluate<number>('shift')).toBeLessThan(0.02)
  expect(await page.evaluate<string>('document.activeElement.getAttribute("aria-label")')).toBe('New note')
  const [{ evidence }] = await suggestionsOf()
  await expect.poll(async () => (await timeline().locator('mark').allInnerTexts()).join('')).toContain('call me')
  expect(await card(/^Call/).locator('blockquote').innerText()).toBe(evidence.text)
  await box.fill('The sky is blue.')
  await box.press('Control+Enter')
  await timeline().getByText('No next action in this note').waitFor()
})

browserTest('single keys accept, edit and reject the focused suggestion', async () => {
  for (const time of ['10:00', '11:00', '12:00']) await noted(`Please call me tomorrow at ${time}.`)
  await show()
  const open = page.locator('[data-suggestion=open]')
  await expect.poll(() => open.count()).toBe(3)
  await page.keyboard.press('j')
  await expect.poll(() => focused()).toMatch(/at 12:00$/)
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => focused()).toMatch(/at 11:00$/)
  await page.keyboard.press('k')
  await page.keyboard.press('a')
  await toast('Task created').waitFor()
  await expect.poll(() => open.count()).toBe(2)
  await expect.poll(() => focused()).toMatch(/at 12:00$/)
  await page.keyboard.press('j')
  await page.keyboard.press('e')
  const dialog = page.getByRole('dialog', { name: 'Edit and accept' })
  expect(await dialog.getByLabel('Title').inputValue()).toBe(`Call ${contact.name}`)
  await dialog.getByLabel('Title').fill('Ring her')
  await dialog.getByLabel('Time').fill('15:30')
  await dialog.getByRole('button', { name: 'Accept' }).click()
  await timeline().getByText('Accepted with changes by Ada Lovelace').waitFor()
  await expect.poll(() => focused()).toMatch(/at 11:00$/)
  await page.keyboard.press('j')
  await page.keyboard.press('r')
  await timeline().getByText('Rejected by Ada Lovelace').waitFor()

  const [accepted, edited, rejected] = (await suggestionsOf()).toSorted((one, other) =>
    one.dueAt < other.dueAt ? 1 : -1,
  )
  expect([accepted.status, accepted.edits, rejected.status]).toEqual(['accepted', null, 'rejected'])
  const day = edited.dueAt.slice(0, 10)
  // 15:30 in Berlin, in summer as in winter.
  const dueAt = [13, 14]
    .map((hour) => new Date(`${day}T${hour}:30:00.000Z`))
    .find((at) => at.toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' }) === '15:30:00')
    ?.toISOString()
  expect(edited.edits).toEqual({ title: 'Ring her', dueAt })
  const tasks = await read(`/v5/tasks?contactId=${contact.id}&orderBy=deadline&sort=asc`)
  expect(tasks).toMatchObject([
    { id: accepted.resultTaskId, title: `Call ${contact.name}`, dueAt: accepted.dueAt },
    { id: edited.resultTaskId, title: 'Ring her', dueAt },
  ])
  const link = timeline().getByRole('link', { name: 'Show the task' }).first()
  expect(await link.getAttribute('href')).toBe(`/tasks/${accepted.resultTaskId}`)
})

browserTest('a date that is not in the note is shown as a default, on the card and in the form', async () => {
  await noted('Maybe later.')
  await show()
  const wait = card(/^No date in the note: by default, get back to Petra Plan \d+ on/)
  await wait.getByRole('button', { name: 'Edit' }).click()
  const dialog = page.getByRole('dialog', { name: 'Edit and accept' })
  await dialog.getByText('The note names no date. This is the usual wait.').waitFor()
  await page.keyboard.press('Escape')
  await noted('Not now, please get back to me in March.')
  await card(/^Get back to Petra Plan \d+ on .*, not before$/).waitFor()
})

browserTest('an error of the service appears next to its field, and can be corrected', async () => {
  const deals = [await create('/v5/deals', { name: 'Engine' }), await create('/v5/deals', { name: 'Loom' })]
  for (const { id } of deals) await create(`/v5/deals/${id}/contacts`, { contactId: contact.id })
  await noted('No thanks, we are not interested.')
  await create('/v5/contacts', { name: 'Ann Lee', email: `ann.${number}@birch.example` })
  await noted(`I am the wrong person. Please contact Ann Lee, ann.${number}@birch.example instead.`)
  expectErrors(page, /status of 4\d\d/)
  await show()
  await card(/^Move the deal with Petra/)
    .getByRole('button', { name: 'Accept' })
    .click()
  const dialog = page.getByRole('dialog', { name: 'Edit and accept' })
  await dialog.getByText(/required, because the contact has several open deals/).waitFor()
  await dialog.getByRole('combobox', { name: 'Deal' }).selectOption('Loom')
  await expect
    .poll(() => dialog.getByRole('combobox', { name: 'Stage' }).locator('option:checked').innerText())
    .toBe('Lost')
  await dialog.getByLabel('Lost because').fill('No need')
  await dialog.getByRole('button', { name: 'Accept' }).click()
  await toast('Deal moved').waitFor()
  expect(await read(`/v5/deals/${deals[1]?.id}`)).toMatchObject({ status: 'lost', lostReason: 'No need' })
  await timeline().getByRole('link', { name: 'Show the deal' }).waitFor()

  await card(/^Add the contact/).focus()
  await page.keyboard.press('a')
  await dialog.getByLabel('Email').and(page.locator('[aria-invalid=true]')).waitFor()
  await dialog.getByLabel('Email').fill(`ann.lee.${number}@birch.example`)
  await page.keyboard.press('Enter')
  await toast('Contact added').waitFor()
  expect(await read(`/v5/contacts?email=ann.lee.${number}%40birch.example`)).toHaveLength(1)
})

browserTest('an opt-out takes effect automatically, says so, and can be undone', async () => {
  await noted('Please unsubscribe me from your mailing list.')
  expect((await read(`/v5/contacts/${contact.id}`)).emailOptOut).toBe(true)
  await show()
  const done = card(/^Send no more email to Petra/)
  await done.getByText('the contact opted out of email when the note arrived').waitFor()
  await done.focus()
  await page.keyboard.press('r')
  await toast('Rejected: the contact receives email again').waitFor()
  expect((await read(`/v5/contacts/${contact.id}`)).emailOptOut).toBe(false)
})

browserTest('pending suggestions can be worked through in a list with the keyboard alone', async () => {
  for (const open of await read('/v5/suggestions?status=pending&limit=100'))
    await call('POST', `/v5/suggestions/${open.id}/reject`)
  await noted('Intro. '.repeat(60) + 'Please call me tomorrow at 10:00. <b>Really</b>')
  await noted('Please call me tomorrow at 11:00.')
  await page.goto('/')
  await page.getByRole('link', { name: /^Suggestions ?2$/ }).waitFor()
  await typeAtOnce(page, 'gn')
  await page.waitForURL('**/suggestions')
  await page.getByRole('heading', { level: 1, name: 'Suggestions' }).waitFor()
  await card(/at 10:00$/)
    .getByRole('link', { name: contact.name })
    .waitFor()
  expect(
    await card(/at 10:00$/)
      .locator('blockquote')
      .innerText(),
  ).toMatch(/^…Intro\. .*call me tomorrow.* <b>Really<\/b>$/)
  expect(
    await card(/at 10:00$/)
      .locator('mark')
      .innerText(),
  ).toContain('call me')
  await page.keyboard.press('j')
  await page.keyboard.press('a')
  await toast('Task created').waitFor()
  await expect.poll(() => focused()).toMatch(/at 10:00$/)
  await page.keyboard.press('r')
  await toast('Suggestion rejected').waitFor()
  expect((await suggestionsOf()).map(({ status }) => status).toSorted()).toEqual(['accepted', 'rejected'])
  await expect.poll(() => page.evaluate<string>('document.activeElement.tagName')).not.toBe('BODY')

  await noted('Please call me tomorrow at 13:00.')
  await page.getByRole('button', { name: 'Show new suggestions' }).click()
  await card(/at 13:00$/).waitFor()
  // Someone else decides first.
  const [latest] = await read('/v5/suggestions?status=pending')
  await call('POST', `/v5/suggestions/${latest.id}/reject`)
  expectErrors(page, /status of 4\d\d/)
  await card(/at 13:00$/).focus()
  await page.keyboard.press('a')
  await card(/at 13:00$/)
    .getByText('This suggestion has already been rejected.')
    .waitFor()
  await card(/at 13:00$/)
    .getByText('Rejected by Ada Lovelace')
    .waitFor()
})

browserTest('a viewer sees suggestions without buttons, and nobody sees those out of their reach', async () => {
  const note = await noted('Please call me tomorrow at 10:00.')
  await service().database.crossTenantQuery(
    'check the database',
    sql`update note_analyses set degraded = true, degraded_reason = 'timeout', model = 'small-model'
      where note_id = ${decodeId('not', note.id)}::uuid`,
  )
  const viewer = await openPage({
    as: 'viewer',
    organization: 'small',
    path: `/contacts/${contact.id}`,
    locale: 'de-DE',
  })
  const seen = card(/anrufen$/, viewer)
  await seen.waitFor()
  expect(await seen.innerText()).toMatch(/10:00: Petra Plan \d+ anrufen/)
  expect(await seen.innerText()).toContain('Durch Regeln gefunden, weil small-model nicht geantwortet hat')
  expect(await seen.getByRole('button').count()).toBe(0)
  await viewer.close()

  const scopes = [
    'contact:*:read',
    'note:*:*',
    'suggestion:*:*',
    'task:*:*',
    'organization:*:read',
    'schema:*:read',
    'user:get:read',
  ]
  const role = await create('/v5/roles', { name: 'Own only', scopes, reach: { contact: 'own' } })
  const [member] = (await read('/v5/members?limit=100')).filter(
    ({ person }: Json) => person.email === 'grace@example.com',
  )
  const changed = await call('PATCH', `/v5/members/${member.id}`, { body: { roleId: role.id } })
  expect(changed.status, changed.text).toBe(200)
  const grace: Page = await openPage({ as: 'member', organization: 'small', path: '/suggestions' })
  await grace.getByText('Nothing to decide').waitFor()
  expect(await grace.getByRole('link', { name: 'Suggestions', exact: true }).count()).toBe(1)
  await grace.close()
})
