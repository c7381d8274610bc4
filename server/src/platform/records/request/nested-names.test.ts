import { afterAll, beforeAll, expect, test } from 'vitest'
import { addImport, addRows } from '../../../../test/import-rows.ts'
import { expectFound, expectRefused, withContacts } from '../../../../test/list-calls.ts'
import { type Call, startTestService, type TestService } from '../../../../test/service.ts'

// How generated clients send the object `filters` and the list `select[]` of the OpenAPI document.

let service: TestService
let call: Call
beforeAll(async () => {
  service = await startTestService()
  call = await withContacts(service, [
    { city: 'Paris', tags: ['a'], customProperties: { plan: 'pro', seats: { used: 3 } } },
    { city: 'Paris', tags: ['b'], customProperties: { plan: 'free' } },
    { city: 'Parma', tags: ['a'] },
  ])
})
afterAll(() => service.close())

test('a filter in brackets or after a dot means the same as without, and filters in both forms both apply', async () => {
  await expectFound(call, {
    'filters[filter.city.equals]=Paris': [1, 2],
    'filters%5Bfilter.city.equals%5D=Paris': [1, 2],
    'filters%5bfilter%2Ecity%2Eequals%5d=Paris': [1, 2],
    'filters[filter][city][equals]=Paris': [1, 2],
    'filters.filter.city.equals=Paris': [1, 2],
    'filters[filter.city.in]=Parma,Rome': [3],
    'filters[tags]=a': [1, 3],
    'filters[city]=Parma': [3],
    'filters[filter.customProperties.plan.equals]=pro': [1],
    'filters[filter][customProperties][seats][used][gte]=3': [1],
    'filters[filter.tags.has]=a&filters[filter.city.equals]=Paris': [1],
    'filters[filter.tags.has]=a&filters[filter.tags.has]=b': [],
    'filters[filter.city.equals]=Paris&filter.city.equals=Parma': [],
    'filters[filter.city.equals]=Paris&filter.tags.has=b': [2],
  })
})

test('what could mean something else is refused with what to send instead', async () => {
  await expectRefused(call, {
    'filters=[object%20Object]': ['filters', 'send each filter as a parameter'],
    'filters={"filter.city.equals":"Paris"}': ['filters', 'as in filter.email.contains=ada'],
    'filters[]=x': ['filters[]', 'send each filter as a parameter'],
    'filters[filter][][equals]=x': ['filters[filter][][equals]', 'send each filter as a parameter'],
    'filters[filter.city.in][]=Paris': ['filters[filter.city.in][]', 'separate the values'],
    'filters[filter.city.in][0]=Paris': ['filters[filter.city.in][0]', 'separate the values'],
    'filters[filter.city.equals=Paris': ['filters[filter.city.equals', 'send each filter as a parameter'],
    'filters[filter.sity.equals]=x': ['filter.sity.equals', 'did you mean city?'],
    'filters[filter.city.gt]=x': ['filter.city.gt', 'supports equals'],
    'select[][name]=city': ['select[][name]', 'send select[]=<field>'],
  })
})

test('select[] is accepted with the brackets that clients add to lists', async () => {
  for (const query of ['select[][]=name&select[][]=city', 'select[][0]=name&select[][1]=city']) {
    const { body } = await call('GET', `/v5/contacts?sort=asc&limit=1&${query}`)
    expect(body).toEqual([{ name: '1', city: 'Paris' }])
  }
  const [{ id }] = (await call('GET', '/v5/contacts?limit=1&sort=asc')).body
  expect((await call('GET', `/v5/contacts/${id}?select%5B%5D%5B%5D=customProperties.plan`)).body).toEqual({
    customProperties: { plan: 'pro' },
  })
})

test('they work wherever filters are accepted: counts, links to pages, views, sums and changes by filter', async () => {
  const filter = 'filters[filter.city.equals]=Paris'
  expect((await call('GET', `/v5/contacts/count?${filter}`)).body).toEqual({ count: 2 })
  const { headers } = await call('GET', `/v5/contacts?limit=1&sort=asc&${filter}`)
  const [, next = ''] = /<[^>]*(\/v5\/[^>]*)>; rel="next"/.exec(headers.get('link') ?? '') ?? []
  expect((await call('GET', next)).body.map(({ name }: { name: string }) => name)).toEqual(['2'])

  const view = { name: 'a', resource: 'contacts', filter: { tags: { has: 'a' } } }
  const { id } = (await call('POST', '/v5/views', { body: view })).body
  await expectFound(call, { [`view=${id}&${filter}`]: [1] })

  for (const amount of ['10', '20'])
    await call('POST', '/v5/deals', { body: { name: amount, amount, currency: 'EUR' } })
  const sumsOf = async (query: string) => (await call('GET', `/v5/deals/summary?${query}`)).text
  expect(await sumsOf('filters[filter.name.equals]=20')).toBe(await sumsOf('filter.name.equals=20'))
  expect(await sumsOf('filters[filter.name.equals]=20')).not.toBe(await sumsOf(''))

  const organization = await service.newOrganization()
  const importId = await addImport(service, organization)
  await addRows(service, importId, [{ status: 'DEAD' }, { status: 'INVALID' }])
  const path = `/v5/imports/${importId}/rows`
  expect((await organization.call('POST', `${path}/retry?filters[filter.status.equals]=DEAD`)).body.count).toBe(1)
})

test('a route without filters refuses them', async () => {
  await expectRefused(call, { 'filters[filter.name.equals]=x': ['filters[filter.name.equals]', 'unknown'] }, '/v5/me')
})
