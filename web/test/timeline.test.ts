import type { Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'

const { service, openPage, callAs } = useApplication()

let page: Page
let call: Call
let contact: Json
let number = 0
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/forgot-password', organization: 'small' })
  call ??= await callAs('owner', 'small')
  contact = await create('/v5/contacts', { name: `Tilda Time ${++number}` })
})

async function create(path: string, body: object): Promise<Json> {
  const created = await call('POST', path, { body })
  expect(created.status, created.text).toBe(201)
  return created.body
}

async function update(path: string, body: object): Promise<Json> {
  const changed = await call('PATCH', path, { body })
  expect(changed.status, changed.text).toBe(200)
  return changed.body
}

const timeline = (on = page) => on.getByRole('region', { name: /^(?:Timeline|Verlauf)$/ })
const entries = (on = page) => timeline(on).locator('li[data-index]:not(:has(> h4))')
const box = () => page.getByRole('textbox', { name: 'New note' })
const toast = (text: string | RegExp) => page.getByRole('region', { name: 'Notifications' }).getByText(text).first()
const pathOf = ({ id }: Json) => `/v5/contacts/${id}`
const show = async (path = `/contacts/${contact.id}`) => {
  await page.goto(path)
  await timeline().waitFor()
}
/** The sentences of all entries, without their times. */
const sentences = async (on = page): Promise<string[]> => (
  await entries(on).locator('p:first-of-type').first().waitFor(),
  entries(on).evaluateAll((items: Json[]) =>
    items.map((item) => {
      const sentence = item.querySelector('p').cloneNode(true)
      sentence.querySelector('time')?.remove()
      return sentence.textContent.replaceAll(/\s+/g, ' ').trim()
    }),
  )
)

browserTest('entries of every kind are sentences, with old and new values', async () => {
  await update(pathOf(contact), { city: 'London' })
  await update(pathOf(contact), { city: 'Paris' })
  await update(pathOf(contact), { city: null })
  await update(pathOf(contact), { emailOptOut: true, tags: ['vip', 'math'], customProperties: { plan: 'team' } })
  await create(`${pathOf(contact)}/notes`, { body: 'Likes letters' })
  await create('/v5/tasks', { title: 'Write one', contactId: contact.id })
  await show()
  expect(await sentences()).toEqual([
    'Ada Lovelace added a task',
    'Ada Lovelace added a note',
    'Ada Lovelace changed 3 fields',
    'Ada Lovelace removed City, which was Paris',
    'Ada Lovelace changed City from London to Paris',
    'Ada Lovelace set City to London',
    'Ada Lovelace created the contact',
  ])
  expect((await entries().nth(2).getByRole('listitem').allInnerTexts()).toSorted()).toEqual([
    'Opted out of email from No to Yes',
    'Plan set to Team',
    'Tags set to vip, math',
  ])
  await timeline().getByRole('heading', { level: 4, name: 'Today' }).waitFor()
  const german = await openPage({ organization: 'small', path: `/contacts/${contact.id}`, locale: 'de-DE' })
  expect((await sentences(german)).slice(3)).toEqual([
    'Ada Lovelace hat Stadt entfernt, vorher Paris',
    'Ada Lovelace hat Stadt von London auf Paris geändert',
    'Ada Lovelace hat Stadt auf London gesetzt',
    'Ada Lovelace hat den Kontakt angelegt',
  ])
  await german.close()
})

browserTest('an entry from an import says so, and links to the pushed lead', async () => {
  const source = await create('/v5/imports', { name: `Fair ${number}` })
  const email = `fair.${number}@example.com`
  const pushed = await service().anonymous('POST', new URL(source.triggerUrl).pathname, {
    body: { contact: { email, note: 'Wants a **demo**' } },
  })
  expect(pushed.status, pushed.text).toBeLessThan(300)
  const found = async () => (await call('GET', `/v5/contacts?email=${encodeURIComponent(email)}`)).body
  await expect.poll(async () => (await found()).length).toBe(1)
  const [imported] = await found()
  await show(`/contacts/${imported.id}`)
  expect((await sentences()).toSorted()).toEqual([
    'An import added a note',
    `The import “Fair ${number}” created the contact`,
  ])
  await timeline().getByRole('link', { name: 'Show the import' }).click()
  await page.waitForURL(/\/imports\/imp_\w+\?row=row_/)
})

