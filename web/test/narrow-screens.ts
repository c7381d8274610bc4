import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { type Records, type Screen, screens } from './screens.ts'
import { resize, squeezed } from './squeezed.ts'
import { openQuietly } from './visit.ts'

export const widths = [320, 480, 640, 701, 768, 860, 933, 1024, 1280, 1600, 2560]

const names = [
  'home',
  'inbox',
  'inbox-settings',
  'suggestions',
  'contacts',
  'contact',
  'company',
  'deal',
  'deals-board',
  'import',
  'imports',
  'members',
  'pipeline',
  'properties',
  'audit-log',
  'webhooks',
  'webhook-form',
  'webhook-edit',
  'webhook',
  'webhook-delivery',
  'profile',
]
/** Screens of all kinds of content, which must fit windows of any width. */
export const narrowScreens = screens.filter(({ name }) => names.includes(name))

/** Loads the screen, and returns what is squeezed or too wide at these widths. */
export async function squeezedAt(
  page: Page,
  { path, route }: Screen,
  records: Records,
  at: readonly number[],
): Promise<string[]> {
  await openQuietly(page, path?.(records) ?? route)
  const found: string[] = []
  for (const width of at) {
    await resize(page, width)
    let faults: string[] = []
    const look = async () => (faults = await squeezed(page))
    // The page measures itself after a resize.
    await expect
      .poll(look)
      .toEqual([])
      .catch(() => found.push(...faults.map((fault) => `at ${width}: ${fault}`)))
  }
  return found
}
