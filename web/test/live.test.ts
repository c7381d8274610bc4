import type { BrowserContext, Locator, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { BoardPage } from './board-page.ts'
import { inFocus } from './gestures.ts'
import { Grid } from './grid.ts'
import { expectAccessible } from './visit.ts'

const { openPage, openTab, callAs, expectErrors } = useApplication({ isAlone: true })

const organization = 'small' as const

async function send(call: Call, method: string, path: string, body?: object): Promise<Json> {
  const answer = await call(method, path, body && { body })
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300)
  return answer.body
}

/** Counts the requests of a page or of all pages of a browser, by path. */
function countRequests(of: Page | BrowserContext, path: RegExp): () => number {
  let count = 0
  // Both have this event.
  ;(of as Page).on('request', (request) => {
    if (path.test(new URL(request.url()).pathname)) count++
  })
  return () => count
}

const stream = /\/v5\/events\/stream$/
const streamOf = (page: Page) => page.waitForResponse((response) => stream.test(new URL(response.url()).pathname))

/** Opens a page, and waits until it follows what others change. */
async function openLive(options: Parameters<typeof openPage>[0]): Promise<Page> {
  const page = await openPage({ organization, ...options, path: '/forgot-password' })
  await Promise.all([streamOf(page), page.goto(options?.path ?? '/')])
  await page.locator('h1').first().waitFor()
  return page
}

const timeline = (page: Page): Locator => page.getByRole('region', { name: 'Timeline' })

async function editProperty(page: Page, name: string): Promise<void> {
  const button = page.getByRole('button', { name: `Edit ${name}`, exact: true })
  await button.waitFor({ state: 'attached' })
  await button.focus()
  await page.keyboard.press('Enter')
}

browserTest('two people see each other’s changes in a list, its count, a record, its tasks and timeline', async () => {
  const call = await callAs('owner', organization)
  const { id } = await send(call, 'POST', '/v5/contacts', { name: 'Shared Ada' })
  const [first, second] = [
    await openLive({ path: '/contacts?query=Shared+Ada' }),
    await openLive({ as: 'member', path: `/contacts/${id}` }),
  ]
  await first.getByRole('link', { name: 'Shared Ada', exact: true }).waitFor()
  const count = (page: Page) => page.locator('h1 + [role=status]')
  await expect.poll(() => count(first).innerText()).toBe('1 record')
  // The second person renames the contact, then the first one adds another.
  await editProperty(second, 'Name')
  await second.keyboard.press('Control+a')
  await second.keyboard.type('Shared Ada Byron')
  await second.keyboard.press('Enter')
  await first.getByRole('link', { name: 'Shared Ada Byron', exact: true }).waitFor()
  await send(call, 'POST', '/v5/contacts', { name: 'Shared Ada the second' })
  await first.getByRole('link', { name: 'Shared Ada the second', exact: true }).waitFor()
  await expect.poll(() => count(first).innerText()).toBe('2 records')
  // The first person changes the record that the second one looks at.
  await send(call, 'PATCH', `/v5/contacts/${id}`, { city: 'Ockham' })
  await second.getByText('Ockham', { exact: true }).first().waitFor()
  await timeline(second).getByText('set City to Ockham').waitFor()
  await send(call, 'POST', `/v5/contacts/${id}/notes`, { body: 'Written elsewhere' })
  await timeline(second).getByText('Written elsewhere').waitFor()
  const task = await send(call, 'POST', '/v5/tasks', { title: 'Call Ada', contactId: id })
  const openTasks = second.getByRole('list', { name: 'Open tasks' })
  await openTasks.getByText('Call Ada').waitFor()
  await send(call, 'PATCH', `/v5/tasks/${task.id}`, { done: true })
  await openTasks.waitFor({ state: 'detached' })
  expectErrors(second, /status of 404/)
  await send(call, 'DELETE', `/v5/contacts/${id}`)
  await second.getByRole('button', { name: 'Restore' }).waitFor()
  await expect.poll(() => count(first).innerText()).toBe('1 record')
  await second.getByRole('button', { name: 'Restore' }).click()
  await first.getByRole('link', { name: 'Shared Ada Byron', exact: true }).waitFor()
})

