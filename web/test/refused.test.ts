import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { browserTest, useApplication } from './application.ts'
import { push as send } from './pushes.ts'

const { openPage, expectErrors } = useApplication()

/** Creates an import, opens its page, and returns its URL. */
async function createImport(name: string): Promise<{ page: Page; url: string }> {
  const page = await openPage({ path: '/imports' })
  await page.getByRole('button', { name: 'New import' }).first().click()
  await page.getByLabel('Name').fill(name)
  await page.keyboard.press('Enter')
  const shown = page.getByRole('group', { name: 'Trigger URL' }).locator('code')
  return { page, url: (await shown.textContent()) ?? '' }
}

const push = async (url: string, lead: unknown, status: number): Promise<void> =>
  expect(await send(url, lead)).toBe(status)

const focused = (page: Page) => page.evaluate<string>('document.activeElement.name')

browserTest(
  'a refused push is shown with its reason, and accepted with the keyboard in a form that marks the field',
  async () => {
    const { page, url } = await createImport('Refusing form')
    for (let number = 1; number <= 5; number++)
      await push(url, { contact: { email: 'ada at example.com', name: 'Ada Lovelace' } }, 400)
    await page.getByText('The last 5 pushes from').waitFor()
    await page.getByRole('link', { name: 'Show the refused pushes' }).press('Enter')
    await expect.poll(() => page.locator('tr[data-status=refused]').count()).toBe(5)
    await page.locator('tr[data-status=refused]').first().getByRole('link').press('Enter')
    const panel = page.getByRole('region', { name: 'Refused push' })
    await panel.getByText('contact.email', { exact: true }).waitFor()
    await panel.getByRole('button', { name: 'Correct and accept' }).press('Enter')
    const email = panel.getByLabel('Email')
    await expect.poll(() => focused(page)).toBe('payload.contact.email')
    expect(await email.inputValue()).toBe('ada at example.com')
    expect(await email.getAttribute('aria-invalid')).toBe('true')
    await panel.getByText('Enter an email address, such as ada@example.com.').waitFor()
    expect(await panel.getByLabel('Name', { exact: true }).inputValue()).toBe('Ada Lovelace')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('still wrong')
    await panel.getByText('Sent: ada at example.com').waitFor()
    expectErrors(page, /status of 422/)
    // The field is already marked: until the answer, the form does not take the next text.
    const isRefused = page.waitForResponse((response) => response.status() === 422)
    await page.keyboard.press('Enter')
    await isRefused
    await panel.getByRole('button', { name: 'Accept', exact: true, disabled: false }).waitFor()
    await expect.poll(() => email.getAttribute('aria-invalid')).toBe('true')
    await expect.poll(() => focused(page)).toBe('payload.contact.email')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('ada.refused@example.com')
    await page.keyboard.press('Enter')
    await page.getByText('The push was accepted as a row').waitFor()
    await panel.getByRole('link', { name: 'Show the row' }).click()
    await page.getByRole('region', { name: 'Row' }).getByRole('link', { name: 'Contact created' }).waitFor()
  },
)

browserTest('a row with warnings is corrected in the form, and the input survives a reload', async () => {
  const { page, url } = await createImport('Warned')
  await push(url, { contact: { email: 'warned@example.com', website: 'nonsense', webpage: 'x' } }, 200)
  await page.locator('tr[data-status=PROCESSED]').getByRole('link').first().click()
  const panel = page.getByRole('region', { name: 'Row' })
  await panel.getByRole('button', { name: 'Edit and retry' }).click()
  await expect.poll(() => focused(page)).toBe('payload.contact.website')
  await panel.getByText('Enter a web address that begins with https://.').waitFor()
  await panel.getByText('This field is not used.').waitFor()
  await panel.getByLabel('Website').fill('https://warned.example.com')
  await page.reload()
  expect(await panel.getByLabel('Website').inputValue()).toBe('https://warned.example.com')
  await panel.getByRole('button', { name: 'Edit as JSON' }).click()
  expect(await panel.getByLabel('Corrected payload').inputValue()).toContain('https://warned.example.com')
  await panel.getByRole('button', { name: 'Edit in the form' }).click()
  await panel.getByLabel('webpage').fill('')
  await panel.getByRole('button', { name: 'Save and retry' }).click()
  await panel.getByText('Everything was stored.').waitFor()
  await panel.getByRole('link', { name: 'Contact changed' }).waitFor()
})

browserTest('a body that is not a payload becomes one, and rows and refused pushes are found by address', async () => {
  const { page, url } = await createImport('Searched')
  await push(url, { contact: { email: 'first@example.com' } }, 200)
  await push(url, { contact: { email: 'second@example.com' } }, 200)
  await push(url, { email: 'flat@example.com', name: 'Flat Sender' }, 400)
  await page.locator('tr[data-status=PROCESSED]').nth(1).waitFor()
  const search = page.getByRole('searchbox', { name: 'Search by address' })
  await search.fill('second@example.com')
  await expect.poll(() => page.locator('tr[data-status]').count()).toBe(1)
  await search.fill('')
  await expect.poll(() => new URL(page.url()).searchParams.has('query')).toBe(false)
  await page.getByRole('button', { name: 'Refused 1' }).click()
  await search.fill('FLAT@')
  await expect.poll(() => new URL(page.url()).searchParams.get('query')).toBe('FLAT@')
  await page.locator('tr[data-status=refused]').getByRole('link').click()
  const panel = page.getByRole('region', { name: 'Refused push' })
  await panel.getByRole('button', { name: 'Correct and accept' }).click()
  expect(await panel.getByLabel('Email').inputValue()).toBe('flat@example.com')
  await panel.getByRole('button', { name: 'Accept' }).click()
  await page.getByText('The push was accepted as a row').waitFor()
  await page.locator('tr[data-status=accepted]').waitFor()
})
