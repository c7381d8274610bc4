import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { browserTest, useApplication } from './application.ts'
import { push } from './pushes.ts'

const { openPage, callAs } = useApplication({
  isAlone: true,
  environment: { IMPORT_BYTES_PER_DAY: '5000', REASONING_CONCURRENCY: '1' },
})

/** Creates an import, opens its page, and returns its URL. */
async function createImport(name: string): Promise<{ page: Page; url: string }> {
  const page = await openPage({ path: '/imports?new=1', organization: 'small' })
  await page.getByLabel('Name').fill(name)
  await page.keyboard.press('Enter')
  const shown = page.getByRole('group', { name: 'Trigger URL' }).locator('code')
  return { page, url: (await shown.textContent()) ?? '' }
}

const pushContact = (url: string, contact: object): Promise<number> => push(url, { contact })

browserTest(
  'the page of an import shows what it has received today, and a warning before it reaches its limit',
  async () => {
    const { page, url } = await createImport('Flooded')
    expect(await pushContact(url, { email: 'small@example.com' })).toBe(200)
    await page.getByText('Received today: 43 bytes of 5 kB.').waitFor()
    expect(await page.getByText('until midnight (UTC)').count()).toBe(0)
    expect(await pushContact(url, { email: 'large@example.com', bio: 'x'.repeat(4000) })).toBe(200)
    const alarm = page.getByRole('status').filter({ hasText: 'Received today: 4.1 kB of 5 kB.' })
    await alarm.getByText('pushes are refused until midnight (UTC)').waitFor()
    expect(await pushContact(url, { email: 'larger@example.com', bio: 'x'.repeat(4000) })).toBe(429)
    await page.goto('/imports')
    await page.getByRole('link', { name: 'Near the limit' }).click()
    await page.getByRole('heading', { name: 'Flooded' }).waitFor()
    const german = await openPage({ path: new URL(page.url()).pathname, organization: 'small', locale: 'de-DE' })
    await german.getByText('Heute empfangen: 4,1 kB von 5 kB.').waitFor()
  },
)

browserTest('many opt-outs of an import raise an alarm, which links to the waiting suggestions', async () => {
  const { page, url } = await createImport('Abused')
  for (let number = 1; number <= 11; number++)
    expect(await pushContact(url, { email: `victim-${number}@example.com`, note: 'Unsubscribe me.' })).toBe(200)
  const alarm = page.getByRole('status').filter({ hasText: '1 opt-out waits for you' })
  await alarm.getByRole('link', { name: 'Decide on them' }).click()
  const card = page.getByRole('group', { name: 'Send no more email to' }).first()
  await card.getByText('Its import opted out many contacts within an hour').waitFor()
  await card.getByRole('button', { name: 'Reject' }).click()
  await page.getByText('Suggestion rejected').waitFor()
  await page.goto('/imports')
  await page.getByRole('link', { name: 'Abused' }).click()
  await page.getByRole('heading', { name: 'Abused' }).waitFor()
  await expect.poll(() => page.getByRole('link', { name: 'Decide on them' }).count()).toBe(0)
})

browserTest('all waiting opt-outs of an import are decided at once, after a confirmation', async () => {
  const { page, url } = await createImport('Abused again')
  const push12 = async (first: number) => {
    for (let number = first; number < first + 12; number++)
      expect(await pushContact(url, { email: `again-${number}@example.com`, note: 'Unsubscribe me.' })).toBe(200)
  }
  await push12(1)
  await page.getByRole('status').filter({ hasText: '2 opt-outs wait for you' }).waitFor()
  await page.getByRole('button', { name: 'Reject all…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Reject all opt-outs' })
  await dialog.getByText('2 contacts go on receiving email.').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Reject all…' }).click()
  await dialog.getByRole('button', { name: 'Reject all opt-outs' }).click()
  await page.getByText('2 opt-outs rejected').first().waitFor()
  await expect.poll(() => page.getByRole('button', { name: 'Accept all…' }).count()).toBe(0)
})

browserTest('the notes of an import may opt out contacts, until its settings say otherwise', async () => {
  const { page, url } = await createImport('Careful')
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'Settings…' }).click()
  const box = page.getByRole('checkbox', { name: 'Notes may opt out contacts' })
  expect(await box.isChecked()).toBe(true)
  await box.uncheck()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved').waitFor()
  expect(await pushContact(url, { email: 'careful@example.com', note: 'Unsubscribe me.' })).toBe(200)
  const call = await callAs('owner', 'small')
  const contact = async () => (await call('GET', '/v5/contacts?email=careful@example.com')).body[0]
  await expect.poll(contact, { timeout: 15_000 }).toBeDefined()
  const { id } = await contact()
  const waiting = async () => (await call('GET', `/v5/suggestions?contactId=${id}`)).body.length
  await expect.poll(waiting, { timeout: 15_000 }).toBe(1)
  await page.goto('/suggestions')
  await page.getByText('Notes of this import may not do this by themselves').waitFor()
})
