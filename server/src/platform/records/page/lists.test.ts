import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectRefused, repeated, namesOf, withContacts } from '../../../../test/list-calls.ts'
import { type Json, startTestService, type TestService } from '../../../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

test('without parameters a list returns the newest 25 records as an array', async () => {
  const call = await withContacts(
    service,
    Array.from({ length: 26 }, () => ({})),
  )
  const { body } = await call('GET', '/v5/contacts')
  expect(body.map(({ name }: Json) => name)).toEqual(Array.from({ length: 25 }, (_, index) => `${26 - index}`))
  expect((await call('GET', '/v5/contacts?limit=100')).body).toHaveLength(26)
  expect((await call('GET', '/v5/contacts?limit=1')).body).toHaveLength(1)
})

test('limit must be a whole number from 1 to 100', async () => {
  const { call } = await service.newOrganization()
  const message = 'whole number from 1 to 100'
  await expectRefused(call, {
    'limit=0': ['limit', message],
    'limit=101': ['limit', message],
    'limit=-1': ['limit', message],
    'limit=1.5': ['limit', message],
    'limit=1e1': ['limit', message],
    'limit=ten': ['limit', message],
    'limit=99999999999999999999': ['limit', message],
    'limit=': ['limit', 'expected a value'],
  })
})

test('an unknown, empty or repeated parameter is rejected, and all errors are reported at once', async () => {
  const { call } = await service.newOrganization()
  await expectRefused(call, {
    'offset=5': ['offset', 'unknown parameter'],
    'starting_after=x': ['starting_after', 'unknown parameter'],
    'limt=5': ['limt', 'did you mean limit?'],
    'emial=x': ['emial', 'did you mean email?'],
    'limit=5&limit=5': ['limit', 'given twice'],
    'sort=asc&sort=desc': ['sort', 'given twice'],
    'query=': ['query', 'expected a value'],
    'orderBy=': ['orderBy', 'expected a value'],
    'startingAfter=': ['startingAfter', 'expected a value'],
    'sort=up': ['sort', 'asc or desc'],
    'sort=ASC': ['sort', 'asc or desc'],
  })
  const { body } = await call('GET', '/v5/contacts?limit=0&sort=up&orderBy=nothing&filter.email.gt=1&offset=2')
  expect(body.details.map(({ field }: Json) => field).sort()).toEqual(
    ['filter.email.gt', 'limit', 'offset', 'orderBy', 'sort'].sort(),
  )
})

test('a cursor must be the id of a record of this list, and only one cursor is accepted', async () => {
  const call = await withContacts(service, [{}, {}, {}])
  const other = await withContacts(service, [{}])
  const [newest, middle, oldest] = (await call('GET', '/v5/contacts')).body.map(({ id }: Json) => id)
  const ids = async (query: string) => (await call('GET', `/v5/contacts?${query}`)).body.map(({ id }: Json) => id)
  expect(await ids(`startingAfter=${newest}`)).toEqual([middle, oldest])
  expect(await ids(`startingAfter=${oldest}`)).toEqual([])
  expect(await ids(`endingBefore=${oldest}&limit=1`)).toEqual([middle])
  expect(await ids(`endingBefore=${newest}`)).toEqual([])
  await expectRefused(call, {
    [`startingAfter=${newest}&endingBefore=${oldest}`]: ['endingBefore', 'cannot be combined'],
    'startingAfter=5': ['startingAfter', 'expected the id of a contact'],
    'endingBefore=con_!': ['endingBefore', 'expected the id of a contact'],
    [`startingAfter=${newest.replace('con_', 'com_')}`]: ['startingAfter', 'expected the id of a contact'],
    'startingAfter=cur_abc': ['startingAfter', 'not a valid cursor of this list'],
  })
  const [foreign] = (await other('GET', '/v5/contacts')).body
  for (const id of [
    'con_00000000000000000000000000000000',
    'con_AbC123',
    foreign.id,
    newest.toUpperCase().replace('CON', 'con'),
  ]) {
    const response = await call('GET', `/v5/contacts?startingAfter=${id}`)
    expect([id, response.status, response.body]).toMatchObject([
      id,
      404,
      { code: 'not_found', details: [{ field: 'startingAfter' }] },
    ])
  }
})

