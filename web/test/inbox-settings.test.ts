import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { browserTest, useApplication } from './application.ts'
import { expectAccessible } from './visit.ts'

const { openPage, callAs, expectErrors } = useApplication({ isAlone: true })

const organization = 'small' as const
const check = (page: Page, name: string) => page.getByRole('checkbox', { name, exact: true })

browserTest('ways are chosen by kind with the keyboard, stored at once, and shown in both languages', async () => {
  const call = await callAs('owner', organization)
  const ways = async () => (await call('GET', '/v5/inbox/settings')).body.ways
  const page = await openPage({ organization, path: '/inbox' })
  await page.getByRole('link', { name: 'Notifications' }).click()
  await page.getByRole('heading', { level: 1, name: 'Notifications' }).waitFor()
  await expect.poll(() => check(page, 'A task reminds you, Mail, at once').isChecked()).toBe(true)
  await check(page, 'A note mentions you, Mail, daily').press('Space')
  await check(page, 'A note mentions you, Push').press('Space')
  await check(page, 'Your task is overdue, Mail, at once').press('Space')
  await check(page, 'Your task is overdue, Inbox').press('Space')
  await expect.poll(async () => (await ways()).taskDue).toEqual(['mail'])
  await expect.poll(async () => (await ways()).mentioned.toSorted()).toEqual(['digest', 'inbox', 'push'])
  await page.reload()
  await check(page, 'A note mentions you, Mail, daily').waitFor()
  await expect.poll(() => check(page, 'A note mentions you, Mail, daily').isChecked()).toBe(true)
  expect(await check(page, 'Your task is overdue, Inbox').isChecked()).toBe(false)
  await expectAccessible(page)
  const german = await openPage({ organization, path: '/inbox/settings', locale: 'de-DE', theme: 'dark', width: 390 })
  await expect.poll(() => check(german, 'Eine Notiz erwähnt Sie, Mail, täglich').isChecked()).toBe(true)
  await expect.poll(() => german.evaluate('document.documentElement.scrollWidth')).toBe(390)
  await expectAccessible(german)
})

browserTest('the daily mail has a time and days in a time zone that the page names; what was typed stays', async () => {
  const call = await callAs('member', organization)
  const digest = async () => {
    const { digestAt, digestDays } = (await call('GET', '/v5/inbox/settings')).body
    return { digestAt, digestDays }
  }
  const page = await openPage({ as: 'member', organization, path: '/inbox/settings' })
  await page.getByText('It is not sent: choose “daily” above').waitFor()
  await page.getByText('In the time zone of the organization').waitFor()
  await check(page, 'A note mentions you, Mail, daily').click()
  await page.getByText('One mail with everything since the last one').waitFor()
  await page.getByLabel('Time', { exact: true }).fill('17:30')
  await check(page, 'Monday').click()
  await check(page, 'Saturday').click()
  await page.reload()
  await page.getByText('In the time zone of the organization').waitFor()
  await expect.poll(() => page.getByLabel('Time', { exact: true }).inputValue()).toBe('17:30')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('region', { name: 'Notifications' }).getByText('The daily mail is saved').waitFor()
  expect(await digest()).toEqual({
    digestAt: '17:30',
    digestDays: ['tuesday', 'wednesday', 'thursday', 'friday', 'saturday'],
  })
  expect((await call('PATCH', '/v5/me', { body: { timeZone: 'America/New_York' } })).status).toBe(200)
  await page.reload()
  await page.getByText('In your time zone, America/New York.').waitFor()
})

browserTest('a choice that the service refuses is undone on the page', async () => {
  const page = await openPage({ as: 'viewer', organization, path: '/inbox/settings' })
  await check(page, 'A note mentions you, Inbox').waitFor()
  const refusal = { code: 'invalid_request', message: 'Invalid', description: 'Not today.', status: 422 }
  await page.route(/\/v5\/inbox\/settings$/, (route) =>
    route.request().method() === 'PATCH' ? route.fulfill({ status: 422, json: refusal }) : route.continue(),
  )
  expectErrors(page, /status of 422/)
  await check(page, 'A note mentions you, Inbox').click()
  await page.getByText('Not today.').waitFor()
  await expect.poll(() => check(page, 'A note mentions you, Inbox').isChecked()).toBe(true)
  await page.unrouteAll()
})
