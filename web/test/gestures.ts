import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

/** Presses keys without pauses: after a second, a select starts a new search, and a sequence such as `g c` expires. */
export const typeAtOnce = async (page: Page, keys: string): Promise<void> => {
  await Promise.all([...keys].map((key) => page.keyboard.press(key)))
}

export interface Box {
  x: number
  y: number
  width: number
  height: number
}

/** Where an element is as soon as it stays there: what is loaded later, and a resize, move it within some frames. */
export async function steadyBox(element: Locator): Promise<Box> {
  const look = () =>
    element.evaluate(
      (one) =>
        new Promise<Box[]>((done) => {
          const frame = (then: () => void) => one.ownerDocument.defaultView.requestAnimationFrame(then)
          const boxes: Box[] = []
          const note = () => {
            const { x, y, width, height } = one.getBoundingClientRect()
            boxes.push({ x, y, width, height })
            if (boxes.length < 4) frame(note)
            else done(boxes)
          }
          note()
        }),
    )
  let boxes = await look()
  await expect
    .poll(async () => {
      boxes = await look()
      return new Set(boxes.map((box) => JSON.stringify(box))).size
    })
    .toBe(1)
  const [box] = boxes
  if (!box) throw new Error('The element has no place.')
  return box
}

/** Waits until the element has the focus, which arrives shortly after the element. */
export const inFocus = (element: Locator): Promise<void> => element.and(element.page().locator(':focus')).waitFor()

/** Waits until the focus is in the element: a dialog hears keys from then on, which is shortly after it is visible. */
export const focusIn = (box: Locator): Promise<void> => {
  const focused = box.page().locator(':focus')
  return box.and(focused).or(box.locator(focused)).first().waitFor()
}

/** Closes a dialog with the keyboard. */
export async function escape(dialog: Locator): Promise<void> {
  await focusIn(dialog)
  await dialog.page().keyboard.press('Escape')
}

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
