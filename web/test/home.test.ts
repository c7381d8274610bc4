import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'

const { openPage, callAs } = useApplication()

browserTest('a segment of a bar links to the contacts of its day and source', async () => {
  const call = await callAs()
  expect((await call('POST', '/v5/contacts', { body: { email: 'charted@example.com' } })).status).toBe(201)
  const page = await openPage()
  const bar = page.getByRole('link', { name: /, People: \d+$/ }).last()
  const [, count = ''] = /: (\d+)$/.exec((await bar.getAttribute('aria-label')) ?? '') ?? []
  await bar.focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/contacts\?filter\.createdAt\.gte=.*filter\.source\.equals=person/)
  await page.getByText(new RegExp(`^${count} records?$`)).waitFor()
  await page.getByText('charted@example.com').first().waitFor()
})

browserTest(
  'a chart is one tab stop with arrow keys between its values, and has a table with the same numbers',
  async () => {
    const page = await openPage({ organization: 'small', now: '2026-11-21T12:00:00Z', path: '/?days=90' })
    const chart = page.getByRole('group', { name: 'New contacts' })
    const stops = chart.locator('a[tabindex="0"]')
    await expect.poll(() => stops.count()).toBe(1)
    await stops.focus()
    const name = () => page.evaluate<string>(`document.activeElement.getAttribute('aria-label')`)
    const first = await name()
    await page.keyboard.press('ArrowRight')
    await expect.poll(name).not.toBe(first)
    await page.keyboard.press('ArrowLeft')
    await expect.poll(name).toBe(first)
    const panel = page.getByRole('region', { name: 'New contacts', exact: true })
    const total = Number((await panel.locator('p').first().textContent())?.replaceAll(',', ''))
    await panel.getByRole('button', { name: 'Table view' }).click()
    await expect.poll(() => panel.locator('tbody td:last-child').count()).toBe(90)
    const cells = await panel.locator('tbody td:last-child').allTextContents()
    expect(cells.reduce((sum, cell) => sum + Number(cell), 0)).toBe(total)
  },
)

browserTest('a country on the map links to its contacts', async () => {
  const page = await openPage({ organization: 'small' })
  const country = page.getByRole('group', { name: 'Contacts by country' }).getByRole('link').first()
  const [, name, count] = /^(.+): ([\d,]+)$/.exec((await country.getAttribute('aria-label')) ?? '') ?? []
  await country.focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/contacts\?filter\.countryCode\.equals=[A-Z]{2}$/)
  await page.getByText(new RegExp(`^${count} records?$`)).waitFor()
  expect(name).not.toMatch(/^[A-Z]{2}$/)
})

/** Switches the session of a page to a new organization; the next load of the page shows it. */
const moveToNewOrganization = (page: Page) =>
  page.evaluate(async () => {
    const post = async (path: string, body: object, token?: string): Promise<Record<string, string>> => {
      const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
      const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
      return (await response.json()) as Record<string, string>
    }
    const { accessToken = '' } = await post('/auth/refresh', {})
    const { id } = await post('/v5/me/organizations', { name: 'New Beginnings' }, accessToken)
    await post('/v5/me/organization', { organizationId: id }, accessToken)
    return accessToken
  })

