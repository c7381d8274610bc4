import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../../test/service.ts'
import { roleScopes } from '../../../app.ts'
import { decodeId } from '../../model/ids.ts'
import { sql } from '../../model/sql.ts'

let service: TestService
let organization: TestOrganization
let call: Call
const companies: Record<string, string> = {}
const contacts: Record<string, string> = {}
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  call = organization.call
  for (const [name, annualRevenue] of [
    ['Engines', '10000.50'],
    ['Looms', '500'],
    ['Empty', null],
  ] as const)
    companies[name] = await create('/v5/companies', { name, annualRevenue })
  for (const [index, name] of ['Ada', 'Bob', 'Cyd', 'Dot', 'Eve'].entries()) {
    const companyId = index < 2 ? companies.Engines : index === 2 ? companies.Looms : null
    contacts[name] = await create('/v5/contacts', {
      name,
      companyId,
      tags: index % 2 === 0 ? ['vip'] : [],
      emailOptOut: index === 1,
      latitude: index,
      customProperties: { seats: 10 * index },
    })
  }
  await create(`/v5/contacts/${contacts.Ada}/notes`, { body: 'Asked for an offer' })
  await create(`/v5/contacts/${contacts.Ada}/notes`, { body: 'Likes trains' })
  await create(`/v5/contacts/${contacts.Cyd}/notes`, { body: 'Likes boats' })
})
afterAll(() => service.close())

async function create(path: string, body: object): Promise<string> {
  const created = await call('POST', path, { body })
  if (created.status !== 201) throw new Error(created.text)
  return created.body.id
}

/** The names that a search finds, which its count confirms. */
async function found(filter: object, path = '/v5/contacts', as = call): Promise<string[]> {
  const answer = await as('POST', `${path}/search`, { body: { filter, orderBy: 'name', sort: 'asc', limit: 100 } })
  if (answer.status !== 200) throw new Error(answer.text)
  const names = answer.body.map(({ name }: Json) => name)
  expect((await as('POST', `${path}/search/count`, { body: { filter } })).body).toEqual({ count: names.length })
  return names
}

async function refusals(body: unknown, path = '/v5/contacts/search'): Promise<unknown> {
  const answer = await call('POST', path, { body })
  expect([answer.status, answer.text]).toEqual([422, expect.anything()])
  return Object.fromEntries(answer.body.details.map(({ field, message }: Json) => [field, message]))
}

test('and, or and not combine conditions, and all properties of a node must match', async () => {
  expect(await found({})).toEqual(['Ada', 'Bob', 'Cyd', 'Dot', 'Eve'])
  expect(await found({ or: [{ name: { equals: 'Ada' } }, { name: { in: ['Eve', 'Nobody'] } }] })).toEqual([
    'Ada',
    'Eve',
  ])
  expect(await found({ not: { tags: { has: 'vip' } } })).toEqual(['Bob', 'Dot'])
  expect(await found({ tags: { has: 'vip' }, not: { name: { startsWith: 'a' } } })).toEqual(['Cyd', 'Eve'])
  expect(await found({ latitude: { gte: 1, lt: 3 } })).toEqual(['Bob', 'Cyd'])
  expect([await found({ and: [] }), await found({ or: [] })]).toEqual([['Ada', 'Bob', 'Cyd', 'Dot', 'Eve'], []])
})

test('a value has the JSON type of its field, and means the same as in a URL', async () => {
  const cases: [object, string][] = [
    [{ emailOptOut: { equals: true } }, 'filter.emailOptOut.equals=true'],
    [{ companyId: { equals: null } }, 'filter.companyId.equals=null'],
    [{ latitude: { in: [1, '2', 3.5] } }, 'filter.latitude.in=1,2,3.5'],
    [{ tags: { isEmpty: false } }, 'filter.tags.isEmpty=false'],
    [{ 'customProperties.seats': { gt: 15 } }, 'filter.customProperties.seats.gt=15'],
    [{ 'customProperties.seats': { in: [10, '20'] } }, 'filter.customProperties.seats.in=10,20'],
    [{ 'company.name': { contains: 'ENGINE' } }, 'filter.company.name.contains=ENGINE'],
    [{ createdAt: { gte: '2020-01-01' } }, 'filter.createdAt.gte=2020-01-01'],
  ]
  for (const [filter, query] of cases) {
    const { body } = await call('GET', `/v5/contacts?sort=asc&orderBy=name&${query}`)
    expect([filter, body.length > 0 && body.length < 6]).toEqual([filter, true])
    expect([filter, await found(filter)]).toEqual([filter, body.map(({ name }: Json) => name)])
  }
  // In a URL, `null` always means that there is no value.
  await create('/v5/contacts', { name: 'null' })
  expect(await found({ name: { equals: 'null' } })).toEqual(['null'])
  expect(await found({ name: { equals: null } })).toEqual([])
  const [{ id }] = (await call('POST', '/v5/contacts/search', { body: { query: 'NULL', select: ['id'] } })).body
  await call('DELETE', `/v5/contacts/${id}`)
})

