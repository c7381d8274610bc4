import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Call, type Json, startTestService, type TestService } from './service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

/** An organization with contacts that are told apart by their name, in the order given. */
async function withContacts(bodies: readonly object[]): Promise<Call> {
  const { call } = await service.newOrganization()
  for (const [index, body] of bodies.entries()) {
    const made = await call('POST', '/v5/contacts', { body: { name: `${index + 1}`, ...body } })
    if (made.status !== 201) throw new Error(made.text)
  }
  return call
}

/** The names that a query finds, the oldest contact first. */
async function namesOf(call: Call, query: string): Promise<string[]> {
  const { status, body, text } = await call('GET', `/v5/contacts?sort=asc&${query}`)
  if (status !== 200) throw new Error(`${query}: ${text}`)
  return body.map(({ name }: Json) => name)
}

/** Each query with the numbers of the contacts that it finds. */
async function expectFound(call: Call, cases: Record<string, number[]>): Promise<void> {
  for (const [query, numbers] of Object.entries(cases)) {
    expect([query, await namesOf(call, query)]).toEqual([query, numbers.map(String)])
  }
}

/** Each query with the field, and a part of the message, of its one fault. */
async function expectRefused(
  call: Call,
  cases: Record<string, [field: string, message: string]>,
  path = '/v5/contacts',
) {
  for (const [query, [field, message]] of Object.entries(cases)) {
    const { status, body } = await call('GET', `${path}?${query}`)
    expect([query, status, body]).toMatchObject([
      query,
      400,
      { code: 'invalid_parameters', status: 400, details: [{ field }] },
    ])
    expect([query, body.details[0].message]).toEqual([query, expect.stringContaining(message)])
  }
}

const many = (count: number, of: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => of(index)).join('&')

test('without parameters a list is the first 25 records, the newest first, as a bare array', async () => {
  const call = await withContacts(Array.from({ length: 26 }, () => ({})))
  const { body } = await call('GET', '/v5/contacts')
  expect(body.map(({ name }: Json) => name)).toEqual(Array.from({ length: 25 }, (_, index) => `${26 - index}`))
  expect((await call('GET', '/v5/contacts?limit=100')).body).toHaveLength(26)
  expect((await call('GET', '/v5/contacts?limit=1')).body).toHaveLength(1)
})

test('limit is a whole number from 1 to 100', async () => {
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
    'limit=': ['limit', 'needs a value'],
  })
})

test('a parameter that is not known, is empty or is given twice is refused, and all faults are told at once', async () => {
  const { call } = await service.newOrganization()
  await expectRefused(call, {
    'offset=5': ['offset', 'unknown parameter'],
    'starting_after=x': ['starting_after', 'unknown parameter'],
    'limt=5': ['limt', 'did you mean limit?'],
    'emial=x': ['emial', 'did you mean email?'],
    'limit=5&limit=5': ['limit', 'given twice'],
    'sort=asc&sort=desc': ['sort', 'given twice'],
    'query=': ['query', 'needs a value'],
    'orderBy=': ['orderBy', 'needs a value'],
    'startingAfter=': ['startingAfter', 'needs a value'],
    'sort=up': ['sort', 'asc or desc'],
    'sort=ASC': ['sort', 'asc or desc'],
  })
  const { body } = await call('GET', '/v5/contacts?limit=0&sort=up&orderBy=nothing&filter.email.gt=1&offset=2')
  expect(body.details.map(({ field }: Json) => field).sort()).toEqual(
    ['filter.email.gt', 'limit', 'offset', 'orderBy', 'sort'].sort(),
  )
})

