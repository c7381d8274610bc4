import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { browserTest, useApplication } from './application.ts'

const { openPage, callAs } = useApplication()

browserTest('a part of a bar leads to the contacts of its day and source', async () => {
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

browserTest('a chart is one tab stop, and the arrow keys go from one value to the next', async () => {
  const page = await openPage({ organization: 'small', now: '2026-11-21T12:00:00Z', path: '/?days=90' })
  const chart = page.getByRole('group', { name: 'New contacts' })
  const stops = chart.locator('a[tabindex="0"]')
  await expect.poll(() => stops.count()).toBe(1)
  await stops.focus()
  const name = () => page.evaluate<string>(`document.activeElement.getAttribute('aria-label')`)
  const first = await name()
  await page.keyboard.press('ArrowRight')
  expect(await name()).not.toBe(first)
  await page.keyboard.press('ArrowLeft')
  expect(await name()).toBe(first)
})

browserTest('each chart has a table with the same numbers', async () => {
  const page = await openPage({ organization: 'small', now: '2026-11-21T12:00:00Z', path: '/?days=90' })
  const panel = page.getByRole('region', { name: 'New contacts', exact: true })
  const total = Number((await panel.locator('p').first().textContent())?.replaceAll(',', ''))
  await panel.getByRole('button', { name: 'Table view' }).click()
  const cells = await panel.locator('tbody td:last-child').allTextContents()
  expect(cells).toHaveLength(90)
  expect(cells.reduce((sum, cell) => sum + Number(cell), 0)).toBe(total)
})

browserTest('a country of the map leads to its contacts', async () => {
  const page = await openPage({ organization: 'small' })
  const country = page.getByRole('group', { name: 'Contacts by country' }).getByRole('link').first()
  const [, name, count] = /^(.+): ([\d,]+)$/.exec((await country.getAttribute('aria-label')) ?? '') ?? []
  await country.focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/contacts\?filter\.countryCode\.equals=[A-Z]{2}$/)
  await page.getByText(new RegExp(`^${count} records?$`)).waitFor()
  expect(name).not.toMatch(/^[A-Z]{2}$/)
})

/** Moves the session of a page to a new organization; the page's next load shows it. */
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
  await page.getByText('No contacts yet').waitFor()
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

browserTest('who may only read is offered no first steps', async () => {
  const page = await openPage({ as: 'viewer' })
  await page.getByRole('group', { name: 'New contacts' }).or(page.getByText('No new contacts')).waitFor()
  expect(await page.getByText('First steps').count()).toBe(0)
})
