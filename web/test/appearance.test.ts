import { expect } from 'vitest'
import type { Page } from 'playwright-core'
import type { Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { openQuietly } from './visit.ts'

const { openPage } = useApplication()

const paths = ['/', '/contacts', '/companies', '/campaigns', '/imports', '/settings', '/profile']

const horizontalOverflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')

browserTest('at 200 % zoom, no page scrolls horizontally', async () => {
  // At 200 % zoom, a window of 1280 pixels shows as much as one of 640. For phones, see axe.test.ts.
  const page = await openPage({ organization: 'small', width: 640 })
  for (const path of paths) {
    await openQuietly(page, path)
    await expect.poll(() => horizontalOverflow(page), { message: path }).toBe(0)
  }
  await page.goto('/contacts')
  await page.getByRole('grid').getByRole('link').first().click()
  await page.getByRole('heading', { level: 2 }).first().waitFor()
  await expect.poll(() => horizontalOverflow(page), { message: 'record' }).toBe(0)
})

browserTest('the first frame has the background of the chosen theme, whatever the system’s is', async () => {
  const page = await openPage({ organization: 'small', theme: 'light' })
  const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
  const light = await background()
  await page.getByRole('button', { name: 'Theme' }).first().click()
  await page.getByRole('menuitem', { name: 'Dark theme' }).click()
  await expect.poll(background).not.toBe(light)
  const dark = await background()
  // What the browser would paint before any module of the application has run.
  await page.route(/assets\/.*\.js$/, () => undefined)
  await page.reload({ waitUntil: 'commit' })
  const isStyled = () => page.evaluate('document.readyState !== "loading" && document.styleSheets.length > 0')
  await expect.poll(isStyled).toBe(true)
  expect(await background()).toBe(dark)
  await page.unroute(/assets\/.*\.js$/)
  const other = await openPage({ organization: 'small', theme: 'dark' })
  expect(await other.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(dark)
})

browserTest('with reduced motion, nothing moves', async () => {
  const moving = (page: Page) =>
    page.evaluate<string[]>(`
      [...document.querySelectorAll('*')].filter((element) => {
        const { transitionDuration, animationDuration, animationName } = getComputedStyle(element)
        const seconds = (text) => Math.max(...text.split(',').map((part) => parseFloat(part)))
        return seconds(transitionDuration) > 0.01 || (animationName !== 'none' && seconds(animationDuration) > 0.01)
      }).map((element) => element.className)`)
  const page = await openPage({ organization: 'small', path: '/contacts' })
  await page.getByRole('grid').getByRole('link').first().waitFor()
  await page.getByRole('button', { name: 'New contact' }).click()
  await page.getByRole('dialog').waitFor()
  expect(await moving(page)).toEqual([])
})

browserTest('every focused element has a visible focus indicator', async () => {
  const page = await openPage({ organization: 'small', path: '/contacts' })
  await page.getByRole('grid').getByRole('link').first().waitFor()
  const unmarked: string[] = []
  for (let step = 0; step < 30; step++) {
    await page.keyboard.press('Tab')
    const found = await page.locator(':focus').evaluateAll((elements: Json[]) =>
      elements.map((element) => {
        // A search field shows the focus on its box.
        for (let marked = element; marked && marked !== element.ownerDocument.body; marked = marked.parentElement) {
          const style = element.ownerDocument.defaultView.getComputedStyle(marked)
          if (style.outlineStyle !== 'none' && Number.parseFloat(style.outlineWidth) >= 1.5) return ''
          if (style.boxShadow !== 'none' && marked === element) return ''
        }
        const active = element.querySelector('[data-active]')
        if (active && element.ownerDocument.defaultView.getComputedStyle(active).boxShadow !== 'none') return ''
        return element.outerHTML.slice(0, 120)
      }),
    )
    if (found.length === 0) break
    unmarked.push(...found.filter((text) => text !== ''))
  }
  expect(unmarked).toEqual([])
})
