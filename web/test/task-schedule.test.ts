import type { Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { violationsInFront } from './accessibility.ts'
import { browserTest, useApplication } from './application.ts'
import { Grid } from './grid.ts'
import { resize } from './squeezed.ts'

const { openPage, callAs } = useApplication()

let page: Page
let call: Call
let contact: Json
let number = 0
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/forgot-password', organization: 'small' })
  call ??= await callAs('owner', 'small')
  contact = await create('contacts', { name: `Rita Repeat ${++number}` })
})

async function create(resource: string, body: object): Promise<Json> {
  const created = await call('POST', `/v5/${resource}`, { body })
  expect(created.status, created.text).toBe(201)
  return created.body
}

const section = () => page.getByRole('region', { name: 'Tasks', exact: true })
const row = (title: string) => section().getByRole('listitem').filter({ hasText: title })
const circle = (title: string) => section().getByRole('checkbox', { name: `Done: ${title}` })
const dialog = () => page.getByRole('dialog')
const show = async () => {
  await page.goto(`/contacts/${contact.id}`)
  await section().getByRole('button', { name: 'New task' }).waitFor()
}
const stored = async (): Promise<Json[]> =>
  (await call('GET', `/v5/tasks?contactId=${contact.id}&orderBy=createdAt&sort=asc`)).body

browserTest('a task gets a reminder and repeats, and the next one appears when it is done', async () => {
  await show()
  await section().getByRole('button', { name: 'New task' }).click()
  const [reminder, repeat] = ['Reminder', 'Repeat'].map((name) => dialog().getByRole('combobox', { name, exact: true }))
  if (!reminder || !repeat) throw new Error('there are two')
  expect(await repeat.isDisabled()).toBe(true)
  await dialog().getByText('Set a due date first.').waitFor()
  await dialog().getByRole('textbox', { name: 'Title' }).fill('Weekly report')
  await dialog().getByLabel('Due on').fill('2030-01-07')
  await reminder.selectOption('On the day, 09:00')
  await repeat.selectOption('Every week')
  await dialog().getByText('Every week on Monday', { exact: true }).waitFor()
  await dialog().getByRole('checkbox', { name: 'Thursday' }).check()
  await dialog().getByRole('textbox', { name: 'Every so many weeks' }).fill('2')
  await dialog().getByRole('combobox', { name: 'Ends' }).selectOption('After a number of tasks')
  await dialog().getByRole('textbox', { name: 'Number of tasks, with this one' }).fill('5')
  await dialog().getByText('Every 2 weeks on Monday and Thursday, 5 times', { exact: true }).waitFor()
  expect(await violationsInFront(page)).toEqual([])
  await dialog().getByRole('button', { name: 'Add task' }).click()
  await row('Weekly report').getByText('Every 2 weeks on Monday and Thursday, 5 times').waitFor()
  expect(await stored()).toMatchObject([
    {
      dueDate: '2030-01-07',
      remindBefore: 900,
      reminderAt: '2030-01-07T09:00:00.000Z',
      recurrence: 'FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;COUNT=5',
    },
  ])
  await circle('Weekly report').click()
  await row('Weekly report').getByText('10 Jan 2030').waitFor()
  expect(await stored()).toMatchObject([{ done: true }, { dueDate: '2030-01-10', remindBefore: 900, done: false }])
  await page.keyboard.press('Control+z')
  await row('Weekly report').getByText('10 Jan 2030').waitFor({ state: 'detached' })
  await expect.poll(stored).toMatchObject([{ done: false, nextTaskId: null }])
})

browserTest('the page of a task and the list say in words how it repeats and when it reminds', async () => {
  const values = {
    title: 'Pay the rent',
    dueDate: '2030-01-07',
    remindBefore: 900,
    recurrence: 'FREQ=MONTHLY;INTERVAL=2',
  }
  const task = await create('tasks', { ...values, contactId: contact.id })
  await page.goto(`/tasks/${task.id}`)
  await page.getByText('Every 2 months', { exact: true }).waitFor()
  await page.getByText('On the day, 09:00', { exact: true }).waitFor()
  expect(await page.getByText('FREQ=').count()).toBe(0)
})

