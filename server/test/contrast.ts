import type { Page } from 'playwright-core'

/** A text whose contrast is too low. */
export interface LowContrast {
  text: string
  color: string
  background: string
  ratio: number
}

/**
 * Visible text whose contrast with its background is below 4.5:1, or 3:1 when it is large (WCAG 2.2, 1.4.3). Inactive
 * controls are exempt, as the criterion says.
 */
export const lowContrast = (page: Page): Promise<LowContrast[]> => page.evaluate<LowContrast[]>(inPage)

// A string, because the tests are compiled without DOM types.
const inPage = `(() => {
  const parsed = (text) => {
    const [red = 0, green = 0, blue = 0, alpha = 1] = (text.match(/[\\d.]+/g) ?? []).map(Number)
    return [red, green, blue, alpha]
  }
  const over = (top, bottom) => [...[0, 1, 2].map((index) => top[index] * top[3] + bottom[index] * (1 - top[3])), 1]
  const luminance = (color) => {
    const [red, green, blue] = color.map((value) => (value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches
  const backgroundOf = (element) => {
    if (!element) return isDark ? [18, 18, 18, 1] : [255, 255, 255, 1]
    const own = parsed(getComputedStyle(element).backgroundColor)
    return own[3] === 1 ? own : over(own, backgroundOf(element.parentElement))
  }
  const found = new Map()
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim()
    const element = walker.currentNode.parentElement
    if (text === '' || !element || element.closest('[disabled], script, style, noscript, option')) continue
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue
    const { color: shown, fontSize, fontWeight } = getComputedStyle(element)
    const background = backgroundOf(element)
    const [darker, lighter] = [over(parsed(shown), background), background].map(luminance).sort((left, right) => left - right)
    const ratio = (lighter + 0.05) / (darker + 0.05)
    const size = parseFloat(fontSize)
    const isLarge = size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700)
    if (ratio >= (isLarge ? 3 : 4.5)) continue
    const behind = background.slice(0, 3).map(Math.round).join()
    const what = element.tagName + '.' + element.className
    found.set([what, shown, behind].join(' '), {
      text: what + ': ' + text.slice(0, 40),
      color: shown,
      background: behind,
      ratio: Math.round(ratio * 100) / 100,
    })
  }
  return [...found.values()]
})()`