test('a cursor is the id of a record of this list; both at once are refused', async () => {
  const call = await withContacts([{}, {}, {}])
  const other = await withContacts([{}])
  const [newest, middle, oldest] = (await call('GET', '/v5/contacts')).body.map(({ id }: Json) => id)
  const ids = async (query: string) => (await call('GET', `/v5/contacts?${query}`)).body.map(({ id }: Json) => id)
  expect(await ids(`startingAfter=${newest}`)).toEqual([middle, oldest])
  expect(await ids(`startingAfter=${oldest}`)).toEqual([])
  expect(await ids(`endingBefore=${oldest}&limit=1`)).toEqual([middle])
  expect(await ids(`endingBefore=${newest}`)).toEqual([])
  await expectRefused(call, {
    [`startingAfter=${newest}&endingBefore=${oldest}`]: ['endingBefore', 'not used together'],
    'startingAfter=5': ['startingAfter', 'must be the id of a contact'],
    'endingBefore=con_!': ['endingBefore', 'must be the id of a contact'],
    [`startingAfter=${newest.replace('con_', 'com_')}`]: ['startingAfter', 'must be the id of a contact'],
    'startingAfter=cur_abc': ['startingAfter', 'not a cursor of this list'],
  })
  const [foreign] = (await other('GET', '/v5/contacts')).body
  for (const id of [
    'con_00000000000000000000000000000000',
    'con_AbC123',
    foreign.id,
    newest.toUpperCase().replace('CON', 'con'),
  ]) {
    const answer = await call('GET', `/v5/contacts?startingAfter=${id}`)
    expect([id, answer.status, answer.body]).toMatchObject([
      id,
      404,
      { code: 'not_found', details: [{ field: 'startingAfter' }] },
    ])
  }
})

test('an opaque cursor belongs to its list, its order and its organization', async () => {
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
  const call = await withContacts([{ city: 'b' }, {}, { city: 'A' }, {}, { city: 'á' }])
  expect(await namesOf(call, 'orderBy=city')).toEqual(['3', '5', '1', '2', '4'])
  const { body } = await call('GET', '/v5/contacts?orderBy=city&sort=desc')
  expect(body.map(({ name }: Json) => name)).toEqual(['1', '5', '3', '4', '2'])
})

test('custom properties are ordered by type, then by value; company by its name; tags by their sorted text', async () => {
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
    'orderBy=customProperties': ['orderBy', 'cannot be ordered by'],
    'orderBy=externalIds': ['orderBy', 'cannot be ordered by'],
    'orderBy=customProperties.': ['orderBy', 'needs a key'],
    'orderBy=emial': ['orderBy', 'did you mean email?'],
    'orderBy=company.city': ['orderBy', 'company has id, name, domain'],
    'orderBy=email.x': ['orderBy', 'no fields of its own'],
    'orderBy=email_key': ['orderBy', 'unknown field'],
    'orderBy=deletedAt': ['orderBy', 'unknown field'],
    'orderBy=name;drop table contacts': ['orderBy', 'unknown field'],
  })
})

test('strings: equals is exact, contains and its kin fold case and accents, wildcards are letters', async () => {
  const call = await withContacts([
    { city: 'Zürich' },
    { city: 'ZURICH' },
    { city: '100%_a\\b' },
    { city: '100 ab' },
    {},
  ])
  await expectFound(call, {
    'filter.city.equals=Z%C3%BCrich': [1],
    'city=Z%C3%BCrich': [1],
    'filter.city.equals=zurich': [],
    'filter.city.not=ZURICH': [1, 3, 4, 5],
    'filter.city.contains=urIC': [1, 2],
    'filter.city.startsWith=z%C3%9C': [1, 2],
    'filter.city.startsWith=urich': [],
    'filter.city.endsWith=CH': [1, 2],
    'filter.city.endsWith=zuric': [],
    'filter.city.contains=%25': [3],
    'filter.city.contains=_': [3],
    'filter.city.contains=%5C': [3],
    'filter.city.contains=100+a': [4],
    'filter.city.in=ZURICH,100 ab,nowhere': [2, 4],
    'filter.city.notIn=ZURICH,100 ab': [1, 3, 5],
    'filter.city.equals=null': [5],
    'filter.city.not=null': [1, 2, 3, 4],
    'filter.city.in=null': [],
    'filter.city.contains=null': [],
  })
})

test('the same filter twice is both, as are different ones', async () => {
  const call = await withContacts([
    { city: 'Paris', nickname: 'a' },
    { city: 'Paris', nickname: 'b' },
    { city: 'Parma' },
  ])
  await expectFound(call, {
    'filter.city.contains=par&filter.city.contains=is': [1, 2],
    'filter.city.equals=Paris&filter.city.equals=Parma': [],
    'filter.city.equals=Paris&nickname=b': [2],
    'nickname=a&nickname=b': [],
  })
})

