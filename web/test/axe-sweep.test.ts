import { beforeAll, expect } from 'vitest'
import { layoutShift, pagesOf, violationsInBothThemes } from './accessibility.ts'
import { browserTest, useApplication } from './application.ts'
import { enterState, onlyOnDesktops, states } from './axe-states.ts'
import { openRefusedPush } from './refused-push.ts'
import { prepareRecords, type Records, screens, show } from './screens.ts'
import { resize, squeezed } from './squeezed.ts'

const application = useApplication()
const { service, callAs } = application
const pageFor = pagesOf(application)

let records: Records
beforeAll(async () => {
  records = await prepareRecords(service(), await callAs('owner', 'small'))
})

for (const screen of screens) {
  browserTest(`${screen.name} is accessible in both themes, and nothing jumps while it loads`, async () => {
    const page = await pageFor(screen)
    await show(page, screen, records)
    expect(await layoutShift(page)).toBeLessThan(0.02)
    expect(await violationsInBothThemes(page)).toEqual([])
  })
}

for (const width of [1440, 390]) {
  const onPhone = width === 390 ? ' on a phone' : ''
  for (const state of states.filter(({ name }) => width !== 390 || !onlyOnDesktops.includes(name))) {
    browserTest(`${state.name} is accessible in both themes${onPhone}`, async () => {
      const page = await pageFor({}, width)
      await enterState(page, state, records)
      expect(await violationsInBothThemes(page)).toEqual([])
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
      expect(await violationsInBothThemes(page), `at ${width}`).toEqual([])
      await expect.poll(() => squeezed(page), { message: `at ${width}` }).toEqual([])
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
    expect(await violationsInBothThemes(page)).toEqual([])
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(390)
  })
}

for (const width of [1440, 1024, 768, 390]) {
  browserTest(`the form that corrects a refused push is accessible in both themes at ${width} pixels`, async () => {
    const page = await pageFor({}, width)
    await page.setViewportSize({ width, height: 600 })
    await openRefusedPush(page, await callAs('owner', 'small'))
    expect(await violationsInBothThemes(page)).toEqual([])
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(width)
  })
}
