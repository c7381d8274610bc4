import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectFound, expectRefused, repeated, withContacts } from '../../../../test/list-calls.ts'
import { type Json, startTestService, type TestService } from '../../../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

test('strings: equals is exact, contains, startsWith and endsWith ignore case and accents, and wildcards are literal', async () => {
  const call = await withContacts(service, [
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

test('repeated and different filters are combined with and', async () => {
  const call = await withContacts(service, [
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

test('lists are split at commas after decoding, and a backslash escapes a comma', async () => {
  const call = await withContacts(service, [
    { tags: ['a,b', 'c'] },
    { tags: ['a', 'b'] },
    { tags: ['a\\'] },
    { tags: [] },
  ])
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
    'filter.tags.hasSome=': ['filter.tags.hasSome', 'expected a value'],
    'filter.tags.hasSome=a,,b': ['filter.tags.hasSome', 'empty value'],
    'filter.tags.hasSome=a,': ['filter.tags.hasSome', 'empty value'],
    'filter.email.in=,': ['filter.email.in', 'empty value'],
    'tags=': ['tags', 'expected a value'],
    tags: ['tags', 'expected a value'],
    'filter.tags.isEmpty=yes': ['filter.tags.isEmpty', 'true or false'],
  })
})

test('an operator that the type does not support is rejected with a list of those it supports', async () => {
  const { call } = await service.newOrganization()
  await expectRefused(call, {
    'filter.email.gt=a': ['filter.email.gt', 'supports equals, not, contains'],
    'filter.email.has=a': ['filter.email.has', 'found "has"'],
    'filter.latitude.notIn=1': ['filter.latitude.notIn', 'supports equals, not, gt'],
    'filter.latitude.contains=1': ['filter.latitude.contains', 'found "'],
    'filter.createdAt.contains=2026': ['filter.createdAt.contains', 'found "'],
    'filter.createdAt.in=2026-01-01': ['filter.createdAt.in', 'found "'],
    'filter.createdAt.not=2026-01-01': ['filter.createdAt.not', 'only null'],
    'filter.tags.equals=a': ['filter.tags.equals', 'supports has, hasEvery'],
    'filter.emailOptOut.in=true': ['filter.emailOptOut.in', 'supports equals, not'],
    'filter.emailOptOut.equals=yes': ['filter.emailOptOut.equals', 'true or false'],
    'filter.email.equal=a': ['filter.email.equal', 'found "equal"'],
    'filter.email.EQUALS=a': ['filter.email.EQUALS', 'found "'],
    'filter.email=a': ['filter.email', 'expected an operator, as in filter.email.equals='],
    'filter.customProperties.plan=a': ['filter.customProperties.plan', 'expected an operator'],
    'filter.customProperties.plan.like=a': ['filter.customProperties.plan.like', 'found "like"'],
    'filter.customProperties.equals=a': ['filter.customProperties.equals', 'use one of its fields'],
    'filter.emial.equals=x': ['filter.emial.equals', 'did you mean email?'],
    'filter.company.revenue.equals=1': ['filter.company.revenue.equals', 'company has id, name, domain'],
    'filter..equals=x': ['filter..equals', 'unknown field'],
    'filter.=x': ['filter.', 'unknown field'],
    'filter.equals=x': ['filter.equals', 'unknown field'],
    'filter=x': ['filter', 'unknown parameter'],
  })
})

test('numbers are compared as numbers, and only numbers are accepted', async () => {
  const call = await withContacts(service, [{ latitude: 0 }, { latitude: 10.5 }, { latitude: -10.5 }, {}])
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
    await expectRefused(call, { [`filter.latitude.equals=${bad}`]: ['filter.latitude.equals', 'expected a number'] })
  }
})

test('malformed ids and ids of another organization match nothing', async () => {
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

test('a date is a whole UTC day, a timestamp is a moment', async () => {
  const dates = [
    '2026-01-01T23:59:59.999Z',
    '2026-01-02T00:00:00.000Z',
    '2026-01-02T23:59:59.999Z',
    '2026-01-03T00:00:00.000Z',
    null,
  ]
  const call = await withContacts(
    service,
    dates.map((day) => ({ customProperties: { day } })),
  )
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
  // `createdAt` is today.
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

test('a custom property equals a date when it is that date or an instant of that UTC day', async () => {
  const days = [
    '2026-03-01',
    '2026-03-01T00:00:00Z',
    '2026-03-01T23:59:59.999Z',
    '2026-03-01T23:30:00-05:00',
    '2026-03-02T01:00:00+02:00',
    '2026-02-28T23:59:59.999Z',
    '2026-03-01 or later',
    20260301,
    null,
    ['2026-03-01'],
  ]
  const call = await withContacts(service, [...days.map((when) => ({ customProperties: { when, a: { when } } })), {}])
  const all = Array.from({ length: 11 }, (_, index) => index + 1)
  const without = (...numbers: number[]) => all.filter((number) => !numbers.includes(number))
  const cases: Record<string, number[]> = {
    'equals=2026-03-01': [1, 2, 3, 5],
    'not=2026-03-01': without(1, 2, 3, 5),
    'in=2026-03-01,20260301': [1, 2, 3, 5, 8],
    'notIn=2026-03-01,20260301': without(1, 2, 3, 5, 8),
    'in=2026-03-01,2026-02-28': [1, 2, 3, 5, 6],
    'in=2026-03-01,2026-03-01 or later': [1, 2, 3, 5, 7],
    'gt=2026-03-01': [4],
    'gte=2026-03-01': [1, 2, 3, 4, 5],
    'lt=2026-03-01': [6],
    'lte=2026-03-01': [1, 2, 3, 5, 6],
    'equals=2026-03-02': [4],
    'equals=2026-03-01T00:00:00Z': [2],
    'equals=2026-02-29': [],
    'has=2026-03-01': [10],
  }
  for (const [filter, found] of Object.entries(cases)) {
    await expectFound(call, {
      [`filter.customProperties.when.${filter}`]: found,
      [`filter.customProperties.a.when.${filter}`]: found,
    })
  }
  await expectFound(call, { 'customProperties.when=2026-03-01': [1, 2, 3, 5] })
})

test('an invalid date is rejected, with a hint if a plus became a space', async () => {
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
    'filter.createdAt.gte=': ['filter.createdAt.gte', 'expected a value'],
  })
})

test('a custom property supports every operator, depending on the stored value', async () => {
  const values = [42, '42', true, 'true', ['a', 42], 'Prag', { b: { c: 'deep' } }, null, '', []]
  const call = await withContacts(service, [...values.map((x) => ({ customProperties: { x } })), {}])
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
  // A list index is not a key.
  await expectFound(call, { 'filter.customProperties.x.0.equals=a': [], 'filter.customProperties.x.0.not=a': all })
})

test('a property may be named like an operator, a prototype or SQL', async () => {
  const call = await withContacts(service, [
    { customProperties: { equals: 'a', constructor: 'b', not: { contains: 'c' } } },
  ])
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
    'filter.customProperties..equals=x': ['filter.customProperties..equals', 'expected a key'],
    [`filter.customProperties.${repeated(17, () => 'a').replaceAll('&', '.')}.equals=x`]: [
      `filter.customProperties.${repeated(17, () => 'a').replaceAll('&', '.')}.equals`,
      'too deeply',
    ],
  })
})

test('decimal numbers are compared exactly, regardless of length', async () => {
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
