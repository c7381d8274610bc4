import type { Locator, Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { inFocus, typeAtOnce } from './gestures.ts'
import { Grid } from './grid.ts'

const { openPage, callAs, expectErrors } = useApplication()

let page: Page
let call: Call
let contact: Json
let number = 0
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/forgot-password', organization: 'small' })
  call ??= await callAs('owner', 'small')
  contact = await create('contacts', { name: `Theo Todo ${++number}` })
})

async function create(resource: string, body: object): Promise<Json> {
  const created = await call('POST', `/v5/${resource}`, { body })
  expect(created.status, created.text).toBe(201)
  return created.body
}

const section = (on = page) => on.getByRole('region', { name: 'Tasks', exact: true })
const row = (title: string) => section().getByRole('listitem').filter({ hasText: title })
const circle = (title: string) => section().getByRole('checkbox', { name: `Done: ${title}` })
const dialog = () => page.getByRole('dialog')
const toast = (text: string) => page.getByRole('region', { name: 'Notifications' }).getByText(text).first()
const show = async (path = `/contacts/${contact.id}`) => {
  await page.goto(path)
  await section().getByRole('button', { name: 'New task' }).waitFor()
}
const stored = async (): Promise<Json[]> =>
  (await call('GET', `/v5/tasks?contactId=${contact.id}&orderBy=createdAt&sort=asc`)).body
const hasFocus = (element: Locator) => element.evaluate((one: Json) => one === one.ownerDocument.activeElement)
const dayAfter = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

browserTest('“t” opens the form for a new task of the record, assigned to the person', async () => {
  await show()
  await page.keyboard.press('t')
  await dialog().getByRole('textbox', { name: 'Title' }).fill('Send the offer')
  await dialog().getByLabel('Due on').fill('2030-01-31')
  await dialog().getByRole('combobox', { name: 'Priority' }).selectOption('High')
  await dialog().getByRole('textbox', { name: 'Text' }).fill('- 40 seats')
  await page.keyboard.press('Tab')
  await dialog().getByRole('button', { name: 'Add task' }).click()
  await row('Send the offer').getByText('31 Jan 2030').waitFor()
  await row('Send the offer').getByText('High').waitFor()
  await row('Send the offer').getByText('Ada Lovelace').waitFor()
  const [task] = await stored()
  const { id } = (await call('GET', '/v5/me')).body
  expect(task).toMatchObject({
    dueDate: '2030-01-31',
    dueAt: null,
    priority: 'high',
    body: '- 40 seats',
    assigneeId: id,
  })
  await expect.poll(() => hasFocus(section().getByRole('button', { name: 'New task' }))).toBe(true)
  await page.getByRole('region', { name: 'Timeline' }).getByText('Ada Lovelace added a task').waitFor()
})

browserTest('a day and a time are an instant in the person’s time zone', async () => {
  const inTokyo = await openPage({ organization: 'small', path: `/contacts/${contact.id}`, timezone: 'Asia/Tokyo' })
  await section(inTokyo).getByRole('button', { name: 'New task' }).click()
  const form = inTokyo.getByRole('dialog')
  await form.getByRole('textbox', { name: 'Title' }).fill('Call Kyoto')
  await form.getByLabel('Due on').fill('2030-03-01')
  await form.getByLabel('Time').fill('08:30')
  await form.getByRole('button', { name: 'Add task' }).click()
  await section(inTokyo).getByText('1 Mar 2030, 08:30').waitFor()
  expect(await stored()).toMatchObject([{ dueDate: null, dueAt: '2030-02-28T23:30:00.000Z' }])
  await inTokyo.close()
})