test('lists split on commas after decoding, and a backslash takes a comma literally', async () => {
  const call = await withContacts([{ tags: ['a,b', 'c'] }, { tags: ['a', 'b'] }, { tags: ['a\\'] }, { tags: [] }])
  await expectFound(call, {
    'tags=a': [2],
    'tags=a,b': [1],
    'filter.tags.has=a%2Cb': [1],
    'filter.tags.hasEvery=a,b': [2],
    'filter.tags.hasEvery=a%2Cb': [2],
    'filter.tags.hasEvery=a%5C,b,c': [1],
    'filter.tags.hasSome=c,b': [1, 2],
    'filter.tags.hasSome=a%5C%5C,x': [3],
    'filter.tags.isEmpty=true': [4],
    'filter.tags.isEmpty=false': [1, 2, 3],
    'filter.tags.has=A': [],
    'tags=a&tags=b': [2],
  })
  await expectRefused(call, {
    'filter.tags.hasSome=': ['filter.tags.hasSome', 'needs a value'],
    'filter.tags.hasSome=a,,b': ['filter.tags.hasSome', 'empty value'],
    'filter.tags.hasSome=a,': ['filter.tags.hasSome', 'empty value'],
    'filter.email.in=,': ['filter.email.in', 'empty value'],
    'tags=': ['tags', 'needs a value'],
    tags: ['tags', 'needs a value'],
    'filter.tags.isEmpty=yes': ['filter.tags.isEmpty', 'true or false'],
  })
})

test('an operator that is not of the type is refused, and the message says which are', async () => {
  const { call } = await service.newOrganization()
  await expectRefused(call, {
    'filter.email.gt=a': ['filter.email.gt', 'takes equals, not, contains'],
    'filter.email.has=a': ['filter.email.has', '"has" is none of them'],
    'filter.latitude.notIn=1': ['filter.latitude.notIn', 'takes equals, not, gt'],
    'filter.latitude.contains=1': ['filter.latitude.contains', 'none of them'],
    'filter.createdAt.contains=2026': ['filter.createdAt.contains', 'none of them'],
    'filter.createdAt.in=2026-01-01': ['filter.createdAt.in', 'none of them'],
    'filter.createdAt.not=2026-01-01': ['filter.createdAt.not', 'only null'],
    'filter.tags.equals=a': ['filter.tags.equals', 'takes has, hasEvery'],
    'filter.emailOptOut.in=true': ['filter.emailOptOut.in', 'takes equals, not'],
    'filter.emailOptOut.equals=yes': ['filter.emailOptOut.equals', 'true or false'],
    'filter.email.equal=a': ['filter.email.equal', '"equal" is none of them'],
    'filter.email.EQUALS=a': ['filter.email.EQUALS', 'none of them'],
    'filter.email=a': ['filter.email', 'needs an operator, as in filter.email.equals='],
    'filter.customProperties.plan=a': ['filter.customProperties.plan', 'needs an operator'],
    'filter.customProperties.plan.like=a': ['filter.customProperties.plan.like', '"like" is none of them'],
    'filter.customProperties.equals=a': ['filter.customProperties.equals', 'name one of its fields'],
    'filter.emial.equals=x': ['filter.emial.equals', 'did you mean email?'],
    'filter.company.revenue.equals=1': ['filter.company.revenue.equals', 'company has id, name, domain'],
    'filter..equals=x': ['filter..equals', 'unknown field'],
    'filter.=x': ['filter.', 'unknown field'],
    'filter.equals=x': ['filter.equals', 'unknown field'],
    'filter=x': ['filter', 'unknown parameter'],
  })
})

