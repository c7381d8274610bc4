import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { inFocus } from './gestures.ts'
import { expectAccessible } from './visit.ts'

const { openPage, callAs } = useApplication({ isAlone: true })

const organization = 'small' as const
const box = (page: Page) => page.getByRole('textbox', { name: 'New note' })
const people = (page: Page) => page.getByRole('listbox', { name: 'Mention a person' })
const timeline = (page: Page) => page.getByRole('region', { name: 'Timeline' })
const mention = /^Please call Bob, @\[Grace Hopper\]\((usr_[0-9a-f]{32})\)$/

async function createContact(call: Call, name: string): Promise<string> {
  const created = await call('POST', '/v5/contacts', { body: { name } })
  expect(created.status, created.text).toBe(201)
  return created.body.id
}

const notesOf = async (call: Call, contactId: string): Promise<string[]> =>
  (await call('GET', `/v5/notes?filter.contactId.equals=${contactId}`)).body.map(({ body }: Json) => body)

const idOf = async (call: Call, name: string): Promise<string> =>
  (await call('GET', '/v5/members')).body.find(({ person }: Json) => person.name === name).id

browserTest('a member is mentioned with the keyboard: found, chosen, sent, and shown by name', async () => {
  const call = await callAs('owner', organization)
  const id = await createContact(call, 'Mentioned Bob')
  const page = await openPage({ organization, path: `/contacts/${id}` })
  await box(page).click()
  await page.keyboard.type('Please call Bob, @')
  await people(page).getByRole('option').nth(2).waitFor()
  await page.keyboard.type('gra')
  await expect.poll(() => people(page).getByRole('option').count()).toBe(1)
  await people(page).getByRole('option', { name: 'Grace Hopper', exact: true, selected: true }).waitFor()
  const active = await box(page).getAttribute('aria-activedescendant')
  expect(await page.locator(`[id="${active}"]`).innerText()).toContain('Grace Hopper')
  await page.getByText('1 person matches').waitFor({ state: 'attached' })
  await expectAccessible(page)
  await page.keyboard.press('Enter')
  await people(page).waitFor({ state: 'detached' })
  await expect.poll(async () => (await box(page).inputValue()).trim()).toMatch(mention)
  await page.getByText('Mentions Grace Hopper', { exact: true }).waitFor()
  // The browser undoes the choice like typing.
  await page.keyboard.press('Control+z')
  await expect.poll(() => box(page).inputValue()).toBe('Please call Bob, @gra')
  await page.keyboard.press('End')
  await people(page).getByRole('option', { name: 'Grace Hopper', exact: true, selected: true }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Control+Enter')
  await timeline(page).getByText('@Grace Hopper', { exact: true }).waitFor()
  expect(await timeline(page).getByText('usr_').count()).toBe(0)
  const [body = ''] = await notesOf(call, id)
  expect(mention.exec(body)?.[1]).toBe(await idOf(call, 'Grace Hopper'))
})

browserTest(
  'what was typed after @ stays: with Escape, without a match, in an address, and when it is sent',
  async () => {
    const call = await callAs('owner', organization)
    const id = await createContact(call, 'Typed Bob')
    const page = await openPage({ organization, path: `/contacts/${id}` })
    await box(page).click()
    await page.keyboard.type('@a')
    await people(page).waitFor()
    await page.keyboard.press('Escape')
    await people(page).waitFor({ state: 'detached' })
    await page.keyboard.type('da')
    await page.keyboard.press('Enter')
    await page.keyboard.type('bob@al.example @5 pm')
    await people(page).waitFor({ state: 'detached' })
    await page.keyboard.press('Enter')
    await page.keyboard.type('@Alan')
    await people(page).waitFor()
    await page.keyboard.press('Control+Enter')
    const text = '@ada\nbob@al.example @5 pm\n@Alan'
    await expect.poll(() => notesOf(call, id)).toEqual([text])
    // A draft survives a reload, with the mention.
    await box(page).click()
    await page.keyboard.type('@Alan T')
    await people(page).getByRole('option', { name: 'Alan Turing' }).click()
    await expect.poll(() => box(page).inputValue()).toMatch(/^@\[Alan Turing\]\(usr_\w+\) $/)
    const draft = await box(page).inputValue()
    await page.reload()
    await timeline(page).waitFor()
    await expect.poll(() => box(page).inputValue()).toBe(draft)
  },
)

browserTest(
  'a note is edited with a mention by pointer; who left keeps the name, who was renamed has the new one',
  async () => {
    const call = await callAs('owner', organization)
    const id = await createContact(call, 'Edited Bob')
    const gone = `@[Tilda Gone](usr_${'0'.repeat(31)}1)`
    const body = `Ask ${gone}, @[Old Name](${await idOf(call, 'Alan Turing')}), @[](usr_${'0'.repeat(31)}2)`
    expect((await call('POST', `/v5/contacts/${id}/notes`, { body: { body } })).status).toBe(201)
    const page = await openPage({ organization, path: `/contacts/${id}` })
    await timeline(page).getByText('Ask @Tilda Gone, @Alan Turing, @A former member').waitFor()
    await page.getByRole('button', { name: 'Edit the note' }).click()
    await inFocus(page.getByRole('textbox', { name: 'Text of the note' }))
    await page.keyboard.type(' and @grace')
    await people(page).getByRole('option', { name: 'Grace Hopper' }).click()
    await page.getByText('Mentions Tilda Gone, Old Name, A former member and Grace Hopper').waitFor()
    await page.keyboard.press('Control+Enter')
    await timeline(page).getByText('@A former member and @Grace Hopper').waitFor()
    await expect
      .poll(() => notesOf(call, id))
      .toEqual([`${body} and @[Grace Hopper](${await idOf(call, 'Grace Hopper')})`])
  },
)

browserTest('with a slow connection, typing continues, and Enter begins a line until names are there', async () => {
  const call = await callAs('owner', organization)
  const id = await createContact(call, 'Slow Bob')
  const page = await openPage({ organization, path: `/contacts/${id}`, theme: 'dark' })
  let release: () => void = () => undefined
  const isReleased = new Promise<void>((resolve) => (release = resolve))
  await page.route(/\/v5\/members\?/, async (route) => (await isReleased, route.continue()))
  await box(page).click()
  await page.keyboard.type('One @gra')
  await page.keyboard.press('Enter')
  await page.keyboard.type('two @gra')
  await expect.poll(() => box(page).inputValue()).toBe('One @gra\ntwo @gra')
  release()
  await people(page).getByRole('option', { name: 'Grace Hopper', selected: true }).waitFor()
  await expectAccessible(page)
  await page.keyboard.press('Enter')
  await expect.poll(() => box(page).inputValue()).toMatch(/^One @gra\ntwo @\[Grace Hopper\]\(usr_\w+\) $/)
  await page.unrouteAll()
})