test('some and none test the fields of related records in both directions', async () => {
  expect(await found({ company: { some: { annualRevenue: { gt: 10000 } } } })).toEqual(['Ada', 'Bob'])
  expect(await found({ company: { none: { annualRevenue: { gt: '10000' } } } })).toEqual(['Cyd', 'Dot', 'Eve'])
  expect(await found({ notes: { some: {} } })).toEqual(['Ada', 'Cyd'])
  expect(await found({ notes: { none: { body: { contains: 'offer' } } } })).toEqual(['Bob', 'Cyd', 'Dot', 'Eve'])
  expect(
    await found({ notes: { some: { body: { contains: 'LIKES' } }, none: { body: { contains: 'boats' } } } }),
  ).toEqual(['Ada'])
  expect(await found({ contacts: { none: {} } }, '/v5/companies')).toEqual(['Empty'])
  const withVip = { contacts: { some: { tags: { has: 'vip' }, name: { not: 'Ada' } } } }
  expect(await found(withVip, '/v5/companies')).toEqual(['Looms'])
})

test('a related record can have related records, and fields of the records that it shows', async () => {
  const filter = { contacts: { some: { notes: { some: { body: { contains: 'trains' } } } } } }
  expect(await found(filter, '/v5/companies')).toEqual(['Engines'])
  expect(await found({ contacts: { some: { notes: { none: {} } } } }, '/v5/companies')).toEqual(['Engines'])
  expect(await found({ contacts: { some: { 'company.name': { equals: 'Looms' } } } }, '/v5/companies')).toEqual([
    'Looms',
  ])
  const notes = { contact: { some: { company: { none: { name: { equals: 'Looms' } } } } } }
  const { body } = await call('POST', '/v5/notes/search', { body: { filter: notes } })
  expect(body.map((note: Json) => note.body)).toEqual(['Likes trains', 'Asked for an offer'])
})

test('companies with a large deal are found, and contacts of a deal by the company that both show', async () => {
  const deals = [
    { name: 'Mill', amount: '20000.00', companyId: companies.Engines },
    { name: 'Spindle', amount: '99.50', companyId: companies.Looms },
  ]
  for (const deal of deals) {
    const id = await create('/v5/deals', deal)
    for (const contactId of [contacts.Ada, contacts.Cyd]) await create(`/v5/deals/${id}/contacts`, { contactId })
  }
  expect(await found({ deals: { some: { amount: { gt: 10000 } } } }, '/v5/companies')).toEqual(['Engines'])
  expect(await found({ deals: { none: { 'stage.name': { not: 'Nowhere' } } } }, '/v5/companies')).toEqual(['Empty'])
  const isEngines = { 'company.name': { equals: 'Engines' } }
  expect(await found({ ...isEngines, contacts: { some: isEngines } }, '/v5/deals')).toEqual(['Mill'])
  expect(await found({ ...isEngines, contacts: { none: isEngines } }, '/v5/deals')).toEqual([])
  const bothCompanies = { deals: { some: { 'company.name': { equals: 'Looms' } } }, ...isEngines }
  expect(await found(bothCompanies)).toEqual(['Ada'])
})