browserTest('a note is shown as Markdown, and nothing in it runs', async () => {
  await create(`${pathOf(contact)}/notes`, {
    body: '**Two** seats:\n\n- [offer](https://example.com/a)\n- [bad](javascript:alert(1))\n\n<img src=x onerror="document.title=\'run\'"><script>document.title="run"</script>',
  })
  await show()
  const note = entries().first()
  expect(await note.locator('strong').innerText()).toBe('Two')
  expect(await note.getByRole('link').evaluateAll((links: Json[]) => links.map(({ href }) => href))).toEqual([
    'https://example.com/a',
  ])
  expect(await note.getByRole('link').getAttribute('rel')).toBe('noreferrer')
  expect(await note.locator('img, script').count()).toBe(0)
  await note.getByText('<script>').waitFor()
  expect(await page.title()).toContain(contact.name)
})

browserTest('the kinds of entries are in the URL, and restored by Back, a reload and a link', async () => {
  await create(`${pathOf(contact)}/notes`, { body: 'The only note' })
  await show()
  const kind = (name: string) => timeline().getByRole('button', { name, exact: true })
  await kind('Notes').click()
  await page.waitForURL(/\?kind=note$/)
  await expect.poll(() => entries().count()).toBe(1)
  await kind('Changes').click()
  await expect.poll(() => entries().count()).toBe(2)
  await page.goBack()
  await expect.poll(() => entries().count()).toBe(1)
  await page.reload()
  await timeline().getByText('The only note').waitFor()
  expect([await entries().count(), await kind('Notes').getAttribute('aria-pressed')]).toEqual([1, 'true'])
  await show(`/contacts/${contact.id}?kind=import`)
  await timeline().getByText('There are no entries of this kind.').waitFor()
  await timeline().getByRole('button', { name: 'Show all' }).click()
  await expect.poll(() => entries().count()).toBe(2)
  expect(new URL(page.url()).search).toBe('')
})

browserTest('older entries load while the person scrolls, each once', async () => {
  for (let note = 0; note < 60; note++) await create(`${pathOf(contact)}/notes`, { body: `Note ${note}` })
  await show()
  await entries().nth(24).waitFor()
  expect(await entries().count()).toBe(25)
  await expect
    .poll(
      async () => {
        await entries().last().scrollIntoViewIfNeeded()
        return entries().count()
      },
      // Three pages are fetched, one after the other.
      { timeout: 10_000 },
    )
    .toBe(61)
  const texts = (await entries().allInnerTexts()).map((text) => /Note (\d+)/.exec(text)?.[1])
  expect(texts).toEqual([...Array.from({ length: 60 }, (_, index) => String(59 - index)), undefined])
  expect(await timeline().getByRole('button', { name: 'Show older' }).count()).toBe(0)
})

/** Counts the page's requests for its timeline from now until a text appears. */
const looksUntilShown = (box: Json, text: string): Promise<number> =>
  new Promise((resolve) => {
    const { performance, requestAnimationFrame }: Json = globalThis
    performance.clearResourceTimings()
    const begin = performance.now()
    const look = () => {
      if (!box.innerText.includes(text)) return requestAnimationFrame(look)
      const asked = performance
        .getEntriesByType('resource')
        .filter(({ name, startTime }: Json) => name.includes('/timeline') && startTime > begin)
      return resolve(asked.length)
    }
    look()
  })

browserTest(
  'an entry from another session appears with its event, and moves neither focus nor scroll position',
  async () => {
    for (let note = 0; note < 30; note++) await create(`${pathOf(contact)}/notes`, { body: `Note ${note}` })
    await show()
    await box().fill('A thought')
    await box().press('Home')
    const isFocused = () => box().evaluate((element: Json) => element === element.ownerDocument.activeElement)
    const expectEntry = async (path: string, body: object, text: string) => {
      await create(path, body)
      const looks = await timeline().evaluate(looksUntilShown, text)
      // One may be in flight, one finds the change, then the timeline is refetched.
      expect(looks).toBeLessThanOrEqual(3)
    }
    await expectEntry(`${pathOf(contact)}/notes`, { body: 'From elsewhere' }, 'From elsewhere')
    expect([await isFocused(), await box().inputValue()]).toEqual([true, 'A thought'])
    expect(await box().evaluate((element: Json) => element.selectionStart)).toBe(0)
    const anchor = timeline().getByText('Note 12', { exact: true })
    await anchor.scrollIntoViewIfNeeded()
    const before = await anchor.boundingBox()
    await expectEntry('/v5/tasks', { title: 'Also from elsewhere', contactId: contact.id }, 'Also from elsewhere')
    expect(Math.abs(((await anchor.boundingBox())?.y ?? 0) - (before?.y ?? 0))).toBeLessThan(2)
  },
)

