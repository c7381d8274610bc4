import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import axe, { type AxeResults, type RunOnly } from 'axe-core'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { browserTest, useApplication } from './application.ts'
import { states } from './axe-states.ts'
import { push } from './pushes.ts'
import { resize, squeezed } from './squeezed.ts'
import { prepareRecords, type Records, type Screen, screens, show, useTheme } from './screens.ts'

const { service, openPage, callAs, expectFaults } = useApplication()

const standards = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** Rules whose result depends on the theme. Experimental rules only run if they are listed here. */
const colorRules = axe
  .getRules(standards)
  .filter(({ tags }) => tags.includes('cat.color') && !tags.includes('experimental'))
  .map(({ ruleId }) => ruleId)

let records: Records
beforeAll(async () => {
  records = await prepareRecords(service(), await callAs('owner', 'small'))
})

test('the screens include every route and every section of the settings', () => {
  const source = (path: string) => readFileSync(fileURLToPath(new URL(`../src/${path}`, import.meta.url)), 'utf8')
  const captures = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found)
  const routes = captures(source('router.tsx'), /\bpath: '([^']+)'/g).filter((path) => path !== '/settings/$section')
  const sections = captures(source('settings/sections.ts'), /\bname: '([^']+)'/g).map((name) => `/settings/${name}`)
  expect(routes.length).toBeGreaterThan(10)
  expect(sections.length).toBeGreaterThan(5)
  expect(new Set(screens.map(({ route }) => route))).toEqual(new Set([...routes, ...sections]))
})

for (const screen of screens) {
  browserTest(`${screen.name} is accessible in both themes, and nothing jumps while it loads`, async () => {
    const page = await pageFor(screen)
    await show(page, screen, records)
    expect(await layoutShift(page)).toBeLessThan(0.02)
    expect(await violations(page)).toEqual([])
  })
}

for (const width of [1440, 390]) {
  const onPhone = width === 390 ? ' on a phone' : ''
  const shown = states.filter(
    ({ name }) => width !== 390 || !['the choice of columns', 'the list of shortcuts', 'a tooltip'].includes(name),
  )
  for (const { name, path, enter } of shown) {
    browserTest(`${name} is accessible in both themes${onPhone}`, async () => {
      const page = await pageFor({}, width)
      await page.goto(typeof path === 'string' ? path : path(records))
      await (await enter(page)).waitFor()
      expect(await violations(page)).toEqual([])
      await page.unrouteAll()
    })
  }
}

const tabletScreens = [
  'home',
  'suggestions',
  'contacts',
  'contact',
  'deal',
  'deals-board',
  'import',
  'members',
  'audit-log',
]
for (const screen of screens.filter(({ name }) => tabletScreens.includes(name))) {
  browserTest(`${screen.name} is accessible in both themes at 1024 and 768 pixels, and fits`, async () => {
    const page = await pageFor(screen, 1024)
    await resize(page, 1024)
    await show(page, screen, records)
    for (const width of [1024, 768]) {
      await resize(page, width)
      expect(await violations(page), `at ${width}`).toEqual([])
      expect(await squeezed(page), `at ${width}`).toEqual([])
    }
  })
}

const phoneScreens = [
  'home',
  'contacts',
  'contact',
  'deals-board',
  'company',
  'deal',
  'tasks',
  'suggestions',
  'pipeline',
  'properties',
  'import',
  'imports',
  'settings',
  'members',
  'profile',
]
for (const screen of screens.filter(({ name }) => phoneScreens.includes(name))) {
  browserTest(`${screen.name} is accessible in both themes on a phone, and no wider than it`, async () => {
    const page = await pageFor(screen, 390)
    await show(page, { ...screen, ...(screen.name === 'settings' && { shows: (one) => one.locator('h1') }) }, records)
    expect(await layoutShift(page)).toBeLessThan(0.02)
    expect(await violations(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
  })
}

browserTest(
  'refused pushes and the form that corrects one are accessible in both themes, also on a phone',
  async () => {
    const call = await callAs('owner', 'small')
    const { body: created } = await call('POST', '/v5/imports', { body: { name: 'Refusing' } })
    const job = { organization: 'Engines', current: true, start: 'long ago' }
    const lead = {
      contact: { email: 'ada at example', name: 'Ada' },
      employment: { history: [job] },
      company: { employeesCount: 'many' },
      other: { colour: 1 },
    }
    for (let sent = 0; sent < 5; sent++) expect(await push(created.triggerUrl, lead)).toBe(400)
    for (const width of [1440, 1024, 768, 390]) {
      const page = await pageFor({}, width)
      await page.setViewportSize({ width, height: 600 })
      await page.goto(`/imports/${created.id}?show=refused`)
      await page.getByText('The last 5 pushes').waitFor()
      await page.locator('tr[data-status=refused]').first().getByRole('link').click()
      await page.getByRole('button', { name: 'Correct and accept' }).click()
      await page.locator('[aria-invalid=true]').first().waitFor()
      expect(await violations(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    }
  },
)

const pages = new Map<string, Promise<Page>>()

/** One page per person and width. The height is low, because axe takes time for everything in view. */
function pageFor({ as = 'owner', organization = 'small' }: Pick<Screen, 'as' | 'organization'>, width = 1440) {
  const key = `${as} ${organization} ${width}`
  const page = pages.get(key) ?? openPage({ as, organization, width, height: 600, path: '/forgot-password' })
  pages.set(key, page)
  return page.then((opened) => {
    expectFaults(opened, /status of [45]\d\d|Try again later/)
    return opened
  })
}

/** The layout shift since the page started to load (https://web.dev/articles/cls). */
const layoutShift = (page: Page): Promise<number> =>
  page.evaluate<number>(`new Promise((done) => {
    let shift = 0
    new PerformanceObserver((list) => {
      for (const { hadRecentInput, value } of list.getEntries()) if (!hadRecentInput) shift += value
    }).observe({ type: 'layout-shift', buffered: true })
    requestAnimationFrame(() => requestAnimationFrame(() => done(shift)))
  })`)

/** Runs all rules of the standards in the light theme, and the rules about colours in the dark one too. */
async function violations(page: Page): Promise<string[]> {
  await useTheme(page, 'light')
  const light = await run(page, { type: 'tag', values: standards })
  await useTheme(page, 'dark')
  const dark = await run(page, { type: 'rule', values: colorRules })
  return [...light, ...dark.map((violation) => `in the dark theme: ${violation}`)]
}

/** The debugger evaluates the source, so the page keeps its Content-Security-Policy. */
async function run(page: Page, runOnly: RunOnly): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe.source)
  // axe only refetches style sheets for rules about rotated and self-playing content, which the application lacks.
  const options = JSON.stringify({ runOnly, resultTypes: ['violations'], preload: false })
  const results = await page.evaluate<AxeResults>(`axe.run(document, ${options})`)
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} at ${target.join(' ')}: ${failureSummary}`),
  )
}
