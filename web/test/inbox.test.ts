import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { sql } from '../../server/src/platform/model/sql.ts'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { inFocus } from './gestures.ts'
import { addEntries, type SampleEntry } from './sample-inbox.ts'
import { expectAccessible } from './visit.ts'

const { service, openPage, openTab, callAs, expectErrors } = useApplication({ isAlone: true })

const organization = 'small' as const

async function send(call: Call, method: string, path: string, body?: object): Promise<Json> {
  const answer = await call(method, path, body && { body })
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300)
  return answer.body
}

/** Opens a page, and waits until it follows what happens. */
async function openLive(options: Parameters<typeof openPage>[0]): Promise<Page> {
  const page = await openPage({ organization, ...options, path: '/forgot-password' })
  const stream = page.waitForResponse((response) => response.url().includes('/v5/events/stream'))
  await Promise.all([stream, page.goto(options?.path ?? '/inbox')])
  await page.locator('h1').first().waitFor()
  return page
}

const sidebar = (page: Page) => page.getByRole('navigation', { name: 'Main navigation' }).first()
const badge = (page: Page, count: number | string) =>
  sidebar(page).getByRole('link', { name: count === 0 ? 'Inbox' : `Inbox ${count} unread`, exact: true })
const entries = (page: Page) => page.getByRole('main').locator('[data-entry]')
const entry = (page: Page, text: string | RegExp) => entries(page).filter({ hasText: text })
const unread = (page: Page) => page.getByRole('main').locator('[data-unread]')

async function emptyInbox(): Promise<void> {
  await service().database.crossTenantTransaction('check the database', async (db) => {
    await db.query(sql`delete from inbox_entries`)
  })
}

browserTest(
  'a task that somebody assigns appears on each device; opening it marks it as read on all of them',
  async () => {
    const call = await callAs('owner', organization)
    const assigneeId = (await send(await callAs('member', organization), 'GET', '/v5/me')).id
    const [first, second] = [await openLive({ as: 'member' }), await openLive({ as: 'member', path: '/contacts' })]
    const tab = await openTab(second, '/companies')
    await first.getByText('Nothing here yet').waitFor()
    await expectAccessible(first)
    await send(call, 'POST', '/v5/tasks', { title: 'Call back', assigneeId })
    await entry(first, 'Ada Lovelace assigned you the task “Call back”').waitFor()
    for (const page of [first, second, tab]) await badge(page, 1).waitFor()
    await expectAccessible(first)
    await first.getByRole('link', { name: '“Call back”' }).click()
    await first.getByRole('heading', { level: 1, name: 'Call back' }).waitFor()
    for (const page of [first, second, tab]) await badge(page, 0).waitFor()
    // From the keyboard, and from the other device.
    await second.keyboard.press('g')
    await second.keyboard.press('b')
    await second.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor()
    await entry(second, '“Call back”').waitFor()
    await second.keyboard.press('j')
    await inFocus(second.getByRole('link', { name: '“Call back”' }))
    await second.keyboard.press('Tab')
    await second.keyboard.press('Enter')
    await second.getByRole('button', { name: 'Mark as read' }).waitFor()
    for (const page of [first, second, tab]) await badge(page, 1).waitFor()
    await first.goBack()
    await first.getByRole('button', { name: 'Mark as read' }).click()
    for (const page of [first, second, tab]) await badge(page, 0).waitFor()
    await expect.poll(() => unread(second).count()).toBe(0)
  },
)

