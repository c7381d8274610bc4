import { beforeAll, expect } from 'vitest'
import { browserTest, useApplication } from './application.ts'
import { prepareRecords, type Records, screens } from './screens.ts'
import { widths } from './narrow-screens.ts'
import { resize } from './squeezed.ts'

const { service, openPage, callAs } = useApplication()

// That no screen is squeezed or too wide: web/test/widths-sweep.test.ts.
let records: Records
beforeAll(async () => {
  records = await prepareRecords(service(), await callAs('owner', 'small'))
})

browserTest('a suggestion has a line of words next to its buttons, or above them', async () => {
  const page = await openPage({ organization: 'small', path: '/suggestions' })
  const card = page.getByRole('group').filter({ has: page.getByRole('button', { name: 'Accept' }) })
  await card.first().waitFor()
  for (const width of widths) {
    await resize(page, width)
    const wordsWidth = async () => (await card.first().locator('p').first().boundingBox())?.width
    await expect.poll(wordsWidth, { message: `at ${width}` }).toBeGreaterThan(Math.min(300, width - 120))
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
    const spaces = () => page.evaluate<{ gap: number; lowest: number }>(recordSpaces)
    // The page measures itself after a resize, and the parts that are loaded later move what is below them.
    await expect
      .poll(async () => (await spaces()).gap, { message: `below the head at ${width}` })
      .toBeGreaterThanOrEqual(16)
    await expect.poll(async () => (await spaces()).lowest, { message: `of a property at ${width}` }).toBeLessThan(44)
  }
})
