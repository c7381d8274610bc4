import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let service: TestService
let organization: TestOrganization
let companyId: string
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  const { call } = organization
  companyId = (await call('POST', '/v5/companies', { body: { name: 'Engines' } })).body.id
  for (const [resource, key, type, more] of definitions) {
    const body = { resource, key, type, label: key, ...more }
    const made = await call('POST', '/v5/properties', { body })
    expect(made.status, made.text).toBe(201)
  }
  for (const [name, customProperties] of Object.entries(people(companyId)))
    await call('POST', '/v5/contacts', { body: { name, customProperties } })
})
afterAll(() => service.close())

const choices = ['free', 'pro', 'max'].map((value) => ({ value, label: value.toUpperCase() }))
const definitions: [string, string, string, Json?][] = [
  ['contacts', 'note', 'text'],
  ['contacts', 'seats', 'number'],
  ['contacts', 'vip', 'boolean'],
  ['contacts', 'renewsOn', 'date'],
  ['contacts', 'seenAt', 'instant'],
  ['contacts', 'plan', 'choice', { choices }],
  ['contacts', 'plans', 'multiChoice', { choices }],
  ['contacts', 'mobile', 'phone'],
  ['contacts', 'price', 'money'],
  ['contacts', 'partner', 'reference', { references: 'companies' }],
]

const people = (partner: string): Record<string, Json> => ({
  Ada: {
    note: '42',
    seats: 42,
    vip: true,
    renewsOn: '2026-12-24',
    seenAt: '2026-11-01T10:00:00Z',
    plan: 'pro',
    plans: ['pro', 'max'],
    mobile: '+49301234567',
    price: { amount: '100.50', currency: 'EUR' },
    partner,
  },
  Bob: { note: 'École', seats: 7, vip: false, renewsOn: '2027-01-01', plan: 'free', plans: ['free'], other: 42 },
  Cid: { seats: 7.5, price: { amount: '99', currency: 'USD' } },
})

const found = async (query: string): Promise<string> => {
  const { status, body, text } = await organization.call('GET', `/v5/contacts?sort=asc&${query}`)
  expect(status, text).toBe(200)
  return body.map(({ name }: Json) => name).join(' ')
}

test.each([
  // 42 is the text here, and the number there.
  ['note.equals=42', 'Ada'],
  ['seats.equals=42', 'Ada'],
  ['seats.equals=42.0', 'Ada'],
  ['other.equals=42', 'Bob'],
  ['note.not=42', 'Bob Cid'],
  ['note.contains=ecol', 'Bob'],
  ['note.startsWith=4', 'Ada'],
  ['note.equals=null', 'Cid'],
  ['seats.gte=7.5', 'Ada Cid'],
  ['seats.in=7,42', 'Ada Bob'],
  ['seats.not=7', 'Ada Cid'],
  ['vip.equals=true', 'Ada'],
  ['vip.not=true', 'Bob Cid'],
  ['renewsOn.equals=2026-12-24', 'Ada'],
  ['renewsOn.gt=2026-12-24', 'Bob'],
  ['seenAt.equals=2026-11-01', 'Ada'],
  ['seenAt.lt=2026-11-01T11:00:01%2B01:00', 'Ada'],
  ['plan.in=pro,free', 'Ada Bob'],
  ['plan.notIn=pro', 'Bob Cid'],
  ['plans.has=max', 'Ada'],
  ['plans.hasEvery=max,pro', 'Ada'],
  ['plans.hasSome=max,free', 'Ada Bob'],
  ['plans.isEmpty=true', 'Cid'],
  ['mobile.equals=%2B49 (30) 1234567', 'Ada'],
  ['price.amount.gt=99.5', 'Ada'],
  ['price.amount.equals=100.5', 'Ada'],
  ['price.currency.equals=usd', 'Cid'],
  ['price.amount.equals=null', 'Bob'],
])('filter.customProperties.%s finds %s', async (filter, names) => {
  expect(await found(`filter.customProperties.${filter}`)).toBe(names)
})

