import { expect } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { inFocus } from './gestures.ts'
import { expectAccessible } from './visit.ts'
import type { Page } from 'playwright-core'

const { openPage, callAs, expectErrors } = useApplication()

/** The question which value to keep. A notice that is shown while the person types has the same title. */
const conflict = (page: Page, name: string | RegExp) =>
  page
    .getByRole('dialog', { name: typeof name === 'string' ? `${name} was changed meanwhile` : name })
    .filter({ has: page.locator('dd') })
const toast = (page: Page, text: string | RegExp) =>
  page.getByRole('region', { name: 'Notifications' }).getByText(text).first()

/** Starts to edit a property on the page of a record. */
async function edit(page: Page, name: string): Promise<void> {
  const button = page.getByRole('button', { name: `Edit ${name}`, exact: true })
  await button.waitFor({ state: 'attached' })
  await button.focus()
  await page.keyboard.press('Enter')
  await inFocus(page.getByRole('textbox', { name, exact: true }))
}

const newContact = async (call: Call, values: object): Promise<Json> => {
  const { body, status, text } = await call('POST', '/v5/contacts', { body: values })
  expect(status, text).toBe(201)
  return body
}

const open = async (path: string): Promise<Page> => {
  const page = await openPage({ path })
  expectErrors(page, /status of 412/)
  return page
}