browserTest('one key finishes a task at once, and Undo reopens it', async () => {
  await create('tasks', { title: 'Call back', contactId: contact.id })
  await create('tasks', { title: 'Write', contactId: contact.id })
  await show()
  let release = () => undefined as void
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route(/\/v5\/tasks\/tsk_/, async (route) => (await held, route.continue()), { times: 1 })
  await circle('Call back').focus()
  await page.keyboard.press('Space')
  await expect.poll(() => circle('Call back').isChecked()).toBe(true)
  expect((await stored())[0]).toMatchObject({ done: false })
  // Somebody else's task makes the page refetch them while the request is in flight.
  await create('tasks', { title: 'From elsewhere', contactId: contact.id })
  await circle('From elsewhere').waitFor()
  expect(await circle('Call back').isChecked()).toBe(true)
  release()
  await toast('Done: Call back').waitFor()
  await expect.poll(async () => (await stored())[0]).toMatchObject({ done: true })
  // The task stays in place, so neither the focus nor the rest of the page jumps.
  await create('tasks', { title: 'Also from elsewhere', contactId: contact.id })
  await circle('Also from elsewhere').waitFor()
  expect([await circle('Call back').isChecked(), await hasFocus(circle('Call back'))]).toEqual([true, true])
  await page.keyboard.press('Control+z')
  await expect.poll(async () => (await stored())[0]).toMatchObject({ done: false })
  await expect.poll(() => circle('Call back').isChecked()).toBe(false)
  const inTimeline = page.getByRole('region', { name: 'Timeline' }).getByRole('checkbox', { name: 'Done: Write' })
  await inTimeline.click()
  await expect.poll(() => circle('Write').isChecked()).toBe(true)
  await expect.poll(async () => (await stored())[1]).toMatchObject({ done: true })
  await show()
  await circle('Call back').waitFor()
  expect(await circle('Write').count()).toBe(0)
  await section().getByRole('button', { name: 'Show done tasks' }).click()
  await section().getByRole('list', { name: 'Done tasks' }).getByRole('checkbox', { name: 'Done: Write' }).click()
  await expect.poll(async () => (await stored())[1]).toMatchObject({ done: false })
})

browserTest('a task that the service refuses to finish reopens', async () => {
  await create('tasks', { title: 'Refused', contactId: contact.id })
  await show()
  expectErrors(page, /status of 403/)
  const refusal = { code: 'forbidden', status: 403, message: 'Forbidden', description: 'Not this one.', details: [] }
  await page.route(/\/v5\/tasks\/tsk_/, (route) => route.fulfill({ status: 403, json: refusal }), { times: 1 })
  await circle('Refused').click()
  await toast('Not changed: Refused').waitFor()
  await expect.poll(() => circle('Refused').isChecked()).toBe(false)
})

browserTest('tasks are sorted by deadline, and overdue ones are marked', async () => {
  await create('tasks', { title: 'Some day', contactId: contact.id })
  await create('tasks', { title: 'Next year', contactId: contact.id, dueDate: dayAfter(400) })
  await create('tasks', {
    title: 'Too late',
    contactId: contact.id,
    dueAt: new Date(Date.now() - 60_000).toISOString(),
  })
  await create('tasks', { title: 'Last week', contactId: contact.id, dueDate: dayAfter(-7) })
  await show()
  const titles = (): Promise<string[]> =>
    section()
      .getByRole('checkbox')
      .evaluateAll((boxes: Json[]) => boxes.map((one) => one.ariaLabel))
  await expect.poll(titles).toEqual(['Last week', 'Too late', 'Next year', 'Some day'].map((title) => `Done: ${title}`))
  const marked = async (title: string) => row(title).getByText('Overdue').count()
  expect(await Promise.all(['Last week', 'Too late', 'Next year', 'Some day'].map(marked))).toEqual([1, 1, 0, 0])
  const time = row('Next year').getByRole('time')
  expect(await time.getAttribute('datetime')).toBe(dayAfter(400))
  await time.focus()
  await page
    .getByText(new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone: 'UTC' }).format(new Date(dayAfter(400))))
    .waitFor()
})

browserTest('a task is changed in its form, unless someone else was faster, and deleted with Undo', async () => {
  expectErrors(page, /status of 412/)
  const task = await create('tasks', { title: 'Plan', contactId: contact.id, dueAt: '2030-05-05T10:00:00Z' })
  await create('tasks', { title: 'Other', contactId: contact.id })
  await show()
  const choose = async (item: string) => {
    await section().getByRole('button', { name: 'Actions for Plan' }).click()
    await page.getByRole('menuitem', { name: item }).click()
  }
  await choose('Edit')
  expect(await dialog().getByLabel('Time').inputValue()).toBe('12:00')
  await dialog().getByRole('textbox', { name: 'Title' }).fill('Plan B')
  await call('PATCH', `/v5/tasks/${task.id}`, { body: { title: 'Plan C' } })
  await dialog().getByRole('button', { name: 'Save' }).click()
  const conflict = page.getByRole('dialog', { name: 'Title was changed meanwhile' })
  await conflict.getByText('Plan C').waitFor()
  await conflict.getByRole('button', { name: 'Cancel' }).click()
  await conflict.waitFor({ state: 'detached' })
  await dialog().getByRole('alert').waitFor()
  await dialog().getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Actions for Plan C' }).first().click()
  await page.getByRole('menuitem', { name: 'Edit' }).click()
  await dialog().getByLabel('Due on').fill('')
  await dialog().getByLabel('Time').fill('')
  await dialog().getByRole('textbox', { name: 'Title' }).fill('Plan')
  await dialog().getByRole('button', { name: 'Save' }).click()
  await dialog().waitFor({ state: 'detached' })
  expect((await stored())[0]).toMatchObject({ title: 'Plan', dueAt: null, dueDate: null })
  await section().getByRole('checkbox', { name: 'Done: Plan' }).waitFor()
  await choose('Delete')
  await row('Plan').waitFor({ state: 'detached' })
  await expect.poll(() => hasFocus(circle('Other'))).toBe(true)
  await expect.poll(async () => (await stored()).length).toBe(1)
  await toast('Deleted: Plan').waitFor()
  await page.keyboard.press('Control+z')
  await row('Plan').waitFor()
  await expect.poll(async () => (await stored()).length).toBe(2)
})