test('a deleted record is related to none, and neither is a record of a deleted parent', async () => {
  const noteId = await create(`/v5/contacts/${contacts.Eve}/notes`, { body: 'Soon gone' })
  const gone = { notes: { some: { body: { contains: 'gone' } } } }
  expect(await found(gone)).toEqual(['Eve'])
  await call('DELETE', `/v5/notes/${noteId}`)
  expect(await found(gone)).toEqual([])

  const companyId = await create('/v5/companies', { name: 'Closed' })
  const contactId = await create('/v5/contacts', { name: 'Fay', companyId })
  const jobs = `/v5/contacts/${contactId}/employments`
  await create(jobs, { organization: 'Closed' })
  const worked = { contacts: { some: { employments: { some: { organization: { equals: 'Closed' } } } } } }
  expect(await found(worked, '/v5/companies')).toEqual(['Closed'])
  await call('DELETE', `/v5/contacts/${contactId}`)
  expect(await found(worked, '/v5/companies')).toEqual([])
  await call('POST', `/v5/contacts/${contactId}/restore`)
  await call('DELETE', `/v5/companies/${companyId}`)
  expect(await found({ company: { some: {} } })).toEqual(['Ada', 'Bob', 'Cyd'])
  await call('DELETE', `/v5/contacts/${contactId}`)
})

test('records of another organization are never related, even with the same id', async () => {
  const other = await service.newOrganization()
  const companyId = decodeId('com', companies.Engines ?? '')
  const theirs = decodeId('org', other.organizationId)
  // No request can do this: foreign keys and ids belong to one organization.
  await service.database.crossTenantQuery(
    'check the database',
    sql`insert into companies (id, organization_id, name, annual_revenue)
      values (${companyId}, ${theirs}, 'Copy', 99999999)`,
  )
  expect(await found({ company: { some: { name: { equals: 'Copy' } } } })).toEqual([])
  expect(await found({ contacts: { some: {} } }, '/v5/companies', other.call)).toEqual([])
})

test('a search needs the scope of the list, and that of the list of each related resource', async () => {
  const withOne = await organization.withScopes(['contact:list:read', 'contact:count:read'])
  expect((await withOne('POST', '/v5/contacts/search', { body: {} })).status).toBe(200)
  const filter = { not: { company: { some: { contacts: { none: {} } } } } }
  for (const path of ['/v5/contacts/search', '/v5/contacts/search/count']) {
    const refused = await withOne('POST', path, { body: { filter } })
    expect(refused).toMatchObject({
      status: 403,
      body: { code: 'missing_scopes', details: [{ field: 'scope', message: 'urn:service:company:list:read' }] },
    })
  }
  const withBoth = await organization.withScopes(['contact:list:read', 'company:list:read'])
  expect((await withBoth('POST', '/v5/contacts/search', { body: { filter } })).status).toBe(200)
  const without = await organization.withScopes(['company:list:read', 'contact:get:read'])
  expect((await without('POST', '/v5/contacts/search', { body: {} })).status).toBe(403)
})

test('a search is a read: viewers may search, and an Idempotency-Key stores nothing', async () => {
  const limited = await startTestService({ RATE_LIMIT_PER_MINUTE: '' })
  const { call: callLimited, withScopes } = await limited.newOrganization()
  const viewer = await withScopes(roleScopes('viewer'))
  const headers = { 'idempotency-key': 'the same' }
  const search = (body: object) => viewer('POST', '/v5/contacts/search', { body, headers })
  const first = await search({})
  expect([first.status, first.body]).toEqual([200, []])
  expect(first.headers.get('ratelimit')).toMatch(/^"read"/)
  await callLimited('POST', '/v5/contacts', { body: { name: 'Ada' } })
  expect([(await search({ limit: 1 })).body.length, (await search({})).body.length]).toEqual([1, 1])
  expect((await search({})).headers.get('idempotent-replayed')).toBeNull()
  await limited.close()
})

test('preconditions and an unsupported media type are rejected, and a missing body is an empty search', async () => {
  for (const name of ['if-match', 'if-none-match']) {
    const refused = await call('POST', '/v5/contacts/search', { body: {}, headers: { [name]: '"1-a"' } })
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_parameters' } })
  }
  const xml = await call('POST', '/v5/contacts/search', { body: '<a/>', headers: { 'content-type': 'text/xml' } })
  expect(xml.status).toBe(415)
  expect((await call('POST', '/v5/contacts/search')).body).toHaveLength(5)
  const wrongMethod = await call('GET', '/v5/contacts/search')
  expect([wrongMethod.status, wrongMethod.headers.get('allow')]).toEqual([405, 'OPTIONS, POST'])
})

