import type { Page, Route } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import { addRows } from '../../server/test/import-rows.ts'
import { browserTest, useApplication } from './application.ts'
import { copiedBy, escape } from './gestures.ts'
import { push as send } from './pushes.ts'

const { openPage, callAs, expectErrors, service } = useApplication()

let page: Page
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/forgot-password' })
})

/** Creates an import, opens its page, and returns its URL. */
async function createImport(name: string): Promise<string> {
  const { body, status, text } = await (await callAs())('POST', '/v5/imports', { body: { name } })
  expect(status, text).toBe(201)
  await page.goto(`/imports/${body.id}`)
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
  return body.triggerUrl
}

const push = async (url: string, lead: unknown): Promise<void> => expect(await send(url, lead)).toBe(200)

const rowsWith = (status: string) => page.locator(`tr[data-status=${status}]`)

/** Two contacts, and a row that matches both of them. */
async function pushConflict(url: string, name: string): Promise<void> {
  await push(url, { contact: { email: `${name}@one.example`, externalIdBilling: `${name}-1` } })
  await push(url, { contact: { email: `${name}@two.example`, externalIdBilling: `${name}-2` } })
  await rowsWith('PROCESSED').nth(1).waitFor()
  await push(url, { contact: { email: `${name}@one.example`, externalIdBilling: `${name}-2` } })
  await rowsWith('CONFLICT').first().waitFor()
}

browserTest(
  'a new import shows its URL once, and the command next to it pushes a row that appears at once',
  async () => {
    await page.goto('/imports')
    await page.getByRole('button', { name: 'New import' }).first().click()
    await page.getByLabel('Name').fill('Website form')
    await page.keyboard.press('Enter')
    const shown = page.getByRole('group', { name: 'Trigger URL' }).locator('code')
    const url = (await shown.textContent()) ?? ''
    expect(await copiedBy(page.getByRole('button', { name: 'Copy: Trigger URL' }))).toBe(url)
    const command = await copiedBy(page.getByRole('button', { name: 'Copy: Try it in a terminal' }))
    const [, target = '', data = ''] = /^curl '([^']+)'[^]*--data '([^']+)'$/.exec(command) ?? []
    expect(target).toBe(url)
    await push(target, JSON.parse(data))
    await page.locator('tr[data-status]').waitFor()
    await page.reload()
    await page.locator('tr[data-status]').waitFor()
    expect(await page.getByText(url.slice(-20)).count()).toBe(0)
  },
)

browserTest('a failed row shows its reason, and its corrected payload updates the existing contact', async () => {
  const url = await createImport('Corrected')
  await pushConflict(url, 'corrected')
  await rowsWith('CONFLICT').getByRole('link').first().click()
  const panel = page.getByRole('region', { name: 'Row' })
  await panel.getByText('Several contacts match').waitFor()
  await panel.getByRole('button', { name: 'Edit and retry' }).click()
  await panel.getByRole('button', { name: 'Edit as JSON' }).click()
  const payload = panel.getByLabel('Corrected payload')
  await payload.fill('{"contact": ')
  await panel.getByRole('button', { name: 'Save and retry' }).click()
  await panel.getByText('This is not valid JSON.').waitFor()
  expectErrors(page, /status of 422/)
  await payload.fill('{"contact": {"email": "nobody"}}')
  await panel.getByRole('button', { name: 'Save and retry' }).click()
  await panel.getByText('payload.contact.email: Expected an email address').waitFor()
  await payload.fill('{"contact": {"email": "corrected@one.example", "name": "Ada Corrected"}}')
  await panel.getByRole('button', { name: 'Save and retry' }).click()
  await panel.getByRole('link', { name: 'Contact changed' }).waitFor()
  await expect.poll(() => rowsWith('CONFLICT').count()).toBe(0)
  await page.getByRole('button', { name: 'Processed 3' }).waitFor()
})

browserTest('arriving rows move neither the focus nor the visible rows', async () => {
  const url = await createImport('Busy')
  for (let number = 0; number < 40; number++) await push(url, { contact: { email: `busy-${number}@example.com` } })
  await rowsWith('PROCESSED').nth(39).waitFor()
  const link = page.locator('tr[data-status] a[id]').nth(30)
  const id = (await link.getAttribute('id')) ?? ''
  await link.focus()
  const place = () => page.evaluate<number>(`document.getElementById('${id}').getBoundingClientRect().y`)
  const before = await place()
  await push(url, { contact: { email: 'busy-late@example.com' } })
  await page.getByText('busy-late@example.com').waitFor()
  expect(await place()).toBe(before)
  expect(await page.evaluate<string>('document.activeElement.id')).toBe(id)
})

browserTest('the open row is in the URL; Escape closes it and returns the focus', async () => {
  const url = await createImport('Addressed')
  await push(url, { contact: { email: 'addressed@example.com', website: 'nonsense' } })
  const link = rowsWith('PROCESSED').getByRole('link').first()
  await link.press('Enter')
  await page.getByText('contact.website').waitFor()
  const id = await link.getAttribute('id')
  expect(new URL(page.url()).searchParams.get('row')).toBe(id)
  await page.reload()
  await page.getByText('contact.website').waitFor()
  await page.keyboard.press('Escape')
  await page.getByText('contact.website').waitFor({ state: 'hidden' })
  await expect.poll(() => page.evaluate<string>('document.activeElement.id')).toBe(id)
})