browserTest('a card that somebody else moves appears in its column with the totals, and keeps the focus', async () => {
  const call = await callAs('owner', organization)
  const page = await openLive({ path: '/companies' })
  const board = await BoardPage.open(page, call, 'Followed', { Lead: ['a', 'b'], Offer: ['c'] })
  const { body: deals } = await call('GET', `/v5/deals?pipelineId=${board.pipelineId}`)
  const idOf = (name: string) => deals.find((deal: Json) => deal.name === name).id
  await board.card('a').getByRole('link').focus()
  await send(call, 'POST', `/v5/deals/${idOf('b')}/move`, { stageId: board.stages.Offer, beforeId: idOf('c') })
  await expect.poll(() => board.names('Offer')).toEqual(['b', 'c'])
  await board.total('Offer', '€200').waitFor()
  await send(call, 'POST', '/v5/deals', { name: 'd', stageId: board.stages.Lead, amount: '5', currency: 'EUR' })
  await expect.poll(async () => (await board.names('Lead')).toSorted()).toEqual(['a', 'd'])
  expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('a')
  // While a card is carried, the others stay.
  await page.keyboard.press('Space')
  await send(call, 'POST', `/v5/deals/${idOf('c')}/move`, { stageId: board.stages.Lead })
  await page.getByRole('button', { name: 'Changed by others' }).waitFor()
  expect(await board.names('Offer')).toEqual(['b', 'c'])
  await page.keyboard.press('Escape')
  await expect.poll(() => board.names('Offer')).toEqual(['b'])
  await page.getByRole('button', { name: 'Changed by others' }).waitFor({ state: 'detached' })
})

browserTest(
  'rows stay under a person who has scrolled or selected; a line says what is new, and shows it',
  async () => {
    const call = await callAs()
    const page = await openLive({ organization: 'large', path: '/contacts' })
    const grid = new Grid(page)
    await grid.settle()
    await page.keyboard.press('Escape')
    await grid.scrollTo(36 * 50)
    await expect.poll(async () => (await grid.rows()).has(55)).toBe(true)
    await grid.settle()
    await grid.cell(55, 'name').click()
    await grid.expectActive(55, 'name')
    const [before, id, top] = [await grid.rows(), await grid.activeId(), await grid.scrollTop()]
    await send(call, 'POST', '/v5/contacts', { name: 'New above' })
    await send(call, 'PATCH', `/v5/contacts/${id}`, { name: 'Changed in place' })
    const line = page.getByRole('button', { name: '1 new', exact: true })
    await line.waitFor()
    await page.getByRole('gridcell', { name: 'Changed in place', exact: true }).waitFor()
    expect([await grid.activeId(), await grid.scrollTop()]).toEqual([id, top])
    expect((await grid.rows()).get(60)).toBe(before.get(60))
    await expectAccessible(page)
    await line.click()
    await page.getByRole('gridcell', { name: 'New above', exact: true }).waitFor()
    await expect.poll(() => grid.scrollTop()).toBe(0)
    await expect.poll(() => page.evaluate<string>('document.activeElement.role')).toBe('grid')
    // A selected row keeps the rows where they are; without it, they follow.
    await page.getByRole('checkbox', { name: 'Select New above' }).click()
    await send(call, 'POST', '/v5/contacts', { name: 'Newer above' })
    await line.waitFor()
    expect(await page.getByRole('gridcell', { name: 'Newer above', exact: true }).count()).toBe(0)
    await page.getByRole('checkbox', { name: 'Select New above' }).click()
    await page.getByRole('gridcell', { name: 'Newer above', exact: true }).waitFor()
    await line.waitFor({ state: 'detached' })
  },
)