browserTest('a note is changed and deleted in place, and both can be undone', async () => {
  const note = await create(`${pathOf(contact)}/notes`, { body: 'First words' })
  await create(`${pathOf(contact)}/notes`, { body: 'Another' })
  await show()
  const stored = async () => (await call('GET', `/v5/notes/${note.id}`)).body.body
  const entry = () => entries().filter({ has: page.getByRole('button', { name: 'Delete the note' }) })
  await entry().nth(1).getByRole('button', { name: 'Edit the note' }).click()
  const editor = page.getByRole('textbox', { name: 'Text of the note' })
  await editor.fill('Better words')
  await editor.press('Control+Enter')
  await timeline().getByText('Better words').waitFor()
  await toast('Note changed').waitFor()
  expect(await stored()).toBe('Better words')
  await expect
    .poll(() => page.evaluate<string>('document.activeElement.getAttribute("aria-label")'))
    .toBe('Edit the note')
  await page.keyboard.press('Control+z')
  await expect.poll(stored).toBe('First words')
  await timeline().getByText('First words').waitFor()
  await entry().nth(1).getByRole('button', { name: 'Delete the note' }).click()
  await timeline().getByText('First words').waitFor({ state: 'detached' })
  await expect.poll(() => page.evaluate<string>('document.activeElement.tagName')).not.toBe('BODY')
  await toast('Note deleted').waitFor()
  await page.keyboard.press('Control+z')
  await timeline().getByText('First words').waitFor()
  await expect.poll(stored).toBe('First words')
})

browserTest('a change of a note that someone else has changed meanwhile is not undone', async () => {
  const note = await create(`${pathOf(contact)}/notes`, { body: 'Mine' })
  await show()
  await entries().first().getByRole('button', { name: 'Edit the note' }).click()
  await page.getByRole('textbox', { name: 'Text of the note' }).fill('Mine, changed')
  await page.keyboard.press('Control+Enter')
  await toast('Note changed').waitFor()
  await update(`/v5/notes/${note.id}`, { body: 'Theirs' })
  await page.keyboard.press('Control+z')
  await toast(/It has been changed since/).waitFor()
  await timeline().getByText('Theirs').waitFor()
})

browserTest('a draft belongs to its record and to the person', async () => {
  const other = await create('/v5/contacts', { name: `Other ${number}` })
  await show()
  await box().fill('Half a thought')
  await show(`/contacts/${other.id}`)
  expect(await box().inputValue()).toBe('')
  await show()
  expect(await box().inputValue()).toBe('Half a thought')
  await box().fill('')
})

browserTest('the timeline of a company links to the contact or deal of each entry', async () => {
  const company = await create('/v5/companies', { name: `Engines ${number}` })
  await update(pathOf(contact), { companyId: company.id })
  const deal = await create('/v5/deals', { name: `Engine ${number}`, companyId: company.id, currency: 'EUR' })
  const stages = (await call('GET', `/v5/pipelines/${deal.pipelineId}/stages?orderBy=position&sort=asc`)).body
  await update(`/v5/deals/${deal.id}`, { stageId: stages[1].id })
  await update(`/v5/deals/${deal.id}`, { amount: '1500.50' })
  await create(`/v5/companies/${company.id}/notes`, { body: 'About the company itself' })
  await show(`/companies/${company.id}`)
  expect(await sentences()).toEqual([
    'Ada Lovelace added a note',
    `Ada Lovelace set Amount to 1,500.5 Engine ${number}`,
    `Ada Lovelace moved the deal from Lead to Qualified Engine ${number}`,
    `Ada Lovelace created the deal Engine ${number}`,
    `Ada Lovelace set Company to Engines ${number} ${contact.name}`,
    'Ada Lovelace created the company',
    `Ada Lovelace created the contact ${contact.name}`,
  ])
  await timeline().getByText('1 minute in Lead').waitFor()
  const link = timeline()
    .getByRole('link', { name: `Engine ${number}` })
    .first()
  expect(await link.getAttribute('href')).toBe(`/deals/${deal.id}`)
  await link.click()
  await page.getByRole('heading', { level: 1, name: `Engine ${number}` }).waitFor()
  await timeline().getByText('€1,500.50').waitFor()
})

browserTest('a viewer sees the timeline without a note box or buttons', async () => {
  await create(`${pathOf(contact)}/notes`, { body: 'To be read' })
  const reader = await openPage({ as: 'viewer', organization: 'small', path: `/contacts/${contact.id}` })
  await timeline(reader).getByText('To be read').waitFor()
  expect((await sentences(reader))[0]).toBe('Ada Lovelace added a note')
  expect(await timeline(reader).getByRole('textbox').count()).toBe(0)
  expect(await timeline(reader).getByRole('button', { name: /note$/ }).count()).toBe(0)
})