browserTest('companies and deals have their own tasks', async () => {
  for (const resource of ['companies', 'deals']) {
    const { id } = await create(resource, { name: `With tasks ${number}` })
    await show(`/${resource}/${id}`)
    await section().getByText('Nothing to do').waitFor()
    await section().getByRole('button', { name: 'New task' }).click()
    await dialog().getByRole('textbox', { name: 'Title' }).fill(`For ${resource}`)
    await page.keyboard.press('Enter')
    await row(`For ${resource}`).waitFor()
    const field = resource === 'companies' ? 'companyId' : 'dealId'
    expect((await call('GET', `/v5/tasks?${field}=${id}`)).body).toMatchObject([{ title: `For ${resource}` }])
  }
})

browserTest('a click, or Enter in the cell, finishes a task in the list', async () => {
  const title = `Listed ${number}`
  const { id } = await create('tasks', { title, contactId: contact.id, dueDate: dayAfter(-3) })
  const isDone = async () => (await call('GET', `/v5/tasks/${id}`)).body.done
  await page.goto('/')
  await page.locator('h1').first().waitFor()
  await typeAtOnce(page, 'gt')
  await page.waitForURL(/\/tasks$/)
  await page.goto(`/tasks?query=${encodeURIComponent(title)}`)
  const grid = new Grid(page)
  await grid.settle()
  expect(await grid.cell(0, 'overdue').innerText()).toBe('Overdue')
  await grid.cell(0, 'done').getByRole('checkbox').click()
  await expect.poll(isDone).toBe(true)
  await page.keyboard.press('Control+z')
  await expect.poll(isDone).toBe(false)
  await expect.poll(() => grid.cell(0, 'done').getByRole('checkbox').isChecked()).toBe(false)
  await grid.box.focus()
  await grid.expectActive(0, 'done')
  await grid.press('Enter')
  await expect.poll(isDone).toBe(true)
  await expect.poll(() => grid.cell(0, 'done').getByRole('checkbox').isChecked()).toBe(true)
  const link = grid.cell(0, 'contactId').getByRole('link', { name: contact.name })
  expect(await link.getAttribute('href')).toBe(`/contacts/${contact.id}`)
})

browserTest('the page of a task shows its text as Markdown and links to its record', async () => {
  const { id } = await create('tasks', { title: 'Read me', contactId: contact.id, body: '- read **twice**' })
  await page.goto(`/tasks/${id}`)
  const text = page.getByRole('region', { name: 'Text', exact: true })
  expect(await text.locator('li strong').innerText()).toBe('twice')
  await page.getByRole('complementary', { name: 'Properties' }).getByRole('link', { name: contact.name }).click()
  await page.getByRole('heading', { level: 1, name: contact.name }).waitFor()
})

browserTest('an instant is edited as a day and a time, and an unchanged one keeps its precision', async () => {
  const exact = '2030-06-01T08:15:30.250Z'
  const { id } = await create('tasks', { title: `Exact ${number}`, contactId: contact.id, dueAt: exact })
  const dueAt = async () => (await call('GET', `/v5/tasks/${id}`)).body.dueAt
  await page.goto(`/tasks?query=Exact+${number}&columns=title:300!,dueAt:200`)
  const grid = new Grid(page)
  await grid.settle()
  await grid.box.focus()
  await grid.press('ArrowDown', 'ArrowRight', 'Enter')
  const input = grid.cell(0, 'dueAt').locator('input[type=datetime-local]')
  expect(await input.inputValue()).toBe('2030-06-01T10:15:30')
  await page.keyboard.press('Enter')
  await input.waitFor({ state: 'detached' })
  expect(await dueAt()).toBe(exact)
  await inFocus(grid.box)
  await grid.press('Enter')
  await input.fill('2030-12-01T09:00')
  await page.keyboard.press('Enter')
  await expect.poll(dueAt).toBe('2030-12-01T08:00:00.000Z')
})
