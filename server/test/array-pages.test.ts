import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../src/app.ts'
import { sortablePaths } from '../src/platform/records/request/array-page.ts'
import { allPages } from './all-pages.ts'
import { callAs } from './people.ts'
import { startTestService, type Call, type Json, type TestOrganization, type TestService } from './service.ts'

let service: TestService
let organization: TestOrganization
let person: Call
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  const currencies = ['EUR', 'USD', 'GBP', 'CHF', 'JPY']
  for (const [index, currency] of currencies.entries()) {
    const body = {
      name: `Deal ${index}`,
      amount: `${index * 700}.50`,
      currency,
      expectedCloseDate: `2027-0${index + 1}-15`,
    }
    expect((await organization.call('POST', '/v5/deals', { body })).status).toBe(201)
  }
  person = callAs(service, organization.accessToken)
})
afterAll(() => service.close())

const arrays = routes.flatMap((route) => {
  const { query, method, path, kind } = route
  const pages = query.kind === 'array' ? query : 'pages' in query ? query.pages : undefined
  return pages && method === 'GET' ? [{ path, item: pages.item, isPersonal: kind === 'account' }] : []
})

const get = (isPersonal: boolean) => (path: string) => (isPersonal ? person : organization.call)('GET', path)
const idsOf = (items: readonly Json[]): string[] => items.map(({ id }) => id)

test('every response that is an array has pages', () => {
  const complete = routes.filter(({ responses, query, method }) => {
    const declared = responses[200]
    const isArray = declared?.kind === 'list' || (declared?.kind === 'schema' && declared.schema.type === 'array')
    const hasCursors = query.kind === 'parameters' && 'startingAfter' in query.parameters
    const isPaged = hasCursors || query.kind === 'list' || query.kind === 'array' || 'pages' in query
    return isArray && method === 'GET' && !isPaged
  })
  expect(complete.map(({ path }) => path)).toEqual([])
  expect(arrays.length).toBeGreaterThan(7)
})

test.each(arrays)('$path: pages add up to the whole array, forwards and backwards, in any order', async (array) => {
  const read = get(array.isPersonal)
  const whole = await allPages(read, array.path)
  for (const order of ['', ...sortablePaths(array.item).map((path) => `orderBy=${path}&sort=asc`)]) {
    const sorted = await allPages(read, `${array.path}?${order}`)
    expect([order, idsOf(sorted).sort()]).toEqual([order, idsOf(whole).sort()])
    if (order.includes('orderBy=description')) continue
    const size = Math.max(1, Math.ceil(whole.length / 3))
    expect([order, idsOf(await allPages(read, `${array.path}?${order}`, size))]).toEqual([order, idsOf(sorted)])
    const [last] = sorted.slice(-1)
    if (!last) continue
    const before = await read(`${array.path}?${order}&limit=2&endingBefore=${encodeURIComponent(last.id)}`)
    expect([order, idsOf(before.body)]).toEqual([order, idsOf(sorted.slice(-3, -1))])
    const after = await read(`${array.path}?${order}&startingAfter=${encodeURIComponent(last.id)}`)
    expect([order, after.body]).toEqual([order, []])
  }
})

test('an array is 25 items long by default', async () => {
  expect((await get(false)('/v5/scopes')).body).toHaveLength(25)
})

test('sums are ordered as numbers, and a month that is missing comes last in both directions', async () => {
  const { body: sums } = await get(false)('/v5/deals/summary?orderBy=sum')
  expect(sums.map(({ sum }: Json) => sum)).toEqual(['2800.50', '2100.50', '1400.50', '700.50', '0.50'])
  const { body: none } = await organization.call('POST', '/v5/deals', { body: { name: 'Some day' } })
  for (const sort of ['asc', 'desc']) {
    const { body } = await get(false)(`/v5/deals/forecast?orderBy=month&sort=${sort}`)
    expect([sort, body.at(-1).month]).toEqual([sort, null])
  }
  await organization.call('DELETE', `/v5/deals/${none.id}`)
})

test.each([
  ['limit=0', 'limit'],
  ['limit=101', 'limit'],
  ['limit=1&limit=2', 'limit'],
  ['sort=up', 'sort'],
  ['orderBy=', 'orderBy'],
  ['orderBy=colour', 'orderBy'],
  ['orderBy=reach', 'orderBy'],
  ['startingAfter=owner&endingBefore=owner', 'endingBefore'],
  ['page=2', 'page'],
])('?%s is refused', async (query, field) => {
  const { status, body } = await get(false)(`/v5/roles/built-in?${query}`)
  expect([status, body.code, body.details.map((one: Json) => one.field)]).toEqual([400, 'invalid_parameters', [field]])
})

test('a cursor of an item that does not exist is 404, and one of Link survives that its item goes', async () => {
  expect((await get(false)('/v5/roles/built-in?startingAfter=nobody')).status).toBe(404)
  const first = await organization.call('GET', '/v5/deals/summary?orderBy=sum&limit=2')
  const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
  const { body: deals } = await organization.call('GET', '/v5/deals?currency=CHF')
  await organization.call('DELETE', `/v5/deals/${deals[0].id}`)
  const { pathname, search } = new URL(next)
  const second = await organization.call('GET', pathname + search)
  expect([second.status, second.body.map(({ currency }: Json) => currency)]).toEqual([200, ['GBP', 'USD']])
})
