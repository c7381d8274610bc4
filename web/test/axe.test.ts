import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import axe, { type AxeResults, type RunOnly } from 'axe-core'
import type { Locator, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { browserTest, useApplication } from './application.ts'
import { resize, squeezed } from './squeezed.ts'
import { prepareRecords, type Records, type Screen, screens, show, useTheme } from './screens.ts'

const { service, openPage, callAs, expectFaults } = useApplication()

const standards = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** Those whose result depends on the theme. Experimental ones run in neither theme, unless they are named. */
const colorRules = axe
  .getRules(standards)
  .filter(({ tags }) => tags.includes('cat.color') && !tags.includes('experimental'))
  .map(({ ruleId }) => ruleId)

let records: Records
beforeAll(async () => {
  records = await prepareRecords(service(), await callAs('owner', 'small'))
})

test('every route and every section of the settings is among the screens', () => {
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

interface State {
  name: string
  path: string | ((records: Records) => string)
  /** Leads to the state, and returns what is visible then. */
  enter(page: Page): Promise<Locator> | Locator
}

const press = async (page: Page, keys: string): Promise<void> => {
  await page.getByRole('row').nth(1).waitFor()
  await page.keyboard.press(keys)
}
const click = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first().click()
const dialog = (page: Page) => page.getByRole('dialog')

const states: readonly State[] = [
  { name: 'the dialog for a new contact', path: '/contacts?new=1', enter: dialog },
  {
    name: 'the confirmation of a deletion',
    path: ({ contact }) => `/contacts/${contact}`,
    enter: async (page) => {
      await click(page, 'More actions')
      await page.getByRole('menuitem', { name: 'Delete' }).click()
      return dialog(page)
    },
  },
  {
    name: 'the form of a filter',
    path: '/contacts?filter.status.equals=active',
    enter: async (page) => (await click(page, /^Filter$/), dialog(page)),
  },
  {
    name: 'the form of a group of filters',
    path: () => `/contacts?tree=${encodeURIComponent(JSON.stringify(group))}`,
    enter: async (page) => {
      await page
        .getByRole('toolbar')
        .getByRole('button', { name: /^Country is Germany or/ })
        .click()
      return dialog(page).getByRole('group', { name: 'Condition 2' }).first()
    },
  },
  {
    name: 'a filter that cannot be read',
    path: '/contacts?tree=x',
    enter: (page) => page.getByRole('alert').getByText('This filter is not valid'),
  },
  {
    name: 'a view with unsaved changes and its options',
    path: ({ view }) => `/contacts?view=${view}&query=a`,
    enter: async (page) => {
      await page.getByRole('button', { name: 'Save as new' }).waitFor()
      await click(page, 'Options of the view')
      return page.getByRole('menu')
    },
  },
  {
    name: 'the form of a new view',
    path: ({ view }) => `/contacts?view=${view}`,
    enter: async (page) => (await click(page, 'Save as a new view'), dialog(page)),
  },
  {
    name: 'the order of the views',
    path: ({ view }) => `/contacts?view=${view}`,
    enter: async (page) => {
      await click(page, 'Options of the view')
      await page.getByRole('menuitem', { name: 'Change the order' }).click()
      return dialog(page)
    },
  },
  {
    name: 'a view that was deleted',
    path: () => `/contacts?view=vie_${'0'.repeat(32)}`,
    enter: (page) => page.getByRole('alert').getByText('This view is not available'),
  },
  {
    name: 'the choice of columns',
    path: '/contacts',
    enter: async (page) => (await click(page, 'Columns'), dialog(page)),
  },
  {
    name: 'a menu',
    path: '/contacts',
    enter: async (page) => (await click(page, 'More actions'), page.getByRole('menu')),
  },
  {
    name: 'the palette with hits',
    path: '/contacts',
    enter: async (page) => {
      await press(page, 'Control+k')
      await page.getByRole('combobox').fill('an')
      return page.getByRole('option').nth(3)
    },
  },
  { name: 'the list of shortcuts', path: '/contacts', enter: async (page) => (await press(page, '?'), dialog(page)) },
  {
    name: 'a selection with its actions',
    path: '/contacts',
    enter: async (page) => {
      await page.getByRole('row').nth(2).getByRole('checkbox').click()
      return page.getByRole('region', { name: 'Actions for the selection' })
    },
  },
  {
    name: 'the preview of a record',
    path: (ids) => `/contacts?peek=${ids.contact}`,
    enter: (page) => page.getByRole('complementary', { name: /^Preview: \w/ }),
  },
  {
    name: 'the menu of a card',
    path: '/deals?view=board',
    enter: async (page) => (await click(page, 'Actions for Annual licence'), page.getByRole('menu')),
  },
  {
    name: 'the question why a deal was lost',
    path: ({ deal }) => `/deals/${deal}`,
    enter: async (page) => (await click(page, /^Lost$/), dialog(page)),
  },
  {
    name: 'a card that is carried',
    path: '/deals?view=board',
    enter: async (page) => {
      await page.getByRole('link', { name: 'Annual licence' }).focus()
      await page.keyboard.press('Space')
      return page.getByText('Annual licence is picked up: Lead, position 1.')
    },
  },
  {
    name: 'the form of a stage',
    path: (ids) => `/settings/pipelines?pipeline=${ids.pipeline}`,
    enter: async (page) => (await click(page, 'Add a stage'), dialog(page)),
  },
  {
    name: 'the form of a property with choices',
    path: '/settings/properties',
    enter: async (page) => {
      await click(page, 'New property')
      await dialog(page)
        .getByRole('radio', { name: /^Choice/ })
        .press('Space')
      return dialog(page).getByRole('button', { name: 'Add a choice' })
    },
  },
  {
    name: 'the form of a task',
    path: (ids) => `/contacts/${ids.contact}`,
    enter: async (page) => (await click(page, 'New task'), dialog(page)),
  },
  {
    name: 'the form of a suggestion',
    path: () => '/suggestions',
    enter: async (page) => (
      await page.locator('[data-suggestion=open]').first().focus(),
      await page.keyboard.press('e'),
      dialog(page)
    ),
  },
  {
    name: 'a note that is being edited',
    path: (ids) => `/contacts/${ids.contact}?kind=note`,
    enter: async (page) => (
      await click(page, 'Edit the note'),
      page.getByRole('textbox', { name: 'Text of the note' })
    ),
  },
  {
    name: 'a timeline without entries of a kind',
    path: (ids) => `/deals/${ids.deal}?kind=import`,
    enter: (page) => page.getByRole('button', { name: 'Show all', exact: true }),
  },
  {
    name: 'an open row of an import',
    path: (ids) => `/imports/${ids.import}?row=${ids.row}`,
    enter: (page) => page.getByRole('heading', { name: 'Payload' }),
  },
  {
    name: 'a form with an error',
    path: '/settings/teams',
    enter: async (page) => {
      await click(page, 'New team')
      await dialog(page).getByRole('textbox').fill('Partners')
      await dialog(page)
        .getByRole('button', { name: /Create|New team/ })
        .click()
      return dialog(page).locator('[aria-invalid=true], [role=alert]').first()
    },
  },
  {
    name: 'an error of the service',
    path: '/',
    enter: async (page) => {
      await page.route('**/v5/contacts?*', (route) => route.fulfill({ status: 500, json: failure }))
      await page.goto('/contacts')
      return page.getByRole('button', { name: 'Try again' })
    },
  },
  {
    name: 'a tooltip',
    path: '/contacts',
    enter: async (page) => {
      await page.getByRole('button', { name: 'More actions' }).first().hover()
      return page.getByText('More actions', { exact: true }).first()
    },
  },
  {
    name: 'an application that could not be loaded',
    path: '/login',
    enter: async (page) => {
      await page.route('**/v5/schema', (route) => route.fulfill({ status: 500, json: failure }))
      await page.goto('/contacts')
      return page.getByRole('button', { name: 'Try again' })
    },
  },
  { name: 'an unknown page', path: '/nothing/at/all', enter: (page) => page.locator('h1') },
  {
    name: 'a list without a match',
    path: '/contacts?query=nobody+at+all',
    enter: (page) => page.getByRole('button', { name: 'Clear filters' }),
  },
  {
    name: 'a list of deleted records without any',
    path: '/campaigns?deleted=true',
    enter: (page) => page.getByText('Nothing was deleted'),
  },
  {
    name: 'a list without records',
    path: '/',
    enter: async (page) => {
      await page.route(/\/v5\/campaigns/, (route) =>
        route.fulfill({ json: /count/.test(route.request().url()) ? { count: 0 } : [] }),
      )
      await page.goto('/campaigns')
      return page.getByText('No campaigns yet')
    },
  },
]

const group = { or: [{ countryCode: { equals: 'DE' } }, { tasks: { none: { done: { equals: false } } } }] }

const failure = { code: 'internal_error', status: 500, message: 'Internal error', description: 'Try again later.' }

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
    const headers = { 'content-type': 'application/json' }
    for (let sent = 0; sent < 5; sent++)
      await fetch(created.triggerUrl, { method: 'POST', headers, body: JSON.stringify(lead) })
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

/** A page per person and width. It is low, because axe takes time for everything that is in view. */
function pageFor({ as = 'owner', organization = 'small' }: Pick<Screen, 'as' | 'organization'>, width = 1440) {
  const key = `${as} ${organization} ${width}`
  const page = pages.get(key) ?? openPage({ as, organization, width, height: 600, path: '/forgot-password' })
  pages.set(key, page)
  return page.then((opened) => {
    expectFaults(opened, /status of [45]\d\d|Try again later/)
    return opened
  })
}

/** How far what was visible has moved since the page began to load (https://web.dev/articles/cls). */
const layoutShift = (page: Page): Promise<number> =>
  page.evaluate<number>(`new Promise((done) => {
    let shift = 0
    new PerformanceObserver((list) => {
      for (const { hadRecentInput, value } of list.getEntries()) if (!hadRecentInput) shift += value
    }).observe({ type: 'layout-shift', buffered: true })
    requestAnimationFrame(() => requestAnimationFrame(() => done(shift)))
  })`)

/** Runs every rule of the standards, and in the dark theme again those about colours. */
async function violations(page: Page): Promise<string[]> {
  await useTheme(page, 'light')
  const light = await run(page, { type: 'tag', values: standards })
  await useTheme(page, 'dark')
  const dark = await run(page, { type: 'rule', values: colorRules })
  return [...light, ...dark.map((violation) => `in the dark theme: ${violation}`)]
}

/** The source is evaluated by the browser's debugger, so the page keeps its Content-Security-Policy. */
async function run(page: Page, runOnly: RunOnly): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe.source)
  const options = JSON.stringify({ runOnly, resultTypes: ['violations'] })
  const results = await page.evaluate<AxeResults>(`axe.run(document, ${options})`)
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} at ${target.join(' ')}: ${failureSummary}`),
  )
}