browserTest('a retry of many rows shows their number first', async () => {
  const url = await createImport('Retried')
  await pushConflict(url, 'retried')
  await page.getByRole('button', { name: 'Retry all failed…' }).waitFor()
  await page.getByRole('button', { name: 'Conflict 1' }).click()
  await expect.poll(() => page.locator('tr[data-status]').count()).toBe(1)
  expect(new URL(page.url()).searchParams.get('filter.status.equals')).toBe('CONFLICT')
  await page.getByRole('button', { name: 'Retry these rows…' }).click()
  await page.getByText('One row will be queued again.').waitFor()
  await page.getByRole('button', { name: 'Retry 1 row' }).click()
  await page.getByText('1 row is queued again').waitFor()
})

browserTest('waiting rows are cancelled, one from its panel, and the others after showing their number', async () => {
  await createImport('Cancelled')
  const importId = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString()
  await addRows(service(), importId, Array(3).fill({ status: 'RETRYING', createdAt: inAnHour }))
  await rowsWith('RETRYING').nth(2).waitFor()
  await rowsWith('RETRYING').first().getByRole('link').first().click()
  await page.getByRole('button', { name: 'Cancel the row' }).click()
  await page.getByText('The row was cancelled').waitFor()
  await expect.poll(() => rowsWith('RETRYING').count()).toBe(2)
  await page.getByRole('button', { name: 'Cancel all waiting…' }).click()
  await page.getByRole('button', { name: 'Cancel 2 rows' }).click()
  await page.getByText('2 rows were cancelled').waitFor()
  await expect.poll(() => rowsWith('CANCELLED').count()).toBe(3)
})

browserTest('a new import whose response was lost is created once', async () => {
  await page.goto('/imports?new=1')
  expectErrors(page, /ERR_FAILED/)
  let isLost = false
  const lose = async (route: Route) => {
    await route.fetch()
    await route.abort()
    isLost = true
  }
  await page.route('**/v5/imports', lose, { times: 1 })
  await page.getByLabel('Name').fill('Created once')
  await page.keyboard.press('Enter')
  await expect.poll(() => isLost).toBe(true)
  // The page retries it with the same key.
  await page.getByRole('group', { name: 'Trigger URL' }).waitFor()
  await page.goto('/imports')
  await page.getByRole('link', { name: 'Created once' }).first().waitFor()
  expect(await page.getByRole('link', { name: 'Created once', exact: true }).count()).toBe(1)
})

browserTest('an import is disabled and enabled, gets another URL, and is restored after its deletion', async () => {
  const url = await createImport('Managed')
  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('button', { name: 'Enable' }).click()
  await page.getByRole('button', { name: 'Disable' }).waitFor()
  const choose = async (name: string) => {
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name }).click()
  }
  await choose('Rotate the URL…')
  await page.getByRole('button', { name: 'Create a new URL' }).click()
  await page.getByText('The previous URL works until').waitFor()
  const rotated = await page.getByRole('group', { name: 'Trigger URL' }).locator('code').textContent()
  expect(rotated).not.toBe(url)
  for (const valid of [url, rotated ?? '']) await push(valid, { contact: { email: 'managed@example.com' } })
  await choose('Delete')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('Managed was deleted').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('link', { name: 'Managed' }).waitFor()
})

browserTest('what a bad sender pushed is removed from a disabled import, after showing its amount', async () => {
  const url = await createImport('Unwanted')
  for (const name of ['one', 'two', 'three'])
    await push(url, { contact: { email: `${name}@unwanted.example` }, company: { name: 'Unwanted Ltd' } })
  await expect.poll(() => rowsWith('PROCESSED').count()).toBe(3)
  const open = async () => {
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Remove what it received…' }).click()
  }
  await open()
  const dialog = page.getByRole('dialog', { name: 'Remove what Unwanted received?' })
  await dialog.getByText('Disable the import first').waitFor()
  await escape(dialog)
  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('button', { name: 'Enable' }).waitFor()
  await open()
  await dialog.getByText('3 contacts, 1 company, no note and 3 rows will be removed.').waitFor()
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await page.getByText('What Unwanted received was removed').waitFor()
  await expect.poll(() => page.locator('tr[data-status]').count()).toBe(0)
  await page.goto('/contacts?query=unwanted.example')
  await page.getByText('Nothing matches').first().waitFor()
})

browserTest('read-only access to imports offers no changes', async () => {
  const url = await createImport('Read only')
  await push(url, { contact: { email: 'read-only@example.com', name: 'Read Only' } })
  const viewer = await openPage({ as: 'viewer', path: new URL(page.url()).pathname })
  await viewer.getByRole('link', { name: 'Read Only' }).waitFor()
  for (const name of ['Disable', 'More actions', 'Retry all failed…'])
    expect(await viewer.getByRole('button', { name }).count()).toBe(0)
})