test('a reference is found by its id, and relations, relative dates and views use the definitions too', async () => {
  const { call } = organization
  expect(await found(`filter.customProperties.partner.equals=${companyId}`)).toBe('Ada')
  expect(await found(`filter.customProperties.partner.not=${companyId}`)).toBe('Bob Cid')
  const search = async (resource: string, filter: Json) =>
    (await call('POST', `/v5/${resource}/search`, { body: { filter, sort: 'asc' } })).body.map(({ name }: Json) => name)
  expect(await search('contacts', { not: { 'customProperties.seats': { gt: 7 } } })).toEqual(['Bob'])
  expect(await search('contacts', { 'customProperties.renewsOn': { gt: { next: { days: 1 } } } })).toEqual([
    'Ada',
    'Bob',
  ])
  await call('PATCH', `/v5/contacts/${(await call('GET', '/v5/contacts?name=Ada')).body[0].id}`, {
    body: { companyId },
  })
  expect(await search('companies', { contacts: { some: { 'customProperties.seats': { equals: 42 } } } })).toEqual([
    'Engines',
  ])
  expect(await search('companies', { contacts: { some: { 'customProperties.note': { equals: '7' } } } })).toEqual([])

  const view = { resource: 'contacts', name: 'Many seats', filter: { 'customProperties.seats': { gt: 7 } } }
  const order = { orderBy: 'customProperties.seats', sort: 'asc', columns: ['customProperties.seats'] }
  const { body: saved } = await call('POST', '/v5/views', { body: { ...view, ...order } })
  expect((await call('GET', `/v5/contacts?view=${saved.id}`)).body.map(({ name }: Json) => name)).toEqual([
    'Cid',
    'Ada',
  ])
  expect((await call('GET', `/v5/contacts/count?view=${saved.id}`)).body.count).toBe(2)
  const wrong = { ...view, filter: { 'customProperties.seats': { contains: '7' } } }
  const refused = await call('POST', '/v5/views', { body: wrong })
  expect(refused).toMatchObject({
    status: 422,
    body: { details: [{ field: 'filter.customProperties.seats.contains' }] },
  })
})

test.each([
  ['seats.contains=4', /supports equals, not, gt, gte, lt, lte, in; found "contains"/],
  ['seats.gt=many', /expected a number/],
  ['vip.equals=yes', /expected true or false/],
  ['renewsOn.equals=tomorrow', /expected an ISO 8601 date/],
  ['plan.equals=gold', /expected one of free, pro, max/],
  ['plans.has=gold', /expected one of free, pro, max/],
  ['price.gt=5', /use one of its fields/],
  ['price.amount.contains=5', /supports/],
  ['price.tax.gt=5', /has amount, currency/],
  ['seats.inner.gt=5', /has no fields of its own/],
])('filter.customProperties.%s is rejected', async (filter, message) => {
  const refused = await organization.call('GET', `/v5/contacts?filter.customProperties.${filter}`)
  expect(refused, refused.text).toMatchObject({ status: 400, body: { code: 'invalid_parameters' } })
  expect(refused.body.details[0].message).toMatch(message)
})

test('records are sorted by the type of a property, those without a value last, and pages continue', async () => {
  const { call } = organization
  for (const [key, ascending] of [
    ['seats', 'Bob Cid Ada'],
    ['note', 'Ada Bob Cid'],
    ['renewsOn', 'Ada Bob Cid'],
    ['price.amount', 'Cid Ada Bob'],
    ['plans', 'Bob Ada Cid'],
  ]) {
    expect([key, await found(`orderBy=customProperties.${key}`)]).toEqual([key, ascending])
    const names: string[] = []
    for (let path: string | undefined = `/v5/contacts?limit=1&sort=asc&orderBy=customProperties.${key}`; path;) {
      const page: Json = await call('GET', path)
      names.push(...page.body.map(({ name }: Json) => name))
      const next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1]
      path = next && next.replace(/^https?:\/\/[^/]+/, '')
    }
    expect([key, names.join(' ')]).toEqual([key, ascending])
  }
  expect((await call('GET', '/v5/contacts?orderBy=customProperties.price')).status).toBe(400)
})

test('a cursor from before a definition is rejected, because the order has changed', async () => {
  const { call } = await service.newOrganization()
  for (const rank of ['b', 'a'])
    await call('POST', '/v5/contacts', { body: { name: rank, customProperties: { rank } } })
  const { headers } = await call('GET', '/v5/contacts?limit=1&orderBy=customProperties.rank')
  const next = (/<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? '').replace(/^https?:\/\/[^/]+/, '')
  expect((await call('GET', next)).status).toBe(200)
  await call('POST', '/v5/properties', { body: { resource: 'contacts', key: 'rank', type: 'text', label: 'Rank' } })
  expect(await call('GET', next)).toMatchObject({ status: 400, body: { details: [{ field: 'startingAfter' }] } })
})
