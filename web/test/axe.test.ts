import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { layoutShift, pagesOf, violations } from './accessibility.ts'
import { browserTest, useApplication } from './application.ts'
import { resize, squeezed } from './squeezed.ts'
import { prepareRecords, type Records, screens, show, useTheme } from './screens.ts'

// Each screen once: web/test/axe-sweep.test.ts checks them, their dialogs, menus and errors in all themes and widths.
const application = useApplication()
const { service, callAs } = application
const pageFor = pagesOf(application)

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

for (const [index, screen] of screens.entries()) {
  const theme = index % 2 === 0 ? 'light' : 'dark'
  browserTest(`${screen.name} is accessible, fits a phone, and nothing jumps while it loads`, async () => {
    const page = await pageFor(screen)
    await resize(page, 1440, 600)
    await useTheme(page, theme)
    await show(page, screen, records)
    expect(await layoutShift(page)).toBeLessThan(0.02)
    expect(await violations(page), theme).toEqual([])
    await resize(page, 390)
    await expect.poll(() => squeezed(page)).toEqual([])
  })
}
