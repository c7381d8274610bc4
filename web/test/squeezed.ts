import type { Page } from 'playwright-core'

/**
 * Finds overflow on a page: horizontal scrolling of the document, and texts that are broken into lines of a few
 * letters.
 */
export const squeezed = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`(() => {
    const found = []
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth > clientWidth) found.push('The page is ' + scrollWidth + ' pixels wide.')
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode
      const length = data.trim().length
      if (length < 10 || !parentElement.checkVisibility() || parentElement.closest('.visually-hidden, script, style')) continue
      const range = document.createRange()
      range.selectNodeContents(texts.currentNode)
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size
      if (lines >= 4 && length / lines < 7) found.push(lines + ' lines of “' + data.trim().slice(0, 60) + '”')
    }
    return found
  })()`)

/** Resizes the window, and waits until the page is rendered at the new width. */
export async function resize(page: Page, width: number, height = 800): Promise<void> {
  const size = page.viewportSize()
  if (size?.width === width && size.height === height) return
  await page.setViewportSize({ width, height })
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
}