test('numbers compare as numbers, and only numbers are taken', async () => {
  const call = await withContacts([{ latitude: 0 }, { latitude: 10.5 }, { latitude: -10.5 }, {}])
  await expectFound(call, {
    'filter.latitude.equals=10.50': [2],
    'filter.latitude.equals=1.05e1': [2],
    'filter.latitude.equals=-0': [1],
    'filter.latitude.equals=1e-400': [1],
    'filter.latitude.not=0': [2, 3, 4],
    'filter.latitude.gt=-10.5': [1, 2],
    'filter.latitude.gte=-10.5': [1, 2, 3],
    'filter.latitude.lt=0': [3],
    'filter.latitude.lte=0': [1, 3],
    'filter.latitude.in=0,-10.5': [1, 3],
    'filter.latitude.equals=null': [4],
    'filter.latitude.not=null': [1, 2, 3],
    'filter.latitude.lt=123456789012345678901234567890': [1, 2, 3],
  })
  for (const bad of ['ten', '1,5', '0x10', 'NaN', 'Infinity', '1e400', '+', '1_000', `1${'0'.repeat(50)}`]) {
    await expectRefused(call, { [`filter.latitude.equals=${bad}`]: ['filter.latitude.equals', 'must be a number'] })
  }
})

test('ids of another form, or of another organization, match nothing', async () => {
  const { call } = await service.newOrganization()
  const { body: company } = await call('POST', '/v5/companies', { body: { name: 'Acme' } })
  await call('POST', '/v5/contacts', { body: { name: '1', companyId: company.id } })
  await call('POST', '/v5/contacts', { body: { name: '2' } })
  const other = await service.newOrganization()
  const { body: foreign } = await other.call('POST', '/v5/companies', { body: { name: 'Acme' } })
  await expectFound(call, {
    [`companyId=${company.id}`]: [1],
    [`filter.companyId.not=${company.id}`]: [2],
    [`filter.companyId.in=${company.id},nonsense`]: [1],
    [`filter.companyId.equals=${foreign.id}`]: [],
    [`filter.companyId.not=${foreign.id}`]: [1, 2],
    'filter.companyId.equals=nonsense': [],
    'filter.companyId.not=nonsense': [1, 2],
    'filter.companyId.equals=null': [2],
    'filter.companyId.not=null': [1],
    'filter.companyId.startsWith=com_': [1],
    'filter.company.name.equals=Acme': [1],
    'filter.company.name.not=Acme': [2],
    'filter.company.equals=Acme': [1],
    'company=Acme': [1],
  })
  await call('DELETE', `/v5/companies/${company.id}`)
  await expectFound(call, {
    'filter.companyId.equals=null': [1, 2],
    [`companyId=${company.id}`]: [],
    'filter.company.name.equals=Acme': [],
    'query=acme': [],
  })
})

test('a date is its whole UTC day, a timestamp is a moment', async () => {
  const dates = [
    '2026-01-01T23:59:59.999Z',
    '2026-01-02T00:00:00.000Z',
    '2026-01-02T23:59:59.999Z',
    '2026-01-03T00:00:00.000Z',
    null,
  ]
  const call = await withContacts(dates.map((day) => ({ customProperties: { day } })))
  const cases: Record<string, number[]> = {
    'gt=2026-01-02': [4],
    'gte=2026-01-02': [2, 3, 4],
    'lt=2026-01-02': [1],
    'lte=2026-01-02': [1, 2, 3],
    'gt=2026-01-02T00:00:00Z': [3, 4],
    'gte=2026-01-02T00:00:00.000Z': [2, 3, 4],
    'lt=2026-01-02T00:00:00': [1],
    'lte=2026-01-02T00:00Z': [1, 2],
    'lte=2026-01-02T01:00%2B01:00': [1, 2],
    'gte=2026-01-02T18:59:59.999-05:00': [3, 4],
  }
  for (const [filter, found] of Object.entries(cases)) {
    await expectFound(call, { [`filter.customProperties.day.${filter}`]: found })
  }
  // The service's own times are of today.
  const [first] = (await call('GET', '/v5/contacts?sort=asc')).body
  const day = first.createdAt.slice(0, 10)
  await expectFound(call, {
    [`filter.createdAt.equals=${first.createdAt}&name=1`]: [1],
    [`filter.createdAt.equals=${day}&name=1`]: [1],
    [`filter.createdAt.gt=${day}`]: [],
    [`filter.createdAt.lte=${day}&name=1`]: [1],
    [`createdAt=${day}&name=1`]: [1],
    'filter.lastActivityAt.equals=null': [1, 2, 3, 4, 5],
    'filter.lastActivityAt.not=null': [],
    'filter.createdAt.not=null': [1, 2, 3, 4, 5],
  })
})