test('Link leads through the pages in both directions, if the same body is sent to its URLs', async () => {
  const body = {
    filter: { or: [{ tags: { has: 'vip' } }, { name: { equals: 'Bob' } }] },
    orderBy: 'name',
    sort: 'asc',
    limit: 1,
  }
  const namesOf = (answer: Json) => answer.body.map(({ name }: Json) => name).join()
  const follow = (answer: Json, relation: string) => {
    const url = new RegExp(`<[^>]*?(/v5[^>]+)>; rel="${relation}"`).exec(answer.headers.get('link') ?? '')?.[1]
    return url === undefined ? undefined : call('POST', url, { body })
  }
  const pages: string[] = []
  let last: Json
  for (let page: Json = await call('POST', '/v5/contacts/search', { body }); page; page = await follow(page, 'next')) {
    pages.push(namesOf(page))
    last = page
  }
  expect(pages).toEqual(['Ada', 'Bob', 'Cyd', 'Eve'])
  const back: string[] = []
  for (let page = await follow(last, 'prev'); page; page = await follow(page, 'prev')) back.unshift(namesOf(page))
  expect(back).toEqual(['Ada', 'Bob', 'Cyd'])
  // An id is a cursor, and so are those of the list.
  const after = await call('POST', '/v5/contacts/search', { body: { ...body, startingAfter: contacts.Cyd } })
  expect(namesOf(after)).toBe('Eve')
  const listed = await call('GET', '/v5/contacts?limit=1&orderBy=name&sort=asc')
  const cursor = /startingAfter=(cur_[\w-]+)/.exec(listed.headers.get('link') ?? '')?.[1]
  expect(namesOf(await call('POST', '/v5/contacts/search', { body: { ...body, startingAfter: cursor } }))).toBe('Bob')
  const twice = await call('POST', `/v5/contacts/search?startingAfter=${cursor}`, {
    body: { ...body, startingAfter: cursor },
  })
  expect(twice).toMatchObject({ status: 422, body: { details: [{ field: 'startingAfter' }] } })
  const unknown = await call('POST', '/v5/contacts/search', { body: { startingAfter: `con_${'0'.repeat(32)}` } })
  expect(unknown).toMatchObject({ status: 404, body: { details: [{ field: 'startingAfter' }] } })
})

test('select, query and limit work as in the list', async () => {
  const body = {
    query: 'engines',
    filter: { name: { not: 'Ada' } },
    select: ['name', 'customProperties.seats'],
    limit: 5,
  }
  expect((await call('POST', '/v5/contacts/search', { body })).body).toEqual([
    { customProperties: { seats: 10 }, name: 'Bob' },
  ])
  expect(
    await refusals({ limit: 0, sort: 'up', orderBy: 'nme', select: ['nme'], query: 1, page: 2, endingBefore: 'x' }),
  ).toEqual({
    limit: expect.stringContaining('1 to 100'),
    sort: 'expected asc or desc',
    orderBy: expect.stringContaining('did you mean name?'),
    select: expect.stringContaining('did you mean name?'),
    query: 'expected text',
    page: 'unknown property',
    endingBefore: expect.stringContaining('expected the id of a contact'),
  })
  expect(await refusals({ limit: 1 }, '/v5/contacts/search/count')).toEqual({ limit: 'unknown property' })
  expect(await refusals([], '/v5/contacts/search')).toEqual({ body: 'expected an object' })
})

test('deleted records are searched by those who may restore them', async () => {
  const [first, second] = [
    await create('/v5/contacts', { name: 'Gone 1' }),
    await create('/v5/contacts', { name: 'Gone 2' }),
  ]
  for (const id of [first, second]) await call('DELETE', `/v5/contacts/${id}`)
  const filter = { or: [{ name: { equals: 'Gone 1' } }, { name: { equals: 'Gone 2' } }, { name: { equals: 'Ada' } }] }
  const body = { filter, deleted: true, orderBy: 'name', sort: 'asc', select: ['name'], limit: 1 }
  const page = await call('POST', '/v5/contacts/search', { body })
  expect(page.body).toEqual([{ name: 'Gone 1' }])
  const next = /<[^>]*(\/v5[^>]*)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] ?? ''
  expect((await call('POST', next, { body })).body).toEqual([{ name: 'Gone 2' }])
  expect((await call('POST', '/v5/contacts/search/count', { body: { filter, deleted: true } })).body).toEqual({
    count: 2,
  })
  expect(await found(filter)).toEqual(['Ada'])
  expect(await refusals({ deleted: 'true' })).toEqual({ deleted: 'expected true or false' })

  const asViewer = await organization.withScopes(roleScopes('viewer'))
  for (const path of ['/v5/contacts/search', '/v5/contacts/search/count', '/v5/deals/search/summary'])
    expect(await asViewer('POST', path, { body: { deleted: true } })).toMatchObject({ status: 403 })
  expect((await asViewer('GET', '/v5/deals/summary?deleted=true')).status).toBe(403)
  expect((await call('GET', '/v5/deals/summary?deleted=true')).status).toBe(200)
})