browserTest('a reminder follows when a due day gets a time, and a rule of a program stays', async () => {
  const rule = 'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1'
  await create('tasks', {
    title: 'Close the books',
    contactId: contact.id,
    dueDate: '2030-01-31',
    remindBefore: 2340,
    recurrence: rule,
  })
  await show()
  await row('Close the books').getByText(`By the rule ${rule}`).waitFor()
  await section().getByRole('button', { name: 'Actions for Close the books' }).click()
  await page.getByRole('menuitem', { name: 'Edit' }).click()
  const reminder = dialog().getByRole('combobox', { name: 'Reminder', exact: true })
  const chosen = () => reminder.locator('option:checked').innerText()
  expect(await chosen()).toBe('The day before, 09:00')
  await dialog().getByLabel('Time').fill('16:30')
  await expect.poll(chosen).toBe('1 day before')
  await reminder.selectOption('On a day, at a time…')
  await dialog().getByLabel('Remind on').fill('2030-01-30')
  await dialog().getByLabel('Remind at').fill('08:15')
  await dialog().getByRole('button', { name: 'Save' }).click()
  await dialog().waitFor({ state: 'detached' })
  expect(await stored()).toMatchObject([
    { dueAt: '2030-01-31T15:30:00.000Z', remindAt: '2030-01-30T07:15:00.000Z', remindBefore: null, recurrence: rule },
  ])
})

browserTest('in a list, the cell of a rule has the fields of the form, with the keyboard, in German', async () => {
  const title = `Miete ${number}`
  const values = { title, contactId: contact.id, dueDate: '2030-01-07', recurrence: 'FREQ=WEEKLY;BYDAY=MO' }
  await create('tasks', values)
  const german = await openPage({
    organization: 'small',
    path: `/tasks?filter.contactId.equals=${contact.id}&columns=title:200,recurrence:300`,
    locale: 'de-DE',
  })
  const cell = new Grid(german).cell(0, 'recurrence')
  await cell.getByText('Jede Woche am Montag', { exact: true }).waitFor()
  const fields = german.getByRole('dialog', { name: 'Wiederholung' })
  const repeat = fields.getByRole('combobox', { name: 'Wiederholung' })
  const open = async () => {
    await cell.click()
    await german.keyboard.press('Enter')
    await fields.locator('select:focus').first().waitFor()
  }
  await open()
  await repeat.selectOption('Jeden Monat')
  await german.keyboard.press('Escape')
  await fields.waitFor({ state: 'detached' })
  expect(await stored()).toMatchObject([{ recurrence: values.recurrence }])
  await open()
  expect(await violationsInFront(german)).toEqual([])
  await german.keyboard.press('Tab')
  await german.keyboard.press('Tab')
  // Tuesday is after Monday, which is chosen.
  await german.keyboard.press('Tab')
  await german.keyboard.press('Space')
  await fields.getByText('Jede Woche am Montag und Dienstag', { exact: true }).waitFor()
  await german.keyboard.press('Enter')
  await fields.waitFor({ state: 'detached' })
  await cell.getByText('Jede Woche am Montag und Dienstag', { exact: true }).waitFor()
  await expect.poll(stored).toMatchObject([{ recurrence: 'FREQ=WEEKLY;BYDAY=MO,TU' }])

  // Invalid text is shown instead of being saved as 1; a click outside cancels.
  await open()
  const interval = fields.getByLabel('Alle so viele Wochen')
  await interval.fill('1000')
  await german.keyboard.press('Enter')
  await fields.locator('input[aria-invalid=true]:focus').waitFor()
  await interval.fill('1,5')
  await german.getByRole('heading', { level: 1 }).click({ force: true })
  await fields.waitFor({ state: 'detached' })
  expect(await stored()).toMatchObject([{ recurrence: 'FREQ=WEEKLY;BYDAY=MO,TU' }])
  await open()
  await interval.fill('2')
  await german.keyboard.press('Enter')
  await expect.poll(stored).toMatchObject([{ recurrence: 'FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TU' }])
})

browserTest('on a phone in German, a task repeats on the last Monday of each month', async () => {
  const phone = await openPage({ organization: 'small', path: `/contacts/${contact.id}`, locale: 'de-DE' })
  await resize(phone, 390)
  await phone.getByRole('button', { name: 'Neue Aufgabe' }).first().click()
  const form = phone.getByRole('dialog')
  await form.getByRole('textbox', { name: 'Titel' }).fill('Bericht')
  await form.getByLabel('Fällig am').fill('2030-01-28')
  await form.getByRole('combobox', { name: 'Erinnerung', exact: true }).selectOption('Am Tag davor, 09:00')
  await form.getByRole('combobox', { name: 'Wiederholung' }).selectOption('Jeden Monat')
  await form.getByRole('combobox', { name: 'An diesem Tag' }).selectOption('Am letzten Montag')
  await form.getByText('Jeden Monat am letzten Montag', { exact: true }).waitFor()
  expect(await phone.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')).toBe(
    false,
  )
  expect(await violationsInFront(phone)).toEqual([])
  await form.getByRole('button', { name: 'Aufgabe hinzufügen' }).click()
  await form.waitFor({ state: 'detached' })
  expect(await stored()).toMatchObject([{ recurrence: 'FREQ=MONTHLY;BYDAY=-1MO', remindBefore: 2340 }])
})
