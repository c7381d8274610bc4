import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import axe, { type AxeResults, type RunOnly } from 'axe-core'
import type { Page } from 'playwright-core'
import type { Application } from './application.ts'
import { type Screen, useTheme } from './screens.ts'

const standards = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** Rules whose result depends on the theme. Experimental rules only run if they are listed here. */
const colorRules = axe
  .getRules(standards)
  .filter(({ tags }) => tags.includes('cat.color') && !tags.includes('experimental'))
  .map(({ ruleId }) => ruleId)

/** A browser compiles it in half the time of `axe.source`. Its value would be sent back, so there is none. */
const source = `${readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')};undefined`

/** What axe finds on the page in its theme, by all rules of the standards. */
export const violations = (page: Page): Promise<string[]> => run(page, { type: 'tag', values: standards })

/** The same in the open dialog, without what it covers, or on a page without one. */
export const violationsInFront = (page: Page): Promise<string[]> =>
  run(page, { type: 'tag', values: standards }, `document.querySelector('[role=dialog]') ?? document`)

/** The same in both themes; in the dark one, only by the rules about colours. */
export async function violationsInBothThemes(page: Page): Promise<string[]> {
  await useTheme(page, 'light')
  const light = await violations(page)
  await useTheme(page, 'dark')
  const dark = await run(page, { type: 'rule', values: colorRules })
  return [...light, ...dark.map((violation) => `in the dark theme: ${violation}`)]
}

/** The debugger evaluates the source, so the page keeps its Content-Security-Policy. */
async function run(page: Page, runOnly: RunOnly, place = 'document'): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(source)
  // axe only refetches style sheets for rules about rotated and self-playing content, which the application lacks.
  const options = JSON.stringify({ runOnly, resultTypes: ['violations'], preload: false })
  const results = await page.evaluate<AxeResults>(`axe.run(${place}, ${options})`)
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} at ${target.join(' ')}: ${failureSummary}`),
  )
}

/** One page per person and width. The height is low, because axe takes time for everything in view. */
export function pagesOf({ openPage, expectErrors }: Application) {
  const pages = new Map<string, Promise<Page>>()
  return async ({ as = 'owner', organization = 'small' }: Pick<Screen, 'as' | 'organization'>, width = 1440) => {
    const key = `${as} ${organization} ${width}`
    const page =
      pages.get(key) ?? openPage({ stays: true, as, organization, width, height: 600, path: '/forgot-password' })
    pages.set(key, page)
    expectErrors(await page, /status of [45]\d\d|Try again later/)
    return page
  }
}

/** The layout shift since the page started to load (https://web.dev/articles/cls). */
export const layoutShift = (page: Page): Promise<number> =>
  page.evaluate<number>(`new Promise((done) => {
    let shift = 0
    new PerformanceObserver((list) => {
      for (const { hadRecentInput, value } of list.getEntries()) if (!hadRecentInput) shift += value
    }).observe({ type: 'layout-shift', buffered: true })
    requestAnimationFrame(() => requestAnimationFrame(() => done(shift)))
  })`)