browserTest('a change between the first data and the first position is shown', async () => {
  const call = await callAs('owner', organization)
  const { id } = await send(call, 'POST', '/v5/contacts', { name: 'Early Ada' })
  const page = await openPage({ organization, path: '/forgot-password' })
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.route(/\/v5\/events\/position/, async (route) => {
    await released
    await route.continue()
  })
  await page.goto(`/contacts/${id}`)
  await page.getByRole('heading', { name: 'Early Ada', level: 2 }).waitFor()
  // Everything is read, so that only an event can show the change.
  await timeline(page).getByText('created the contact').waitFor()
  await send(call, 'PATCH', `/v5/contacts/${id}`, { city: 'Ockham' })
  expect(await page.getByText('Ockham', { exact: true }).count()).toBe(0)
  release()
  await page.getByText('Ockham', { exact: true }).first().waitFor()
})

browserTest('a record that leaves the reach of a person disappears from their list and closes', async () => {
  const call = await callAs('owner', organization)
  const members: Json[] = (await call('GET', '/v5/members')).body
  const userIdOf = (role: string) => members.find((member) => member.role === role).id
  const [owner, member] = [userIdOf('owner'), userIdOf('member')]
  const scopes = ['*:*:read', '*:*:write'].map((scope) => `urn:service:${scope}`)
  const role = await send(call, 'POST', '/v5/roles', { name: 'Sees own', scopes, reach: { contact: 'own' } })
  await send(call, 'PATCH', `/v5/members/${member}`, { roleId: role.id })
  onTestFinished(async () => void (await send(call, 'PATCH', `/v5/members/${member}`, { role: 'member' })))
  const { id } = await send(call, 'POST', '/v5/contacts', { name: 'Reached Ada', ownerId: member })
  const list = await openLive({ as: 'member', path: '/contacts?query=Reached' })
  const record = await openLive({ as: 'member', path: `/contacts/${id}` })
  await list.getByRole('link', { name: 'Reached Ada', exact: true }).waitFor()
  for (const page of [list, record]) expectErrors(page, /status of 404/)
  await send(call, 'PATCH', `/v5/contacts/${id}`, { ownerId: owner })
  await list.getByRole('link', { name: 'Reached Ada', exact: true }).waitFor({ state: 'detached' })
  await record.getByRole('heading', { name: 'There is nothing here' }).first().waitFor()
})

browserTest('a conflict is shown while the person is typing, and nothing typed is lost', async () => {
  const call = await callAs('owner', organization)
  const { id } = await send(call, 'POST', '/v5/contacts', { name: 'Edited Ada', employmentTitle: 'Tester' })
  const page = await openLive({ as: 'member', path: `/contacts/${id}` })
  await editProperty(page, 'Job title')
  await inFocus(page.getByRole('textbox', { name: 'Job title' }))
  await page.keyboard.type('Mine')
  await send(call, 'PATCH', `/v5/contacts/${id}`, { employmentTitle: 'Theirs', city: 'Paris' })
  await page.getByText('Paris', { exact: true }).first().waitFor()
  const notice = page
    .getByRole('region', { name: 'Notifications' })
    .getByText('Job title was changed meanwhile')
    .first()
  await notice.waitFor()
  await expectAccessible(page)
  await page.keyboard.type(' and more')
  const input = page.getByRole('textbox', { name: 'Job title' })
  expect(await input.inputValue()).toBe('Mine and more')
  await page.keyboard.press('Enter')
  // The notice has this title, too.
  const dialog = page
    .getByRole('dialog', { name: 'Job title was changed meanwhile' })
    .filter({ has: page.locator('dd') })
  await expect.poll(() => dialog.locator('dd').allInnerTexts()).toEqual(['Theirs', 'Mine and more'])
  await notice.waitFor({ state: 'detached' })
  await dialog.getByRole('button', { name: 'Keep mine' }).click()
  await expect.poll(async () => (await call('GET', `/v5/contacts/${id}`)).body.employmentTitle).toBe('Mine and more')
})

