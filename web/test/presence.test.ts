import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, type PageOptions, useApplication } from './application.ts'
import { BoardPage } from './board-page.ts'
import { expectAccessible } from './visit.ts'

const { openPage, openTab, callAs } = useApplication({ isAlone: true })

const organization = 'small' as const

async function create(call: Call, path: string, body: object): Promise<Json> {
  const made = await call('POST', path, { body })
  expect(made.status, made.text).toBe(201)
  return made.body
}

/** Opens a page, and waits until it follows what others do. */
async function openLive(options: PageOptions): Promise<Page> {
  const page = await openPage({ organization, ...options, path: '/forgot-password' })
  const follows = page.waitForResponse((response) => new URL(response.url()).pathname.endsWith('/v5/events/stream'))
  await Promise.all([follows, page.goto(options.path ?? '/')])
  await page.locator('h1').first().waitFor()
  return page
}

const person = (page: Page, name: string) => page.getByRole('img', { name, exact: true })

/** Where everything is that has a text, apart from the initials. */
const layout = (page: Page): Promise<unknown> =>
  page.evaluate(`[...document.querySelectorAll('h1, h2, a, button, [role=gridcell]')].map((element) => {
    const { x, y, height } = element.getBoundingClientRect()
    return [element.tagName, Math.round(x), Math.round(y), Math.round(height)].join(' ')
  })`)

/** The layout once everything has loaded: two readings a little apart are the same. */
async function settled(page: Page): Promise<unknown> {
  const pause = 'new Promise((done) => requestIdleCallback(() => requestAnimationFrame(done)))'
  await page.waitForFunction('document.querySelectorAll("[aria-busy=true]").length === 0')
  let last = await layout(page)
  await expect
    .poll(async () => {
      const before = JSON.stringify(last)
      await page.evaluate(pause)
      last = await layout(page)
      return JSON.stringify(last) === before
    })
    .toBe(true)
  return last
}

browserTest('a record and a list show who else is there and who edits, and nothing moves', async () => {
  const call = await callAs('owner', organization)
  const { id } = await create(call, '/v5/contacts', { name: 'Visited Ada' })
  const list = await openLive({ path: '/contacts?query=Visited+Ada' })
  const german = await openLive({ as: 'viewer', locale: 'de-DE', width: 390, path: `/contacts/${id}` })
  await person(list, 'Alan Turing is here').waitFor()
  await list.getByRole('grid').focus()
  await list.keyboard.press('ArrowDown')
  const before = await settled(list)
  const other = await openLive({ as: 'member', path: `/contacts/${id}` })
  await person(list, 'Grace Hopper is here').waitFor()
  await person(german, 'Grace Hopper ist hier').waitFor()
  await person(other, 'Alan Turing is here').waitFor()
  expect(await layout(list)).toEqual(before)
  expect(await list.evaluate<string>('document.activeElement.role')).toBe('grid')
  const button = other.getByRole('button', { name: 'Edit Job title', exact: true })
  await button.waitFor({ state: 'attached' })
  await button.focus()
  await other.keyboard.press('Enter')
  await person(list, 'Grace Hopper is editing').waitFor()
  await person(german, 'Grace Hopper bearbeitet gerade').waitFor()
  for (const page of [list, german, other]) await expectAccessible(page)
  expect(await german.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await other.keyboard.press('Escape')
  await person(list, 'Grace Hopper is here').waitFor()
  await other.close()
  await person(list, 'Grace Hopper is here').waitFor({ state: 'detached' })
  await person(german, 'Grace Hopper ist hier').waitFor({ state: 'detached' })
})

browserTest('tabs of a browser sign together, and nobody sees themselves on another device', async () => {
  const call = await callAs('owner', organization)
  const [first, second] = [
    await create(call, '/v5/companies', { name: 'Visited Engines' }),
    await create(call, '/v5/companies', { name: 'Visited Looms' }),
  ]
  const watching = await openLive({ path: '/companies?query=Visited' })
  const phone = await openLive({ as: 'member', width: 390, path: '/companies?query=Visited' })
  const tab = await openLive({ as: 'member', path: `/companies/${first.id}` })
  const here = person(watching, 'Grace Hopper is here')
  await here.waitFor()
  const next = await openTab(tab, `/companies/${second.id}`)
  await expect.poll(() => here.count()).toBe(2)
  // The next tab takes over the stream and the signs.
  await tab.close()
  await expect.poll(() => here.count()).toBe(1)
  expect(await watching.getByRole('row').filter({ has: here }).getByRole('link').first().innerText()).toBe(
    'Visited Looms',
  )
  await next.goto(`/companies/${first.id}`)
  await watching.getByRole('row').filter({ hasText: 'Visited Engines' }).filter({ has: here }).waitFor()
  expect(await phone.getByRole('img').count()).toBe(0)
  await next.goto('/profile')
  await here.waitFor({ state: 'detached' })
})

browserTest('a card of a board shows who has its deal open', async () => {
  const call = await callAs('owner', organization)
  const page = await openLive({ path: '/companies' })
  const board = await BoardPage.open(page, call, 'Visited', { Lead: ['a', 'b'] })
  const { body: deals } = await call('GET', `/v5/deals?pipelineId=${board.pipelineId}`)
  const before = await settled(page)
  await openLive({ as: 'member', path: `/deals/${deals.find(({ name }: Json) => name === 'b').id}` })
  await board.card('b').getByRole('img', { name: 'Grace Hopper is here' }).waitFor()
  expect(await board.card('a').getByRole('img', { name: 'Grace Hopper is here' }).count()).toBe(0)
  expect(await layout(page)).toEqual(before)
  await expectAccessible(page)
})