browserTest('each kind is a sentence with a link to its record; a record that is gone has none', async () => {
  await emptyInbox()
  const call = await callAs('owner', organization)
  const me = await send(call, 'GET', '/v5/me')
  const grace = (await send(await callAs('member', organization), 'GET', '/v5/me')).id
  const contact = await send(call, 'POST', '/v5/contacts', { name: 'Sentence Bob' })
  const gone = await send(call, 'POST', '/v5/contacts', { name: 'Gone Bob' })
  const task = await send(call, 'POST', '/v5/tasks', { title: 'Write to Bob' })
  const imported = await send(call, 'POST', '/v5/imports', { name: 'Fair' })
  const body = `**Hello** @[Ada Lovelace](${me.id}), please call`
  const note = await send(call, 'POST', `/v5/contacts/${contact.id}/notes`, { body })
  const samples: (SampleEntry & { sentence: string; to?: string })[] = [
    {
      ...{ kind: 'assigned', resource: 'contacts', recordId: contact.id, authorId: grace },
      ...{ sentence: 'Grace Hopper assigned you the contact “Sentence Bob”', to: `/contacts/${contact.id}` },
    },
    {
      ...{ kind: 'assigned', resource: 'tasks', recordId: task.id },
      ...{ sentence: 'You were assigned the task “Write to Bob”', to: `/tasks/${task.id}` },
    },
    {
      ...{ kind: 'assigned', resource: 'tasks', recordId: task.id, authorId: grace, recordCount: 1200 },
      ...{ sentence: 'Grace Hopper assigned you 1,200 tasks' },
      ...{ to: `/tasks?filter.assigneeId.equals=${me.id}&view=table` },
    },
    {
      ...{ kind: 'mentioned', resource: 'notes', recordId: note.id, authorId: grace },
      ...{ sentence: 'Grace Hopper mentioned you in a note: “**Hello** @Ada Lovelace, please call”' },
      ...{ to: `/contacts/${contact.id}` },
    },
    {
      ...{ kind: 'importFailed', resource: 'imports', recordId: imported.id },
      ...{ sentence: 'Your import “Fair” has rows that failed', to: `/imports/${imported.id}` },
    },
    {
      ...{ kind: 'reminder', resource: 'tasks', recordId: task.id },
      ...{ sentence: 'Reminder: “Write to Bob”', to: `/tasks/${task.id}` },
    },
    {
      ...{ kind: 'taskDue', resource: 'tasks', recordId: task.id },
      ...{ sentence: 'Your task “Write to Bob” is overdue', to: `/tasks/${task.id}` },
    },
    {
      ...{ kind: 'assigned', resource: 'contacts', recordId: gone.id, authorId: grace },
      sentence: 'Grace Hopper assigned you a contact that was deleted, or that you may not see any more',
    },
  ]
  await addEntries(
    service(),
    call,
    samples.map(({ kind, resource, recordId, recordCount = 1, authorId }) => ({
      ...{ kind, resource, recordId, recordCount },
      ...(authorId !== undefined && { authorId }),
    })),
  )
  await send(call, 'DELETE', `/v5/contacts/${gone.id}`)
  const page = await openPage({ organization, path: '/inbox' })
  await entries(page)
    .nth(samples.length - 1)
    .waitFor()
  await page.getByRole('heading', { level: 2, name: 'Today' }).waitFor()
  const found = await entries(page).evaluateAll((items: Json[]) =>
    items.map((item) => {
      const sentence = item.querySelector('p').cloneNode(true)
      sentence.querySelector('time').remove()
      const to = item.querySelector('a')?.getAttribute('href')
      return [sentence.textContent.replace('Unread:', '').trim(), to]
    }),
  )
  expect(found).toEqual(samples.map(({ sentence, to }) => [sentence, to]))
  await expectAccessible(page)
  const german = await openPage({ organization, path: '/inbox', locale: 'de-DE', theme: 'dark' })
  await entry(german, 'Grace Hopper hat Ihnen den Kontakt „Sentence Bob“ zugewiesen').waitFor()
  await entry(german, 'Grace Hopper hat Ihnen 1.200 Aufgaben zugewiesen').waitFor()
  await german.getByRole('heading', { level: 1, name: 'Eingang' }).waitFor()
  await expectAccessible(german)
})

browserTest(
  'unread entries are filtered, older ones load, and all are marked as read, but none that nobody saw',
  async () => {
    await emptyInbox()
    const call = await callAs('owner', organization)
    const { id } = await send(call, 'POST', '/v5/contacts', { name: 'Many Bob' })
    const sample = { kind: 'assigned', resource: 'contacts', recordId: id } as const
    await addEntries(
      service(),
      call,
      Array.from({ length: 120 }, (_, index) => ({ ...sample, read: index % 10 === 9 })),
    )
    const page = await openLive({})
    await badge(page, '99+').waitFor()
    await expect.poll(() => entries(page).count()).toBe(25)
    await page.getByRole('button', { name: 'Show older' }).click()
    await expect.poll(() => entries(page).count()).toBe(50)
    await expect.poll(() => unread(page).count()).toBe(45)
    await page.getByRole('button', { name: 'Unread', exact: true }).click()
    await page.waitForURL(/\/inbox\?show=unread$/)
    await expect.poll(() => unread(page).count()).toBe(25)
    await page.reload()
    await expect.poll(() => unread(page).count()).toBe(25)
    // What arrives moves nothing, and is not marked.
    await addEntries(service(), call, [sample])
    await page.getByRole('button', { name: 'Show 1 new' }).waitFor()
    await page.getByRole('button', { name: 'Mark all as read' }).click()
    await badge(page, 1).waitFor()
    await page.getByRole('button', { name: 'Show 1 new' }).click()
    await expect.poll(() => unread(page).count()).toBe(1)
    await expect.poll(() => entries(page).count()).toBe(1)
    await page.getByRole('button', { name: 'Mark all as read' }).click()
    await page.getByText('Nothing is unread').waitFor()
    await expectAccessible(page)
  },
)

browserTest(
  'with a slow connection, an entry is read at once; if the service refuses, it is unread again',
  async () => {
    await emptyInbox()
    const call = await callAs('owner', organization)
    const { id } = await send(call, 'POST', '/v5/contacts', { name: 'Slow Bob' })
    await addEntries(service(), call, [{ kind: 'assigned', resource: 'contacts', recordId: id }])
    const page = await openPage({ organization, path: '/inbox' })
    await badge(page, 1).waitFor()
    let release: () => void = () => undefined
    const isReleased = new Promise<void>((resolve) => (release = resolve))
    const failure = { code: 'internal_error', status: 500, message: 'Internal error', description: 'Try again later.' }
    await page.route(
      /\/v5\/inbox\/ibx_/,
      async (route) => (await isReleased, route.fulfill({ status: 500, json: failure })),
    )
    expectErrors(page, /status of 500/)
    await page.getByRole('button', { name: 'Mark as read' }).click()
    await page.getByRole('button', { name: 'Mark as unread' }).waitFor()
    await badge(page, 0).waitFor()
    release()
    await page.getByRole('button', { name: 'Mark as read' }).waitFor()
    await badge(page, 1).waitFor()
    await page.getByText('Try again later.').waitFor()
    await page.unrouteAll()
  },
)