test('what is no date is refused, with a hint where a plus became a space', async () => {
  const { call } = await service.newOrganization()
  const bad = ['yesterday', '2026', '2026-13-01', '2026-02-31', '2026-1-1', '2026-01-01T25:00Z', '2026-01-01T10:60Z']
  for (const value of [
    ...bad,
    '2026-01-01T10:00:60Z',
    '2026-01-01 10:00',
    '20260101',
    '1767225600',
    '0000-01-01',
    '-1',
  ]) {
    await expectRefused(call, { [`filter.createdAt.gte=${value}`]: ['filter.createdAt.gte', 'ISO 8601'] })
  }
  await expectRefused(call, {
    'filter.createdAt.gte=2026-01-01T10:00:00+01:00': ['filter.createdAt.gte', '%2B'],
    'filter.customProperties.x.gt=soon': ['filter.customProperties.x.gt', 'a number or an ISO 8601 date'],
    'filter.createdAt.gte=': ['filter.createdAt.gte', 'needs a value'],
  })
})

test('a custom property takes every operator, by what is stored in it', async () => {
  const values = [42, '42', true, 'true', ['a', 42], 'Prag', { b: { c: 'deep' } }, null, '', []]
  const call = await withContacts([...values.map((x) => ({ customProperties: { x } })), {}])
  const all = Array.from({ length: 11 }, (_, index) => index + 1)
  const without = (...numbers: number[]) => all.filter((number) => !numbers.includes(number))
  const cases: Record<string, number[]> = {
    'equals=42': [1, 2],
    'equals=42.0': [1],
    'equals=4.2e1': [1],
    'equals=042': [],
    'not=42': without(1, 2),
    'equals=true': [3, 4],
    'not=true': without(3, 4),
    'equals=Prag': [6],
    'equals=prag': [],
    'in=42,Prag': [1, 2, 6],
    'notIn=42,Prag': without(1, 2, 6),
    'equals=null': [8, 11],
    'not=null': without(8, 11),
    'contains=RA': [6],
    'startsWith=4': [2],
    'endsWith=2': [2],
    'gt=41': [1],
    'lte=42': [1],
    'lt=42': [],
    'has=a': [5],
    'has=42': [5],
    'hasEvery=a,42': [5],
    'hasSome=b,42': [5],
    'hasSome=b': [],
    'isEmpty=true': [8, 9, 10, 11],
    'isEmpty=false': without(8, 9, 10, 11),
    'b.c.equals=deep': [7],
    'b.c.not=deep': without(7),
    'b.c.contains=EE': [7],
    'b.equals=null': without(7),
  }
  for (const [filter, found] of Object.entries(cases)) {
    await expectFound(call, { [`filter.customProperties.x.${filter}`]: found })
  }
  await expectFound(call, { 'customProperties.x=42': [1, 2], 'customProperties.x.b.c=deep': [7] })
  // A place in a list is no key.
  await expectFound(call, { 'filter.customProperties.x.0.equals=a': [], 'filter.customProperties.x.0.not=a': all })
})

test('a property may be named like an operator, a prototype or SQL', async () => {
  const call = await withContacts([{ customProperties: { equals: 'a', constructor: 'b', not: { contains: 'c' } } }])
  const quote = encodeURIComponent(`x'; drop table contacts; --`)
  await expectFound(call, {
    'filter.customProperties.equals.equals=a': [1],
    'filter.customProperties.not.contains.equals=c': [1],
    'filter.customProperties.constructor.equals=b': [1],
    'filter.customProperties.__proto__.equals=null': [1],
    'filter.customProperties.toString.not=null': [],
    [`filter.customProperties.${quote}.equals=null`]: [1],
    [`filter.customProperties.x.equals=${quote}`]: [],
    [`orderBy=customProperties.${quote}`]: [1],
  })
  await expectRefused(call, {
    'filter.__proto__.equals=x': ['filter.__proto__.equals', 'unknown field'],
    'filter.constructor.equals=x': ['filter.constructor.equals', 'unknown field'],
    '__proto__=x': ['__proto__', 'unknown parameter'],
    'toString=x': ['toString', 'unknown parameter'],
    'select[]=__proto__': ['select[]', 'unknown field'],
    'orderBy=constructor': ['orderBy', 'unknown field'],
    [`filter.${quote}.equals=x`]: [decodeURIComponent(`filter.${quote}.equals`), 'unknown field'],
    'filter.customProperties..equals=x': ['filter.customProperties..equals', 'needs a key'],
    [`filter.customProperties.${many(17, () => 'a').replaceAll('&', '.')}.equals=x`]: [
      `filter.customProperties.${many(17, () => 'a').replaceAll('&', '.')}.equals`,
      'too deep',
    ],
  })
})

