import type { Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import { decodeId } from '../../server/src/platform/model/ids.ts'
import { sql } from '../../server/src/platform/model/sql.ts'
import type { Call, Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { BoardPage } from './board-page.ts'
import { escape, inFocus, keepMessage } from './gestures.ts'

const { service, openPage, callAs, expectErrors } = useApplication()

let page: Page
let call: Call
let number = 0
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/forgot-password' })
  call ??= await callAs()
})

const open = (deals: Record<string, string[]>, on = page) => BoardPage.open(on, call, `Board ${++number}`, deals)

browserTest('a dragged card leaves a gap where it would be dropped; counts and totals change at once', async () => {
  const board = await open({ Lead: ['a', 'b', 'c'], Offer: ['d', 'e'] })
  await board.total('Lead', '€300').waitFor()
  const below = await board.boxOf('d')
  await board.drag('b', { x: below.x + 40, y: below.y + below.height + 40 })
  await expect.poll(() => board.column('Offer').locator('li[aria-hidden]').count()).toBe(1)
  // The service has not answered yet.
  let release = () => undefined as void
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route(/\/move$/, async (route) => (await held, route.continue()))
  await page.mouse.up()
  await board.expectNames({ Lead: ['a', 'c'], Offer: ['d', 'b', 'e'] })
  await board.total('Lead', '€200').waitFor()
  await board.total('Offer', '€300').waitFor()
  await board.total('Offer', 'Weighted €150').waitFor()
  await board.column('Offer').getByText('3 deals').waitFor()
  release()
  await board.toast('b is in Offer').waitFor()
  await page.unroute(/\/move$/)
  await board.expectStored({ Lead: ['a', 'c'], Offer: ['d', 'b', 'e'] })
  await page.reload()
  await board.expectNames({ Lead: ['a', 'c'], Offer: ['d', 'b', 'e'] })
})

browserTest('Escape puts a dragged card back, and so does dropping it where it was', async () => {
  const board = await open({ Lead: ['a', 'b'], Offer: ['c'] })
  const requests: string[] = []
  page.on('request', (request) => void (request.url().endsWith('/move') && requests.push(request.url())))
  await board.drag('a', await board.topOf('Offer'))
  await page.keyboard.press('Escape')
  await expect.poll(() => page.locator('[data-dragging]').count()).toBe(0)
  await page.mouse.up()
  await board.expectNames({ Lead: ['a', 'b'], Offer: ['c'] })
  await board.drag('a', await board.topOf('Offer'))
  await page.mouse.move(...(Object.values(await board.topOf('Lead')) as [number, number]))
  await page.mouse.up()
  await board.expectNames({ Lead: ['a', 'b'], Offer: ['c'] })
  expect(requests).toEqual([])
  expect(new URL(page.url()).pathname).toBe('/deals')
})

browserTest('a refused move puts the card back with the reason', async () => {
  expectErrors(page, /status of 4(?:22|23)/)
  const board = await open({ Lead: ['a', 'b'], Offer: ['c'] })
  const refusal = {
    code: 'resource_locked',
    status: 423,
    message: 'Locked',
    description: 'The stage is being emptied.',
  }
  await page.route(/\/move$/, (route) => route.fulfill({ status: 423, json: refusal }), { times: 1 })
  await board.drag('a', await board.topOf('Offer'))
  await page.mouse.up()
  await board.toast('a was not moved').waitFor()
  await board.toast('The stage is being emptied.').waitFor()
  await board.expectNames({ Lead: ['a', 'b'], Offer: ['c'] })
  await board.total('Lead', '€200').waitFor()
  // A stage that was deleted a moment ago, which the page has not heard of yet.
  let answer = () => undefined as void
  const held = new Promise<void>((resolve) => (answer = resolve))
  await page.route(/\/stages\?/, async (route) => (await held, route.continue()))
  const path = `/v5/pipelines/${board.pipelineId}/stages/${board.stages.Offer}`
  expect((await call('DELETE', `${path}?moveDealsTo=${board.stages.Won}`)).status).toBe(204)
  await board.drag('a', await board.topOf('Offer'))
  await page.mouse.up()
  await board.toast(/no stage with this id exists/).waitFor()
  answer()
  await board.column('Offer').waitFor({ state: 'detached' })
  await page.unroute(/\/stages\?/)
  await board.expectNames({ Lead: ['a', 'b'], Won: ['c'] })
})

