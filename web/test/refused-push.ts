import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Call } from '../../server/test/service.ts'
import { push } from './pushes.ts'

/** Creates an import with refused pushes, and opens the form that corrects one of them. */
export async function openRefusedPush(page: Page, call: Call): Promise<void> {
  const { body: created } = await call('POST', '/v5/imports', { body: { name: 'Refusing' } })
  const job = { organization: 'Engines', current: true, start: 'long ago' }
  const lead = {
    contact: { email: 'ada at example', name: 'Ada' },
    employment: { history: [job] },
    company: { employeesCount: 'many' },
    other: { colour: 1 },
  }
  for (let sent = 0; sent < 5; sent++) expect(await push(created.triggerUrl, lead)).toBe(400)
  await page.goto(`/imports/${created.id}?show=refused`)
  await page.getByText('The last 5 pushes').waitFor()
  await page.locator('tr[data-status=refused]').first().getByRole('link').click()
  await page.getByRole('button', { name: 'Correct and accept' }).click()
  await page.locator('[aria-invalid=true]').first().waitFor()
}
