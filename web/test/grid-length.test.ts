import type { Page } from 'playwright-core'
import { beforeEach, expect, onTestFinished } from 'vitest'
import { encodeId } from '../../server/src/platform/model/ids.ts'
import { sql } from '../../server/src/platform/model/sql.ts'
import type { Json } from '../../server/test/service.ts'
import { browserTest, useApplication } from './application.ts'
import { Grid } from './grid.ts'
import { organizations } from './seeded-database.ts'

const { service, openPage, callAs } = useApplication()

let page: Page
let grid: Grid
beforeEach(async () => {
  page ??= await openPage({ stays: true, path: '/contacts' })
  grid = new Grid(page)
  await grid.settle()
})

/** The ids from the API between two indexes, page by page. */
async function idsOf(query: string, first: number, last: number): Promise<string[]> {
  const call = await callAs()
  const ids: string[] = []
  for (;;) {
    const after = ids.length > 0 ? `&startingAfter=${ids.at(-1)}` : ''
    const { body } = await call('GET', `/v5/contacts?limit=100&select[]=id&${query}${after}`)
    ids.push(...body.map(({ id }: { id: string }) => id))
    if (body.length < 100 || ids.length > last) return ids.slice(first, last + 1)
  }
}

/** Compares the rows in the document with the API. */
async function expectRowsOfApi(query: string): Promise<void> {
  const rows = await grid.rows()
  const places = [...rows.keys()]
  const [first = 0, last = 0] = [places[0], places.at(-1)]
  expect(places).toEqual(Array.from({ length: last - first + 1 }, (_, offset) => first + offset))
  expect([...rows.values()]).toEqual(await idsOf(query, first, last))
}

const newestFirst = 'orderBy=createdAt&sort=desc'

browserTest('fewer than 60 of 100,000 rows are in the document', async () => {
  expect(Number(await grid.box.getAttribute('aria-rowcount'))).toBeGreaterThan(100_000)
  expect((await grid.rows()).size).toBeLessThan(60)
  await grid.scrollTo(36 * 500)
  await expect.poll(async () => (await grid.rows()).has(500)).toBe(true)
  expect((await grid.rows()).size).toBeLessThan(60)
  await grid.settle()
  await expectRowsOfApi(newestFirst)
})

browserTest('fast scrolling shows skeletons, never an empty grid, until the rows arrive', async () => {
  // Records, for each frame, the number of rows that cover the middle of the grid.
  await grid.box.evaluate((box) => {
    const seen: string[] = ((globalThis as Json).framesSeen = [])
    const look = () => {
      const { left, top, width, height } = box.getBoundingClientRect()
      const found = box.ownerDocument.elementFromPoint(left + width / 2, top + height / 2)
      const row = found?.closest('[role=row]')
      seen.push(
        row === null || row === undefined ? 'nothing' : row.getAttribute('aria-busy') === 'true' ? 'skeleton' : 'row',
      )
      if (seen.length < 2000) (globalThis as Json).requestAnimationFrame(look)
    }
    ;(globalThis as Json).requestAnimationFrame(look)
  })
  const frames = (): Promise<string[]> => page.evaluate('framesSeen')
  // Delay the rows until a skeleton was seen.
  let release = () => undefined as void
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route(/\/v5\/contacts\?/, async (route) => (await held, route.continue()))
  onTestFinished(() => page.unroute(/\/v5\/contacts\?/))
  for (const place of [900, 2000, 1200, 3000]) {
    const before = (await frames()).length
    await grid.scrollTo(36 * place)
    await expect.poll(async () => (await grid.rows()).has(place)).toBe(true)
    await expect.poll(async () => (await frames()).length).toBeGreaterThan(before + 1)
  }
  await expect.poll(async () => (await frames()).slice(2)).toContain('skeleton')
  release()
  await grid.settle()
  const blank = (await frames()).filter((seen, index, all) => seen === 'nothing' && all[index - 1] === 'nothing')
  expect(blank).toEqual([])
  await expectRowsOfApi(newestFirst)
})

browserTest(
  'a row in the middle of 100,000 is reached with a few requests, even while others are inserted',
  async () => {
    const call = await callAs()
    await page.reload()
    await grid.settle()
    let requests = 0
    page.on('request', (request) => (requests += request.url().includes('/v5/contacts') ? 1 : 0))
    for (const [place, inserted] of [
      [50_000, 0],
      [20_000, 1],
    ] as const) {
      if (inserted)
        expect((await call('POST', '/v5/contacts', { body: { name: 'Inserted meanwhile' } })).status).toBe(201)
      requests = 0
      await grid.scrollTo(36 * place)
      await expect.poll(async () => (await grid.rows()).has(place)).toBe(true)
      await grid.settle()
      expect(requests).toBeLessThan(40)
      const rows = await grid.rows()
      const [first = 0] = rows.keys()
      expect([...rows.values()]).toEqual(await newestContacts(first + inserted, rows.size))
    }
  },
)

/** Ids at indexes of the list of all contacts, from the database. */
async function newestContacts(first: number, count: number): Promise<string[]> {
  const { database } = service()
  const [large] = await database.crossTenantQuery<{ id: string }>(
    'check the database',
    sql`select id from organizations where name = ${organizations.large}`,
  )
  const rows = await database.crossTenantQuery<{ id: string }>(
    'check the database',
    sql`select id from contacts where deleted_at is null and organization_id = ${large?.id}::uuid
      order by created_at desc, id desc offset ${first} limit ${count}`,
  )
  return rows.map(({ id }) => encodeId('con', id))
}

browserTest('rows inserted while the list is open are neither missing nor shown twice', async () => {
  const call = await callAs()
  await grid.scrollTo(0)
  await page.reload()
  await grid.settle()
  const before = Number(await grid.box.getAttribute('aria-rowcount'))
  for (let count = 0; count < 3; count++) {
    const { status } = await call('POST', '/v5/contacts', { body: { name: `Inserted while open ${count}` } })
    expect(status).toBe(201)
    await grid.scrollTo(36 * 300 * (count + 1))
    await expect.poll(async () => (await grid.rows()).has(300 * (count + 1))).toBe(true)
  }
  await grid.settle()
  // Indexes before the insertion, so that nothing moves while the person reads.
  const shown = [...(await grid.rows()).values()]
  const all = await idsOf(newestFirst, 0, 1000)
  const first = all.indexOf(shown[0] ?? '')
  expect(shown).toEqual(all.slice(first, first + shown.length))
  await page.reload()
  await expect.poll(() => grid.box.getAttribute('aria-rowcount')).toBe(String(before + 3))
  await grid.settle()
  await expectRowsOfApi(newestFirst)
})

browserTest('a list ordered by name shows the same rows as the API at both ends', async () => {
  await page.goto('/contacts?orderBy=name&sort=asc&filter.status.equals=archived')
  await grid.settle()
  await expectRowsOfApi('orderBy=name&sort=asc&filter.status.equals=archived')
  await grid.box.focus()
  await grid.press('Control+End')
  await grid.settle()
  const call = await callAs()
  const { body } = await call('GET', '/v5/contacts?orderBy=name&sort=desc&filter.status.equals=archived&limit=1')
  await expect.poll(() => grid.activeId()).toBe(body[0].id)
})
