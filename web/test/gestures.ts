import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

/** Presses keys without a pause: after a second, a select begins to search anew, and a sequence such as `g c` has ended. */
export const typeAtOnce = async (page: Page, keys: string): Promise<void> => {
  await Promise.all([...keys].map((key) => page.keyboard.press(key)))
}

/** Waits until the element has the focus, which it gets a moment after it appeared. */
export const inFocus = (element: Locator): Promise<void> => element.and(element.page().locator(':focus')).waitFor()

/** What a click copies, also if that takes a moment. */
export async function copiedBy(button: Locator): Promise<string> {
  const page = button.page()
  const copied = () => page.evaluate<string>('navigator.clipboard.readText()')
  await page.evaluate(`navigator.clipboard.writeText('')`)
  await button.click()
  await expect.poll(copied).not.toBe('')
  return copied()
}

/** Waits for a message and keeps the pointer on it: it stays, and so do later ones, which else close after some seconds. */
export const keepMessage = (page: Page, text: string): Promise<void> =>
  page.getByRole('region', { name: 'Notifications' }).getByText(text).first().hover()