browserTest("if two people change a field, the second one sees the first one's value, and chooses", async () => {
  const [owner, colleague] = [await callAs(), await callAs('member')]
  const { id } = await newContact(owner, { name: 'Ada Writer', employmentTitle: 'Tester' })
  const author = (await colleague('GET', '/v5/me')).body.name
  const path = `/v5/contacts/${id}`
  const titleNow = async () => (await owner('GET', path)).body.employmentTitle
  const page = await open(`/contacts/${id}`)
  const changes: (string | undefined)[] = []
  page.on('request', (request) => {
    if (request.method() === 'PATCH') changes.push(request.headers()['if-match'])
  })
  for (const [choice, expected] of [
    ['Keep mine', 'Mine'],
    ['Take theirs', 'Theirs'],
  ] as const) {
    await owner('PATCH', path, { body: { employmentTitle: 'Tester' } })
    await page.reload()
    await edit(page, 'Job title')
    await page.keyboard.type('Mine')
    expect((await colleague('PATCH', path, { body: { employmentTitle: 'Theirs' } })).status).toBe(200)
    await page.keyboard.press('Enter')
    const dialog = conflict(page, 'Job title')
    await dialog.getByText(`Changed by ${author}`).waitFor()
    await expect.poll(() => dialog.locator('dd').allInnerTexts()).toEqual(['Theirs', 'Mine'])
    expect(await dialog.getByRole('time').or(dialog.locator('time')).count()).toBe(1)
    await expectAccessible(page)
    await dialog.getByRole('button', { name: choice }).click()
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(titleNow).toBe(expected)
    await page.getByText(expected, { exact: true }).first().waitFor()
  }
  expect(changes.length).toBe(1)
  expect(changes[0]).toMatch(/^"\d+-/)
})

browserTest(
  'a field that only somebody else has changed causes no conflict, and is not overwritten by the save',
  async () => {
    const call = await callAs()
    const { id } = await newContact(call, { name: 'Bea Writer', employmentTitle: 'Tester' })
    const path = `/v5/contacts/${id}`
    const page = await open(`/contacts/${id}`)
    // Between this page's read and its write.
    let isFirst = true
    await page.route(`**${path}`, async (route) => {
      if (route.request().method() === 'PATCH' && isFirst) {
        isFirst = false
        await call('PATCH', path, { body: { city: 'Paris' } })
      }
      await route.continue()
    })
    await edit(page, 'Job title')
    await page.keyboard.type('Mine')
    await page.keyboard.press('Enter')
    await toast(page, 'Job title saved').waitFor()
    expect((await call('GET', path)).body).toMatchObject({ employmentTitle: 'Mine', city: 'Paris' })
    expect(isFirst).toBe(false)
  },
)

browserTest(
  'a list has a colleague’s additions and removals too, and Undo only reverts the person’s own changes',
  async () => {
    const call = await callAs()
    const { id } = await newContact(call, { name: 'Cleo Writer', tags: ['a', 'gone'] })
    const path = `/v5/contacts/${id}`
    const tags = async () => (await call('GET', path)).body.tags
    const page = await open(`/contacts/${id}`)
    await edit(page, 'Tags')
    await call('PATCH', path, { body: { tags: ['a', 'b'] } })
    await page.keyboard.press('End')
    await page.keyboard.type(', c')
    await page.keyboard.press('Enter')
    await toast(page, 'Tags saved together with what someone else changed meanwhile').waitFor()
    expect(await tags()).toEqual(['a', 'b', 'c'])
    await page.keyboard.press('Control+z')
    await expect.poll(tags).toEqual(['a', 'b'])
  },
)

browserTest('a form asks about each field that somebody else has changed, and keeps the rest', async () => {
  const call = await callAs()
  const { body: team } = await call('POST', '/v5/teams', { body: { name: 'Writers' } })
  const page = await open(`/settings/teams?team=${team.id}`)
  await page.getByRole('button', { name: 'Rename' }).click()
  const form = page.getByRole('dialog', { name: 'Rename' })
  await form.getByLabel('Name').fill('Authors')
  await call('PATCH', `/v5/teams/${team.id}`, { body: { name: 'Poets' } })
  await form.getByRole('button', { name: 'Save' }).click()
  const dialog = conflict(page, 'Name')
  await expect.poll(() => dialog.locator('dd').allInnerTexts()).toEqual(['Poets', 'Authors'])
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  // Nothing is saved, and the input is still there.
  await form.getByText(/you chose neither value/).waitFor()
  expect(await form.getByLabel('Name').inputValue()).toBe('Authors')
  await form.getByRole('button', { name: 'Save' }).click()
  await conflict(page, 'Name').getByRole('button', { name: 'Keep mine' }).click()
  await expect.poll(async () => (await call('GET', `/v5/teams/${team.id}`)).body.name).toBe('Authors')
})

browserTest('a note that a colleague has changed meanwhile is not overwritten', async () => {
  const call = await callAs()
  const { id } = await newContact(call, { name: 'Dora Writer' })
  const { body: note } = await call('POST', `/v5/contacts/${id}/notes`, { body: { body: 'First text' } })
  const page = await open(`/contacts/${id}`)
  await page.getByRole('button', { name: 'Edit the note' }).first().click()
  await page.getByLabel('Text of the note').fill('My text')
  const isShown = page.waitForResponse(
    async (response) =>
      response.url().includes('/timeline') &&
      response.status() === 200 &&
      (await response.text()).includes('Their text'),
  )
  await call('PATCH', `/v5/notes/${note.id}`, { body: { body: 'Their text' } })
  // The timeline below the editor already has it.
  await isShown
  await page.keyboard.press('Control+Enter')
  const dialog = conflict(page, /was changed meanwhile/)
  await expect.poll(() => dialog.locator('dd').allInnerTexts()).toEqual(['Their text', 'My text'])
  await dialog.getByRole('button', { name: 'Take theirs' }).click()
  await expect.poll(async () => (await call('GET', `/v5/notes/${note.id}`)).body.body).toBe('Their text')
  await page.getByText('Their text').first().waitFor()
})

browserTest('the second of two moves of a deal asks which stage it should have', async () => {
  const call = await callAs()
  const { body: deal } = await call('POST', '/v5/deals', { body: { name: 'Moved twice' } })
  const stages = (await call('GET', `/v5/pipelines/${deal.pipelineId}/stages?orderBy=position&sort=asc`)).body
  const [theirs, mine] = stages.filter(({ id, kind }: Json) => id !== deal.stageId && kind === 'open')
  const page = await open('/forgot-password')
  // The page must not learn of the first move before the person makes the second one.
  await page.route(/\/v5\/events\/stream\?/, (route) => route.fulfill({ status: 204 }))
  await page.goto(`/deals/${deal.id}`)
  const path = page.getByRole('list', { name: 'Stage' })
  await path.getByRole('button', { name: mine.name }).waitFor()
  await call('POST', `/v5/deals/${deal.id}/move`, { body: { stageId: theirs.id } })
  await path.getByRole('button', { name: mine.name }).click()
  const dialog = conflict(page, /was changed meanwhile/)
  await dialog.getByText(theirs.name, { exact: true }).waitFor()
  await dialog.getByRole('button', { name: 'Keep mine' }).click()
  await expect.poll(async () => (await call('GET', `/v5/deals/${deal.id}`)).body.stageId).toBe(mine.id)
})

browserTest('quick changes of one person in one tab are stored one after the other, without a conflict', async () => {
  const call = await callAs()
  const contact = await newContact(call, { name: 'Quick Writer', employmentTitle: 'Tester', tags: ['a'] })
  const deal = (await call('POST', '/v5/deals', { body: { name: 'Quick Deal' } })).body
  const { body: stages } = await call('GET', `/v5/pipelines/${deal.pipelineId}/stages?orderBy=position&sort=asc`)
  const [next, afterNext] = stages.filter(({ id, kind }: Json) => kind === 'open' && id !== deal.stageId)
  const page = await openPage({ path: `/contacts/${contact.id}` })
  const held: (() => Promise<void>)[] = []
  let isHeld = true
  await page.route('**/v5/**', async (route) => {
    if (isHeld && route.request().method() !== 'GET') held.push(() => route.continue())
    else await route.continue()
  })
  /** The first change is in flight while the person makes the second one. */
  const quickly = async (changes: readonly (() => Promise<void>)[]) => {
    isHeld = true
    for (const change of changes) await change()
    await expect.poll(() => held.length).toBeGreaterThan(0)
    isHeld = false
    for (const go of held.splice(0)) await go()
  }
  const typed = (name: string, keys: string, text: string) => async () => {
    await edit(page, name)
    await page.keyboard.press(keys)
    await page.keyboard.type(text)
    await page.keyboard.press('Enter')
  }
  const now = async () => (await call('GET', `/v5/contacts/${contact.id}`)).body
  await quickly([typed('Job title', 'Control+a', 'First'), typed('Job title', 'Control+a', 'Second')])
  await expect.poll(async () => (await now()).employmentTitle, waiting).toBe('Second')
  await quickly([typed('Tags', 'End', ', b'), typed('Tags', 'End', ', c')])
  await expect.poll(async () => (await now()).tags, waiting).toEqual(['a', 'b', 'c'])
  await page.goto(`/deals/${deal.id}`)
  const moveTo =
    ({ name }: Json) =>
    () =>
      page.getByRole('region', { name: 'Stage', exact: true }).getByRole('button', { name, exact: true }).click()
  await quickly([moveTo(next), moveTo(afterNext)])
  const stageNow = async () => (await call('GET', `/v5/deals/${deal.id}`)).body.stageId
  await expect.poll(stageNow, waiting).toBe(afterNext.id)
  expect(await page.getByRole('dialog', { name: /changed meanwhile/ }).count()).toBe(0)
})

/** Two changes and the reads between them. */
const waiting = { timeout: 10_000 }
