import type { Page } from 'playwright-core'
import { beforeAll, expect } from 'vitest'
import { browserTest, useApplication } from './application.ts'
import { prepareRecords, type Records, screens } from './screens.ts'
import { resize, squeezed } from './squeezed.ts'

const { service, openPage, callAs } = useApplication()

let records: Records
beforeAll(async () => {
  records = await prepareRecords(service(), await callAs('owner', 'small'))
})

const widths = [320, 480, 640, 701, 768, 860, 933, 1024, 1280, 1600, 2560]
const shown = [
  'home',
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
  'profile',
]

const pages = new Map<string, Promise<Page>>()
const pageIn = (locale: string): Promise<Page> => {
  const page = pages.get(locale) ?? openPage({ organization: 'small', locale, path: '/forgot-password' })
  pages.set(locale, page)
  return page
}

for (const { name, path, route } of screens.filter((screen) => shown.includes(screen.name))) {
  browserTest(`${name} is neither squeezed nor too wide from 320 to 2560 pixels, in English and German`, async () => {
    const found: string[] = []
    for (const locale of ['en-GB', 'de-DE']) {
      const page = await pageIn(locale)
      await page.goto(path?.(records) ?? route)
      await page.locator('h1').first().waitFor()
      await page.waitForLoadState('networkidle')
      for (const width of widths) {
        await resize(page, width)
        found.push(...(await squeezed(page)).map((error) => `${locale} at ${width}: ${error}`))
      }
    }
    expect(found).toEqual([])
  })
}

browserTest('a suggestion has a line of words next to its buttons, or above them', async () => {
  const page = await openPage({ organization: 'small', path: '/suggestions' })
  const card = page.getByRole('group').filter({ has: page.getByRole('button', { name: 'Accept' }) })
  await card.first().waitFor()
  for (const width of widths) {
    await resize(page, width)
    const box = await card.first().locator('p').first().boundingBox()
    expect(box?.width, `at ${width}`).toBeGreaterThan(Math.min(300, width - 120))
  }
})

/** Pixels between the head of a record and the next element, and between the head and its lowest property. */
const recordSpaces = `(() => {
  const [head, next] = document.querySelector('[class*="_head_"]:has(h2)').parentElement.children
  const heights = [...document.querySelectorAll('dt')].map((name) => name.getBoundingClientRect().height)
  return { gap: next.getBoundingClientRect().top - head.getBoundingClientRect().bottom, lowest: Math.min(...heights) }
})()`

browserTest("a record's two columns have the same spacing at any width as on a desktop", async () => {
  const contact = screens.find(({ name }) => name === 'contact')
  const page = await openPage({ organization: 'small', path: contact?.path?.(records) ?? '' })
  await page.locator('dt').first().waitFor()
  for (const width of [933, 1024, 1440]) {
    await resize(page, width)
    const { gap, lowest } = await page.evaluate<{ gap: number; lowest: number }>(recordSpaces)
    expect(gap, `below the head at ${width}`).toBeGreaterThanOrEqual(16)
    expect(lowest, `of a property at ${width}`).toBeLessThan(44)
  }
})