browserTest('Undo and Ctrl+Z revert a move to the same position, unless someone else has moved the deal', async () => {
  const board = await open({ Lead: ['a', 'b', 'c'], Offer: [] })
  await board.card('b').getByRole('link').focus()
  await page.keyboard.press('Alt+ArrowRight')
  await board.toast('b is in Offer').waitFor()
  await board.expectStored({ Lead: ['a', 'c'], Offer: ['b'] })
  await page.keyboard.press('Control+z')
  await board.expectStored({ Lead: ['a', 'b', 'c'], Offer: [] })
  await board.expectNames({ Lead: ['a', 'b', 'c'], Offer: [] })
  await inFocus(board.card('b').getByRole('link'))
  await page.keyboard.press('Alt+ArrowDown')
  await keepMessage(page, 'b has another place in Lead')
  await board.expectStored({ Lead: ['a', 'c', 'b'] })
  await page.getByRole('button', { name: 'Undo' }).first().click()
  await board.expectStored({ Lead: ['a', 'b', 'c'] })
  // Without the earlier messages.
  await board.show()
  await board.card('b').getByRole('link').focus()
  await page.keyboard.press('Alt+ArrowRight')
  await board.toast('b is in Offer').waitFor()
  const { id } = await board.deal('b')
  await call('POST', `/v5/deals/${id}/move`, { body: { stageId: board.stages.Won } })
  await page.keyboard.press('Control+z')
  await board.toast('It has been changed since.').waitFor()
  await board.expectStored({ Won: ['b'] })
})

browserTest(
  'the keyboard moves cards: Space picks one up, Alt with an arrow moves it, and both are announced',
  async () => {
    const board = await open({ Lead: ['a', 'b'], Offer: ['c'], Won: [] })
    await page.getByRole('button', { name: 'Filter', exact: true }).focus()
    // The board has one tab stop: a card comes right after the toolbar, and nothing else of the board after it.
    await page.getByRole('button', { name: 'More actions' }).focus()
    await page.keyboard.press('Tab')
    const expectFocus = (name: string) => inFocus(page.getByRole('link', { name, exact: true }))
    const expectSaid = (text: string) => expect.poll(() => board.announcement()).toBe(text)
    await expectFocus('a')
    await page.keyboard.press('ArrowDown')
    await expectFocus('b')
    await page.keyboard.press('ArrowRight')
    await expectFocus('c')
    await page.keyboard.press('ArrowLeft')
    await expectFocus('a')
    await page.keyboard.press('Space')
    await expectSaid('a is picked up: Lead, position 1.')
    await page.keyboard.press('ArrowRight')
    await expectSaid('a: Offer, position 1.')
    await expectFocus('a')
    await page.keyboard.press('ArrowDown')
    await expectSaid('a: Offer, position 2.')
    await expectFocus('a')
    await page.keyboard.press('Escape')
    await expectSaid('a is back in Lead, position 1.')
    await board.expectNames({ Lead: ['a', 'b'], Offer: ['c'] })
    await expectFocus('a')
    for (const key of ['Space', 'ArrowRight', 'ArrowDown', 'Space']) {
      await page.keyboard.press(key)
      await expectFocus('a')
    }
    await expectSaid('a is in Offer, position 2.')
    await board.expectStored({ Lead: ['b'], Offer: ['c', 'a'] })
    await expectFocus('a')
    await page.keyboard.press('Alt+ArrowUp')
    await board.expectStored({ Offer: ['a', 'c'] })
    await expectFocus('a')
    await page.keyboard.press('Alt+ArrowRight')
    await board.toast('Won: a').waitFor()
    await board.expectStored({ Offer: ['c'], Won: ['a'] })
    await expectFocus('a')
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await help.getByText('Move the card to the next column').waitFor()
    await escape(help)
    await help.waitFor({ state: 'detached' })
    await expectFocus('a')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'a' }).waitFor()
  },
)

