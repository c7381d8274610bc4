import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

/** Presses keys without pauses: after a second, a select starts a new search, and a sequence such as `g c` expires. */
export const typeAtOnce = async (page: Page, keys: string): Promise<void> => {
  await Promise.all([...keys].map((key) => page.keyboard.press(key)))
}

/** Waits until the element has the focus, which arrives shortly after the element. */
export const inFocus = (element: Locator): Promise<void> => element.and(element.page().locator(':focus')).waitFor()

/** Returns what a click copies, even if that takes a moment. */
export async function copiedBy(button: Locator): Promise<string> {
  const page = button.page()
  const copied = () => page.evaluate<string>('navigator.clipboard.readText()')
  await page.evaluate(`navigator.clipboard.writeText('')`)
  await button.click()
  await expect.poll(copied).not.toBe('')
  return copied()
}

/** Waits for a toast and hovers over it, so that it and later ones stay open instead of closing after some seconds. */
export const keepMessage = (page: Page, text: string): Promise<void> =>
  page.getByRole('region', { name: 'Notifications' }).getByText(text).first().hover()