browserTest('a new organization sees what is missing, and the first steps until they are done or closed', async () => {
  const page = await openPage({ path: '/settings' })
  const token = await moveToNewOrganization(page)
  await page.goto('/')
  await page.getByText('0 of 4 done').waitFor()
  // The first steps replace the rest of the page, which would be empty.
  for (const nothing of ['No contacts yet', 'Nothing is due']) expect(await page.getByText(nothing).count()).toBe(0)
  await page.getByRole('button', { name: /^Fill with example data/ }).click()
  await page.getByText('The example data are there').waitFor()
  await page.getByRole('group', { name: 'New contacts' }).waitFor()
  await page.getByText('Send the offer').waitFor()
  await page.getByText('0 of 4 done').waitFor()
  await page.getByRole('button', { name: /^Remove the example data/ }).click()
  await page.getByText('The example data are removed').waitFor()
  await page.getByRole('button', { name: /^Fill with example data/ }).waitFor()
  await expect.poll(() => page.getByRole('group', { name: 'New contacts' }).count()).toBe(0)
  await page.evaluate(async (accessToken) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${accessToken}` }
    await fetch('/v5/contacts', { method: 'POST', headers, body: '{"email": "first@example.com"}' })
  }, token)
  await page.reload()
  await page.getByText('1 of 4 done').waitFor()
  await page.getByRole('link', { name: 'Invite a colleague' }).waitFor()
  await page.getByRole('button', { name: 'Close the first steps' }).click()
  await page.reload()
  await page.getByRole('group', { name: 'New contacts' }).waitFor()
  expect(await page.getByText('First steps').count()).toBe(0)
})

browserTest('a viewer is offered no first steps', async () => {
  const page = await openPage({ as: 'viewer' })
  await page.getByRole('group', { name: 'New contacts' }).or(page.getByText('No new contacts')).waitFor()
  expect(await page.getByText('First steps').count()).toBe(0)
})

const myDay = (page: Page) => page.getByRole('region', { name: 'My day' })
const group = (page: Page, name: string) =>
  myDay(page)
    .getByRole('list', { name: new RegExp(`^${name}`) })
    .getByRole('listitem')

/** Creates a task assigned to the caller, and returns it. */
async function createTask(call: Call, body: object): Promise<Json> {
  const created = await call('POST', '/v5/tasks', { body })
  expect(created.status, created.text).toBe(201)
  return created.body
}

const later = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString()
const hour = 3_600_000

browserTest('my day shows tasks overdue, due today and due soon, finishes one and links to its record', async () => {
  const call = await callAs('member')
  const contact = (await (await callAs())('POST', '/v5/contacts', { body: { name: 'Mona Today' } })).body
  const late = await createTask(call, { title: 'Late', dueAt: later(-hour), contactId: contact.id })
  await createTask(call, { title: 'Later this week', dueAt: later(49 * hour) })
  await createTask(call, { title: 'Next month', dueAt: later(30 * 24 * hour) })
  await createTask(call, { title: 'Some day' })
  await createTask(await callAs(), { title: 'Of somebody else', dueAt: later(-hour) })
  const page = await openPage({ as: 'member' })
  await group(page, 'Overdue').getByText('Overdue').waitFor()
  await expect.poll(() => group(page, 'Overdue').count()).toBe(1)
  await group(page, 'Next seven days').getByText('Later this week').waitFor()
  expect(
    await myDay(page)
      .getByText(/Next month|Some day|somebody else/)
      .count(),
  ).toBe(0)
  const link = group(page, 'Overdue').getByRole('link', { name: 'Mona Today' })
  expect(await link.getAttribute('href')).toBe(`/contacts/${contact.id}`)
  await myDay(page).getByRole('checkbox', { name: 'Done: Late', exact: true }).click()
  const isDone = async () => (await call('GET', `/v5/tasks/${late.id}`)).body.done
  await expect.poll(isDone).toBe(true)
  await expect.poll(() => myDay(page).getByRole('checkbox', { name: 'Done: Late', exact: true }).isChecked()).toBe(true)
  await page.keyboard.press('Control+z')
  await expect.poll(isDone).toBe(false)
  await myDay(page).getByRole('link', { name: 'All my tasks' }).click()
  await page.getByRole('grid').getByText('Some day').waitFor()
  expect(await page.getByRole('grid').getByText('Of somebody else').count()).toBe(0)
})

/** A time zone in which it is currently this hour. */
const zoneAt = (wanted: number): string => {
  const offset = ((wanted - new Date().getUTCHours() + 36) % 24) - 12
  return `Etc/GMT${offset > 0 ? '-' : '+'}${Math.abs(offset)}`
}

browserTest('“today” depends on the person’s time zone, from the profile or else the browser', async () => {
  const call = await callAs('member')
  // In one zone it is noon; in the other, the day is about to end, but not during the test.
  const [noon, night] = [zoneAt(11), zoneAt(22)]
  await createTask(call, { title: 'In two hours', dueAt: later(2 * hour) })
  const atNoon = await openPage({ as: 'member', timezone: noon })
  await group(atNoon, 'Today').getByText('In two hours').waitFor()
  const atNight = await openPage({ as: 'member', timezone: night })
  await group(atNight, 'Next seven days').getByText('In two hours').waitFor()
  await group(atNight, 'Next seven days')
    .getByText(/^Tomorrow, /)
    .waitFor()
  expect((await call('PATCH', '/v5/me', { body: { timeZone: night } })).status).toBe(200)
  await atNoon.reload()
  await group(atNoon, 'Next seven days').getByText('In two hours').waitFor()
  await call('PATCH', '/v5/me', { body: { timeZone: null } })
})

browserTest('the number of overdue tasks is exact, and so is the number of hidden ones', async () => {
  const call = await callAs('member')
  const { body: me } = await call('GET', '/v5/me')
  const overdue = `assigneeId=${me.id}&done=false&filter.dueAt.lt=${new Date().toISOString()}`
  const { count: before } = (await call('GET', `/v5/tasks/count?${overdue}`)).body
  for (let number = before; number < 57; number++) {
    const body = { title: `Late ${number}`, dueDate: '2026-01-05', assigneeId: me.id }
    expect((await call('POST', '/v5/tasks', { body })).status).toBe(201)
  }
  const page = await openPage({ as: 'member' })
  const group = page.getByRole('heading', { name: /^Overdue/ }).locator('..')
  await page.getByRole('heading', { name: 'Overdue 57' }).waitFor()
  await expect.poll(() => group.getByRole('listitem').count()).toBe(6)
  await group.getByRole('button', { name: '51 more tasks' }).click()
  await expect.poll(() => group.getByRole('listitem').count()).toBe(50)
  await group.getByRole('link', { name: 'Show all in the list' }).click()
  await page.getByText('57 records').waitFor()
})