test('every error of a tree is reported at once, with its path', async () => {
  const filter = {
    and: [
      { emial: { equals: 'x' } },
      { latitude: { gt: 'far', contains: '1', in: [1, 'x'] } },
      { name: { in: 'Ada', equals: 3 } },
      { not: { emailOptOut: { equals: 'true' } } },
      { status: 'active' },
    ],
    or: { name: {} },
    createdAt: { gt: { last: { days: 0 } }, lt: { period: 'someday' }, equals: 'soon', gte: null, lte: { first: 1 } },
    company: { some: { nme: { equals: 'x' } }, every: {} },
    notes: { any: {} },
    employmentSeniority: { in: ['junior', 'boss'] },
    tags: { hasSome: [] },
    customProperties: { equals: 1 },
    employments: 'many',
  }
  expect(await refusals({ filter })).toEqual({
    'filter.and.0.emial.equals': 'unknown field; did you mean email?',
    'filter.and.1.latitude.gt': 'expected a number',
    'filter.and.1.latitude.contains': expect.stringContaining('latitude supports equals, not,'),
    'filter.and.1.latitude.in': 'expected numbers; found "x"',
    'filter.and.2.name.in': 'expected a list of at least one value',
    'filter.and.2.name.equals': 'expected text',
    'filter.and.3.not.emailOptOut.equals': 'expected true or false',
    'filter.and.4.status': expect.stringContaining('expected an object with operators'),
    'filter.or': 'expected a list of filters',
    'filter.createdAt.gt': 'last.days: expected a whole number from 1 to 1000',
    'filter.createdAt.lt': expect.stringContaining('period: expected one of yesterday, today, tomorrow, lastWeek'),
    'filter.createdAt.equals': expect.stringContaining('expected an ISO 8601 date'),
    'filter.createdAt.gte': 'must not be null',
    'filter.createdAt.lte': expect.stringContaining('relative date'),
    'filter.company.some.nme.equals': expect.stringContaining('unknown field'),
    'filter.company.every': expect.stringContaining('supports'),
    'filter.notes.any': 'notes supports some, none; found "any"',
    'filter.employmentSeniority.in': expect.stringContaining('found "boss"'),
    'filter.tags.hasSome': 'expected a list of at least one value',
    'filter.customProperties.equals': expect.stringContaining('is an object'),
    'filter.employments': expect.stringContaining('"some"'),
  })
})

test('a tree has at most five levels, a hundred conditions and ten relations', async () => {
  const nested = (depth: number): object => (depth === 0 ? { name: { equals: 'Ada' } } : { not: nested(depth - 1) })
  expect(await found(nested(5))).toEqual(['Bob', 'Cyd', 'Dot', 'Eve'])
  expect(await refusals({ filter: nested(6) })).toEqual({
    'filter.not.not.not.not.not.not': 'expected at most 5 levels of and, or, not, some and none',
  })
  const wide = (count: number) => ({
    or: Array.from({ length: count }, (_, index) => ({ latitude: { equals: index } })),
  })
  expect(await found(wide(100))).toHaveLength(5)
  expect(await refusals({ filter: wide(101) })).toEqual({ filter: 'expected at most 100 conditions' })
  for (const empty of [{}, { and: [] }])
    expect(await refusals({ filter: { or: Array.from({ length: 101 }, () => empty) } })).toEqual({
      filter: 'expected at most 100 conditions',
    })
  const related = (count: number) => ({ and: Array.from({ length: count }, () => ({ notes: { none: {} } })) })
  expect(await found(related(10))).toEqual(['Bob', 'Dot', 'Eve'])
  expect(await refusals({ filter: related(11) })).toEqual({ filter: 'expected at most 10 uses of some and none' })
})