test('query finds every word somewhere: parts of words, of one or two letters too, with their punctuation', async () => {
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
  for (const [words, names] of Object.entries(cases)) {
    expect([words, await namesOf(call, `query=${encodeURIComponent(words)}`)]).toEqual([words, names])
    const count = await call('GET', `/v5/contacts/count?query=${encodeURIComponent(words)}`)
    expect([words, count.body]).toEqual([words, { count: names.length }])
  }
  await expectRefused(call, {
    'query=+++': ['query', 'needs a word'],
    'query=%0A%09': ['query', 'needs a word'],
    [`query=${many(21, () => 'w').replaceAll('&', '+')}`]: ['query', 'at most 20 words'],
  })
})

test('filters, values and selected fields are bounded', async () => {
  const call = await withContacts([{}])
  const fields = ['id', 'email', 'name', 'city']
  expect(
    await namesOf(
      call,
      many(25, () => 'filter.name.equals=1'),
    ),
  ).toEqual(['1'])
  expect(await namesOf(call, `filter.name.in=${many(100, String).replaceAll('&', ',')}`)).toEqual(['1'])
  expect((await call('GET', `/v5/contacts?${many(100, (index) => `select[]=${fields[index % 4]}`)}`)).status).toBe(200)
  await expectRefused(call, {
    [many(26, () => 'filter.name.equals=1')]: ['filter', 'at most 25 filters'],
    [`filter.name.in=${many(101, String).replaceAll('&', ',')}`]: ['filter.name.in', 'at most 100 values'],
    [many(101, (index) => `select[]=${fields[index % 4]}`)]: ['select[]', 'at most 100 fields'],
  })
})

test('select gives just what is named, in any of its spellings', async () => {
  const call = await withContacts([{ city: 'Paris', customProperties: { a: { b: 1, c: 2 }, d: 3 } }])
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
    'select[]=': ['select[]', 'needs the name'],
    'select=city,': ['select', 'needs the name'],
    'select[]=emial': ['select[]', 'did you mean email?'],
    'select[]=city.x': ['select[]', 'no fields of its own'],
    'select[]=company.secret': ['select[]', 'company has id, name, domain'],
    'select[]=email_key': ['select[]', 'unknown field'],
    'select[x]=city': ['select[x]', 'unknown parameter'],
  })
})

test('count takes the filters of the list and nothing else', async () => {
  const call = await withContacts([{ tags: ['a'] }, { tags: ['a'] }, {}])
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

test('numbers of companies compare exactly, however long', async () => {
  const { call } = await service.newOrganization()
  const revenues = ['12345678901234567890', '12345678901234567891', '0.1', '-5', null]
  for (const [index, annualRevenue] of revenues.entries()) {
    await call('POST', '/v5/companies', { body: { name: `${index + 1}`, annualRevenue, employeesCount: index } })
  }
  const cases: Record<string, string[]> = {
    'filter.annualRevenue.equals=12345678901234567890': ['1'],
    'filter.annualRevenue.gt=12345678901234567890': ['2'],
    'filter.annualRevenue.not=12345678901234567890': ['2', '3', '4', '5'],
    'filter.annualRevenue.in=0.10,-5.000': ['3', '4'],
    'filter.employeesCount.lt=1.5': ['1', '2'],
    'filter.employeesCount.gt=1e300': [],
    'orderBy=annualRevenue': ['4', '3', '1', '2', '5'],
  }
  for (const [query, names] of Object.entries(cases)) {
    const { body } = await call('GET', `/v5/companies?sort=asc&${query}`)
    expect([query, body.map(({ name }: Json) => name)]).toEqual([query, names])
  }
})