test('an opaque cursor is only valid for its list, its order and its organization', async () => {
  const { call } = await service.newOrganization()
  const other = await service.newOrganization()
  for (const name of ['a', 'b']) {
    await call('POST', '/v5/contacts', { body: { name } })
    await call('POST', '/v5/companies', { body: { name } })
  }
  const { headers } = await call('GET', '/v5/contacts?limit=1')
  const cursor = /startingAfter=(cur_[^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? ''
  expect((await call('GET', `/v5/contacts?startingAfter=${cursor}`)).body).toMatchObject([{ name: 'a' }])
  await expectRefused(call, {
    [`startingAfter=${cursor}&orderBy=name`]: ['startingAfter', 'belongs to orderBy=createdAt'],
  })
  for (const [caller, path] of [
    [call, '/v5/companies'],
    [other.call, '/v5/contacts'],
  ] as const) {
    expect((await caller('GET', `${path}?startingAfter=${cursor}`)).status).toBe(404)
  }
  const forged = `${cursor.slice(0, -4)}${cursor.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`
  expect((await call('GET', `/v5/contacts?startingAfter=${forged}`)).status).toBe(404)
})

test('records without the value come last in both directions', async () => {
  const call = await withContacts(service, [{ city: 'b' }, {}, { city: 'A' }, {}, { city: 'á' }])
  expect(await namesOf(call, 'orderBy=city')).toEqual(['3', '5', '1', '2', '4'])
  const { body } = await call('GET', '/v5/contacts?orderBy=city&sort=desc')
  expect(body.map(({ name }: Json) => name)).toEqual(['1', '5', '3', '4', '2'])
})

test('custom properties sort by type and then by value, company by its name and tags by their sorted text', async () => {
  const { call } = await service.newOrganization()
  const companies = []
  for (const name of ['Zeta', 'alpha'])
    companies.push((await call('POST', '/v5/companies', { body: { name } })).body.id)
  const values = ['10', 9, true, 10, { a: 1 }, 'Apple', false, undefined]
  for (const [index, x] of values.entries()) {
    const body = {
      name: `${index + 1}`,
      companyId: companies[index] ?? null,
      tags:
        [
          ['b', 'a'],
          ['a', 'C'],
        ][index] ?? [],
    }
    await call('POST', '/v5/contacts', { body: { ...body, customProperties: { x } } })
  }
  expect(await namesOf(call, 'orderBy=customProperties.x')).toEqual(['2', '4', '1', '6', '7', '3', '5', '8'])
  expect(await namesOf(call, 'orderBy=company&filter.companyId.not=null')).toEqual(['2', '1'])
  expect(await namesOf(call, 'orderBy=tags&filter.tags.isEmpty=false')).toEqual(['1', '2'])
  await expectRefused(call, {
    'orderBy=customProperties': ['orderBy', 'cannot be sorted by'],
    'orderBy=externalIds': ['orderBy', 'cannot be sorted by'],
    'orderBy=customProperties.': ['orderBy', 'expected a key'],
    'orderBy=emial': ['orderBy', 'did you mean email?'],
    'orderBy=company.city': ['orderBy', 'company has id, name, domain'],
    'orderBy=email.x': ['orderBy', 'no fields of its own'],
    'orderBy=email_key': ['orderBy', '"email_key": unknown field'],
    'orderBy=deletedAt': ['orderBy', 'unknown field'],
    'orderBy=name;drop table contacts': ['orderBy', 'unknown field'],
  })
})

test('query requires every word and matches parts of words, including one or two letters and punctuation', async () => {
  const { call } = await service.newOrganization()
  const { body: company } = await call('POST', '/v5/companies', {
    body: { name: 'Größe & Söhne', domain: 'groesse.example' },
  })
  const bodies = [
    { firstName: 'Ada', lastName: "O'Brien", email: 'ada+crm@example.com', phone: '+493012345' },
    { name: 'Zoë Müller', employmentTitle: 'Head of R&D', tags: ['early-bird', '50%'] },
    { name: 'Жанна', nickname: 'Ёлка', companyId: company.id },
    { name: '日本 花子', bio: 'notsearched', city: 'Notsearched' },
  ]
  for (const body of bodies) await call('POST', '/v5/contacts', { body })
  const cases: Record<string, string[]> = {
    ada: ["Ada O'Brien"],
    'brien ADA': ["Ada O'Brien"],
    "o'b": ["Ada O'Brien"],
    obrien: [],
    'ada+crm': ["Ada O'Brien"],
    '3012': ["Ada O'Brien"],
    '+49301': ["Ada O'Brien"],
    'zoe muller': ['Zoë Müller'],
    'r&d': ['Zoë Müller'],
    'early-b': ['Zoë Müller'],
    '50%': ['Zoë Müller'],
    '5%': [],
    'early-bird,50%': [],
    z: ['Zoë Müller'],
    жа: ['Жанна'],
    елка: ['Жанна'],
    'grosse sohne': ['Жанна'],
    'жанна groß': ['Жанна'],
    花子: ['日本 花子'],
    花: ['日本 花子'],
    'ada zoë': [],
    notsearched: [],
    groesse: [],
    _: [],
  }
  for (const [searchText, names] of Object.entries(cases)) {
    expect([searchText, await namesOf(call, `query=${encodeURIComponent(searchText)}`)]).toEqual([searchText, names])
    const count = await call('GET', `/v5/contacts/count?query=${encodeURIComponent(searchText)}`)
    expect([searchText, count.body]).toEqual([searchText, { count: names.length }])
  }
  await expectRefused(call, {
    'query=+++': ['query', 'expected a word'],
    'query=%0A%09': ['query', 'expected a word'],
    [`query=${repeated(21, () => 'w').replaceAll('&', '+')}`]: ['query', 'at most 20 words'],
  })
})

test('the numbers of filters, values and selected fields are limited', async () => {
  const call = await withContacts(service, [{}])
  const fields = ['id', 'email', 'name', 'city']
  expect(
    await namesOf(
      call,
      repeated(25, () => 'filter.name.equals=1'),
    ),
  ).toEqual(['1'])
  expect(await namesOf(call, `filter.name.in=${repeated(100, String).replaceAll('&', ',')}`)).toEqual(['1'])
  expect((await call('GET', `/v5/contacts?${repeated(100, (index) => `select[]=${fields[index % 4]}`)}`)).status).toBe(
    200,
  )
  await expectRefused(call, {
    [repeated(26, () => 'filter.name.equals=1')]: ['filter', 'at most 25 filters'],
    [`filter.name.in=${repeated(101, String).replaceAll('&', ',')}`]: ['filter.name.in', 'at most 100 values'],
    [repeated(101, (index) => `select[]=${fields[index % 4]}`)]: ['select[]', 'at most 100 fields'],
  })
})

test('select returns only the named fields, in each of its spellings', async () => {
  const call = await withContacts(service, [{ city: 'Paris', customProperties: { a: { b: 1, c: 2 }, d: 3 } }])
  const cases: Record<string, unknown> = {
    'select[]=city': { city: 'Paris' },
    'select%5B%5D=city&select%5B%5D=name': { name: '1', city: 'Paris' },
    'select=city,name': { name: '1', city: 'Paris' },
    'select[0]=city&select[1]=name': { name: '1', city: 'Paris' },
    'select[]=city&select[]=city': { city: 'Paris' },
    'select[]=customProperties.a.b': { customProperties: { a: { b: 1 } } },
    'select[]=customProperties.a.b&select[]=customProperties.d': { customProperties: { a: { b: 1 }, d: 3 } },
    'select[]=customProperties.a.b&select[]=customProperties': { customProperties: { a: { b: 1, c: 2 }, d: 3 } },
    'select[]=customProperties.missing': { customProperties: { missing: null } },
    'select[]=company': { company: null },
    'select[]=company.name': { company: null },
  }
  for (const [query, record] of Object.entries(cases)) {
    expect([query, (await call('GET', `/v5/contacts?${query}`)).body]).toEqual([query, [record]])
  }
  await expectRefused(call, {
    'select[]=': ['select[]', 'expected the name'],
    'select=city,': ['select', 'expected the name'],
    'select[]=emial': ['select[]', '"emial": unknown field; did you mean email?'],
    'select=city,bogus': ['select[]', '"bogus": unknown field'],
    'select[]=city.x': ['select[]', 'no fields of its own'],
    'select[]=company.secret': ['select[]', 'company has id, name, domain'],
    'select[]=email_key': ['select[]', 'unknown field'],
    'select[x]=city': ['select[x]', 'unknown parameter'],
  })
})

test('count accepts the filters of the list and no other parameters', async () => {
  const call = await withContacts(service, [{ tags: ['a'] }, { tags: ['a'] }, {}])
  expect((await call('GET', '/v5/contacts/count')).text).toBe('{"count":3}')
  expect((await call('GET', '/v5/contacts/count?tags=a')).body).toEqual({ count: 2 })
  expect((await call('GET', '/v5/contacts/count?filter.name.not=1&query=2')).body).toEqual({ count: 1 })
  await expectRefused(
    call,
    {
      'limit=5': ['limit', 'unknown parameter'],
      'orderBy=name': ['orderBy', 'unknown parameter'],
      'startingAfter=x': ['startingAfter', 'unknown parameter'],
      'select[]=name': ['select', 'no fields to select'],
      'filter.emial.equals=x': ['filter.emial.equals', 'did you mean email?'],
    },
    '/v5/contacts/count',
  )
})

test('a search text that folds to nothing is rejected, because it would match everything', async () => {
  const { call } = await service.newOrganization()
  const message = 'besides accents'
  await expectRefused(call, {
    'query=%CC%81': ['query', message],
    'query=ada+%CC%81': ['query', message],
    'filter.email.contains=%CC%81': ['filter.email.contains', message],
    'filter.nickname.startsWith=%CC%81%CC%88': ['filter.nickname.startsWith', message],
    'filter.customProperties.k.endsWith=%CC%81': ['filter.customProperties.k.endsWith', message],
  })
})