browserTest(
  'nothing is read of a record that this page deletes, although the event is there before the answer',
  async () => {
    const call = await callAs('owner', organization)
    const contact = await send(call, 'POST', '/v5/contacts', { name: 'Leaving Ada' })
    const team = await send(call, 'POST', '/v5/teams', { name: 'Leaving team' })
    for (const [path, list, { id, name }] of [
      [`/contacts/${contact.id}`, '/contacts?query=Leaving', contact],
      [`/settings/teams?team=${team.id}`, '/settings/teams', team],
    ]) {
      const page = await openLive({ path })
      // This tab gets the events from the first one.
      const link = (await openTab(page, list)).getByRole('link', { name, exact: true })
      await link.waitFor()
      await page.route(new RegExp(`/v5/\\w+/${id}$`), async (route) => {
        if (route.request().method() !== 'DELETE') return route.continue()
        const response = await route.fetch()
        await link.waitFor({ state: 'detached' })
        return route.fulfill({ response })
      })
      const isContact = id === contact.id
      if (isContact) {
        await timeline(page).getByText('created the contact').waitFor()
        await page.getByRole('button', { name: 'More actions' }).click()
        await page.getByRole('menuitem', { name: 'Delete' }).click()
      } else await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
      // The browser would report a request for what is deleted.
      await page.getByRole('heading', { level: 1, name: isContact ? 'Contacts' : 'Teams', exact: true }).waitFor()
    }
  },
)

browserTest('tabs share one stream, the next tab takes it over without a gap, and a log-out ends it', async () => {
  const call = await callAs('owner', organization)
  const { id } = await send(call, 'POST', '/v5/contacts', { name: 'Followed Ada' })
  const first = await openLive({ path: `/contacts/${id}` })
  const count = countRequests(first.context(), stream)
  const second = await openTab(first, `/contacts/${id}`)
  await timeline(second).waitFor()
  await send(call, 'PATCH', `/v5/contacts/${id}`, { city: 'Rome' })
  for (const page of [first, second]) await timeline(page).getByText('set City to Rome').waitFor()
  expect(count()).toBe(0)
  const isTakenOver = streamOf(second)
  // Nobody has the stream while these changes are made.
  await Promise.all([first.close(), send(call, 'PATCH', `/v5/contacts/${id}`, { city: 'Pisa' })])
  await isTakenOver
  await timeline(second).getByText('from Rome to Pisa').waitFor()
  expect(count()).toBe(1)
  // The page asks whether anybody is still logged in.
  expectErrors(second, /401.*auth\/refresh/)
  const isEnded = second.waitForEvent('requestfailed', (request) => stream.test(new URL(request.url()).pathname))
  await second.getByRole('button', { name: 'Ada Lovelace' }).click()
  await second.getByRole('menuitem', { name: 'Log out' }).click()
  await isEnded
  await second.getByRole('link', { name: 'Log in' }).waitFor()
  expect(count()).toBe(1)
})

browserTest('however much happens, a page sends few requests, and none for what it has done itself', async () => {
  const call = await callAs('owner', organization)
  // Before the page begins to load: what happens after that is read again.
  const { id } = await send(call, 'POST', '/v5/contacts', { name: 'Job Seeker' })
  const page = await openLive({ path: '/contacts' })
  await page.getByRole('grid').getByRole('link').first().waitFor()
  const count = countRequests(page, /^\/v5\/contacts/)
  const begun = Date.now()
  for (let crowd = 0; crowd < 10; crowd++) {
    const names = Array.from({ length: 10 }, (_, index) => `Crowd ${crowd}${index}`)
    await Promise.all(names.map((name) => send(call, 'POST', '/v5/contacts', { name })))
  }
  await page.getByRole('gridcell', { name: 'Crowd 99', exact: true }).waitFor()
  // A count and a page each second, and a page for the rows below.
  expect(count()).toBeLessThanOrEqual(3 * (2 + (Date.now() - begun) / 1000))
  const record = await openLive({ path: `/contacts/${id}` })
  await record.getByRole('heading', { name: 'Job Seeker', level: 2 }).waitFor()
  const reads = countRequests(record, /^\/v5\/contacts\/con_\w+$/)
  await editProperty(record, 'Job title')
  await record.keyboard.type('Founder')
  await record.keyboard.press('Enter')
  await timeline(record).getByText('set Job title to Founder').waitFor()
  // The read before the change, and the change.
  expect(reads()).toBe(2)
})