browserTest('the menu of a card moves it; a lost deal asks why, and can be reopened', async () => {
  const board = await open({ Lead: ['a', 'b'], Lost: [] })
  await board.card('a').getByRole('button', { name: 'Actions for a' }).click()
  await page.getByRole('menuitem', { name: 'Lost' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Why was a lost?' })
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  await board.expectNames({ Lead: ['a', 'b'], Lost: [] })
  // The dialog returns the focus before anything else moves it.
  await board.card('a').locator(':focus').waitFor()
  await board.card('a').getByRole('link').focus()
  await page.keyboard.press('m')
  await page.getByRole('menuitem', { name: 'Lost' }).last().click()
  await dialog.getByRole('button', { name: 'Too expensive' }).click()
  await dialog.getByRole('button', { name: 'Lost' }).click()
  await board.toast('Lost: a').waitFor()
  await expect.poll(() => board.deal('a')).toMatchObject({ status: 'lost', lostReason: 'Too expensive' })
  await board.column('Lost').getByText('Too expensive').waitFor()
  await inFocus(board.card('a').getByRole('link'))
  await board.card('a').getByRole('button').click()
  await page.getByRole('menuitem', { name: 'Reopen' }).click()
  await board.expectStored({ Lead: ['a', 'b'], Lost: [] })
  await page.keyboard.press('Control+z')
  await board.expectStored({ Lead: ['b'], Lost: ['a'] })
  expect(await board.deal('a')).toMatchObject({ lostReason: 'Too expensive' })
})

browserTest('the board immediately shows changes made on the page of a deal', async () => {
  const board = await open({ Lead: ['a', 'b'], Won: [] })
  await board.card('a').getByRole('link').click()
  await page.getByRole('button', { name: 'Won', exact: true }).first().click()
  await board.toast('Won: a').waitFor()
  await page.goBack()
  await board.expectNames({ Lead: ['b'], Won: ['a'] })
  await board.total('Won', '€100').waitFor()
  // The table also shows the move.
  await page.getByRole('button', { name: 'Table', exact: true }).click()
  const row = page
    .getByRole('row')
    .filter({ has: page.getByRole('link', { name: 'b', exact: true }) })
    .first()
  await row.getByText('Lead').waitFor()
  await page.getByRole('button', { name: 'Board', exact: true }).click()
  await board.card('b').getByRole('link').focus()
  await page.keyboard.press('Alt+ArrowRight')
  await board.toast('b is in Offer').waitFor()
  await page.getByRole('button', { name: 'Table', exact: true }).click()
  await row.getByText('Offer').waitFor()
})

browserTest('on a touch screen, a long press lifts a card, and a swipe scrolls', async () => {
  const phone = await openPage({ path: '/forgot-password', width: 390 })
  const board = await open({ Lead: ['a', 'b', 'c'], Offer: ['d'] }, phone)
  const touch = await phone.context().newCDPSession(phone)
  const send = (type: string, at?: { x: number; y: number }) =>
    touch.send('Input.dispatchTouchEvent', { type: type as 'touchStart', touchPoints: at ? [at] : [] })
  const inCard = async (name: string) => {
    const { x, y } = await board.boxOf(name)
    return { x: x + 60, y: y + 50 }
  }
  const swiped = await inCard('b')
  // Sent together: on a busy machine, waiting for each response would turn the swipe into a long press.
  await Promise.all([
    send('touchStart', swiped),
    send('touchMove', { x: swiped.x, y: swiped.y - 60 }),
    send('touchEnd'),
  ])
  await board.expectNames({ Lead: ['a', 'b', 'c'] })
  const start = await inCard('b')
  await send('touchStart', start)
  await phone.locator('[data-dragging]').waitFor()
  await send('touchMove', { x: start.x, y: start.y - 30 })
  const first = await board.boxOf('a')
  await send('touchMove', { x: start.x, y: first.y + 50 })
  await send('touchEnd')
  await board.expectNames({ Lead: ['b', 'a', 'c'] })
  await board.expectStored({ Lead: ['b', 'a', 'c'] })
  // To a column off the screen: the board scrolls while the finger is at its edge.
  const from = await inCard('c')
  await send('touchStart', from)
  await phone.locator('[data-dragging]').waitFor()
  await send('touchMove', { x: 380, y: from.y })
  await expect.poll(() => board.column('Offer').locator('li[aria-hidden]').count()).toBe(1)
  await send('touchEnd')
  await board.expectStored({ Lead: ['b', 'a'] })
})

browserTest('the search and the filters of the list apply to cards and totals', async () => {
  const board = await open({ Lead: ['alpha', 'beta'], Offer: ['alpha two'] })
  await page.getByRole('searchbox', { name: 'Search deals' }).fill('alpha')
  await board.expectNames({ Lead: ['alpha'], Offer: ['alpha two'] })
  await board.total('Lead', '€100').waitFor()
  await page.goto(`/deals?view=board&board=${board.pipelineId}&filter.amount.gt=1000`)
  await page.getByText('Nothing matches').waitFor()
  // The layout is in the URL; without it, the page shows the layout that the person chose last.
  await page.getByRole('button', { name: 'Table', exact: true }).click()
  await page.getByRole('grid').waitFor()
  expect(new URL(page.url()).searchParams.get('filter.amount.gt')).toBe('1000')
  await page.goto('/deals')
  await page.getByRole('grid').waitFor()
  await page.getByRole('button', { name: 'Board', exact: true }).click()
  await page.goto('/deals')
  await page.getByRole('link', { name: 'Deals' }).first().waitFor()
  await expect.poll(() => new URL(page.url()).searchParams.get('view')).toBe('board')
})

browserTest('a column of 1,000 deals has few cards in the document and loads them while it is scrolled', async () => {
  const board = await open({ Lead: ['top'] })
  const { id } = (await call('POST', '/v5/deals', { body: { name: 'Deal 0', stageId: board.stages.Offer } })).body
  await service().database.crossTenantQuery(
    'check the database',
    sql`insert into deals (organization_id, id, name, currency, pipeline_id, stage_id, position, stage_changed_at)
      select organization_id, new_id(), 'Deal ' || number, currency, pipeline_id, stage_id, position + number, now()
      from deals, generate_series(1, 999) number where id = ${decodeId('del', id)}::uuid`,
  )
  await board.show()
  await board.column('Offer').getByText('1,000 deals').waitFor()
  const cards = () => page.locator('[data-card]').count()
  expect(await cards()).toBeLessThan(60)
  const requests: string[] = []
  page.on('request', (request) => void (/\/v5\/deals\?/.test(request.url()) && requests.push(request.url())))
  const scroller = page.getByRole('group', { name: /^Board/ })
  for (let step = 0; step < 12; step++) {
    await scroller.evaluate((box: Json) => void (box.scrollTop = box.scrollHeight))
    await expect.poll(() => board.column('Offer').locator('[data-card]').count()).toBeGreaterThan(5)
    expect(await cards()).toBeLessThan(60)
  }
  const scrollDown = async () => {
    await scroller.evaluate((box: Json) => void (box.scrollTop = box.scrollHeight))
    return requests.length
  }
  await expect.poll(scrollDown).toBeGreaterThan(2)
  const path = `/v5/deals?stageId=${board.stages.Offer}&orderBy=position&sort=asc&limit=100`
  const stored = (await call('GET', path)).body.map(({ name }: Json) => name)
  const shown = (await board.places('Offer')).slice(1, 5)
  const start = Number(shown[0]?.at) - 1
  if (start < 90) expect(shown.map(({ name }) => name)).toEqual(stored.slice(start, start + 4))
})

browserTest('a viewer sees the board but cannot move its cards', async () => {
  const owners = await open({ Lead: ['a'], Offer: [] })
  const viewer = await openPage({ as: 'viewer', path: `/deals?view=board&board=${owners.pipelineId}` })
  const board = Object.assign(Object.create(owners) as BoardPage, { page: viewer })
  const card = viewer.locator('[data-card]').first()
  await card.waitFor()
  expect(await viewer.getByRole('button', { name: /^Actions for|New deal/ }).count()).toBe(0)
  await card.getByRole('link').focus()
  for (const keys of ['Space', 'ArrowRight', 'Space', 'Alt+ArrowRight', 'm']) await viewer.keyboard.press(keys)
  await board.drag('a', { x: 700, y: 300 }).catch(() => undefined)
  await viewer.mouse.up()
  await owners.expectStored({ Lead: ['a'], Offer: [] })
})

browserTest('a card stays where it was dropped while the board reloads', async () => {
  const start = Date.now()
  await page.clock.setFixedTime(start)
  const board = await open({ Lead: ['a', 'b'], Offer: ['c', 'd'] })
  let release = () => undefined as void
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route(/\/move$/, async (route) => (await held, route.continue()))
  const below = await board.boxOf('c')
  await board.drag('a', { x: below.x + 40, y: below.y + below.height + 40 })
  await page.mouse.up()
  const moved = { Lead: ['b'], Offer: ['c', 'a', 'd'] }
  await board.expectNames(moved)
  await page.getByRole('link', { name: 'Tasks' }).first().click()
  await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor()
  await page.clock.setFixedTime(start + 60_000)
  await page.goBack()
  await board.expectNames(moved)
  const isLoadedAgain = page.waitForResponse(/v5\/deals\/summary/)
  release()
  await isLoadedAgain
  await board.expectStored(moved)
  await board.expectNames(moved)
  await page.unroute(/\/move$/)
})
