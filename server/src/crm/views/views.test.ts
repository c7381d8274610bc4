import { isDistributed } from '../../../test/engines.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import { newOwner, type TestOwner, type TestPerson } from '../../../test/people.ts'
import { type Probe, watchStatements } from '../../../test/planted-faults.ts'
import type { Call, Json } from '../../../test/service.ts'
import { resources } from '../../app.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'
import { viewable } from './resource.ts'

let mailed: MailedService
let owner: TestOwner
let admin: TestPerson
let ada: TestPerson
let bob: TestPerson
let viewer: TestPerson
/** Calls with API keys that the owner has created. */
let key: Call
beforeAll(async () => {
  mailed = await startMailedService()
  owner = await newOwner(mailed.service)
  admin = await mailed.join(owner.call, 'admin')
  ada = await mailed.join(owner.call, 'member')
  bob = await mailed.join(owner.call, 'member')
  viewer = await mailed.join(owner.call, 'viewer')
  key = owner.organization.call
  const company = await created(owner.call, '/v5/companies', { name: 'Engines' })
  for (const [index, name] of ['Ann', 'Ben', 'Cid', 'Dan'].entries())
    await created(owner.call, '/v5/contacts', {
      name,
      tags: index % 2 === 0 ? ['vip'] : [],
      ...(index < 2 && { companyId: company.id }),
    })
})
afterAll(() => mailed.close())

async function created(call: Call, path: string, body: object): Promise<Json> {
  const answer = await call('POST', path, { body })
  expect(answer.status, answer.text).toBe(201)
  return answer.body
}

const newView = (call: Call, body: object = {}): Promise<Json> =>
  created(call, '/v5/views', { name: 'A view', resource: 'contacts', ...body })

async function names(call: Call, query: string, body?: object): Promise<string[]> {
  const answer = await (body
    ? call('POST', `/v5/contacts/search${query}`, { body })
    : call('GET', `/v5/contacts${query}`))
  expect(answer.status, answer.text).toBe(200)
  return answer.body.map(({ name }: Json) => name)
}

async function refusal(call: Call, method: string, path: string, body?: object): Promise<unknown> {
  const answer = await call(method, path, body ? { body } : {})
  return [answer.status, answer.body?.code, ...(answer.body?.details ?? []).map(({ field }: Json) => field)]
}

const isVip = { tags: { has: 'vip' } }

test('every resource with views is one that a view can name', () => {
  const declared = resources.filter(({ hasViews }) => hasViews).map(({ name }) => name)
  expect(viewable.map(({ name }) => name).sort()).toEqual(declared.sort())
})

test('a view belongs to its creator, and an API key acts for the person who created it', async () => {
  const mine = await newView(ada.call, { filter: isVip, columns: ['name', 'company.name'] })
  expect(mine).toMatchObject({ ownerId: ada.userId, filter: isVip, layout: 'table', isShared: false, position: '1' })
  expect((await newView(ada.call)).position).toBe('2')
  const ofKey = await newView(key)
  expect(ofKey.ownerId).toBe(owner.userId)
  expect((await owner.call('GET', `/v5/views/${ofKey.id}`)).body).toEqual(ofKey)
})

test('a personal view does not exist for anyone else, not even for administrators and their keys', async () => {
  const { id } = await newView(ada.call, { name: 'Secret' })
  const deleted = await newView(ada.call, { name: 'Gone' })
  expect((await ada.call('DELETE', `/v5/views/${deleted.id}`)).status).toBe(204)
  for (const call of [bob.call, admin.call, owner.call, key]) {
    for (const [method, path, body] of [
      ['GET', `/v5/views/${id}`, undefined],
      ['PATCH', `/v5/views/${id}`, { name: 'Mine' }],
      ['DELETE', `/v5/views/${id}`, undefined],
      ['POST', `/v5/views/${deleted.id}/restore`, undefined],
    ] as const)
      expect([path, await refusal(call, method, path, body)]).toEqual([path, [404, 'not_found']])
    for (const parameter of ['startingAfter', 'endingBefore'])
      expect(await refusal(call, 'GET', `/v5/views?${parameter}=${id}`)).toEqual([404, 'not_found', parameter])
    const found = { filter: { name: { in: ['Secret', 'Gone'] } } }
    expect((await call('POST', '/v5/views/search', { body: found })).body).toEqual([])
    expect((await call('POST', '/v5/views/search/count', { body: found })).body).toEqual({ count: 0 })
    expect((await call('GET', '/v5/views?deleted=true')).text).not.toContain(deleted.id)
    expect((await call('GET', '/v5/views?limit=100')).text).not.toContain(id)
    expect((await call('GET', '/v5/views/count?filter.name.equals=Secret')).body).toEqual({ count: 0 })
    expect(await refusal(call, 'GET', `/v5/contacts?view=${id}`)).toEqual([400, 'invalid_parameters', 'view'])
  }
  expect((await ada.call('GET', '/v5/views/count?filter.name.equals=Secret')).body).toEqual({ count: 1 })
  expect((await ada.call('GET', '/v5/views?deleted=true')).text).toContain(deleted.id)
  expect((await ada.call('POST', `/v5/views/${deleted.id}/restore`)).status).toBe(200)
})

test('everyone sees a shared view, but only its owner and administrators change it', async () => {
  const { id } = await newView(ada.call, { name: 'For all', isShared: true, filter: isVip })
  const path = `/v5/views/${id}`
  for (const { call } of [bob, viewer, admin, owner]) {
    expect((await call('GET', path)).body.name).toBe('For all')
    expect(await names(call, `?view=${id}`)).toEqual(['Cid', 'Ann'])
  }
  for (const call of [bob.call, key]) {
    const forbidden = [403, 'insufficient_permissions']
    expect(await refusal(call, 'PATCH', path, { name: 'Taken' })).toEqual(forbidden)
    expect(await refusal(call, 'DELETE', path)).toEqual(forbidden)
  }
  // A viewer writes nothing.
  expect(await refusal(viewer.call, 'PATCH', path, { name: 'Taken' })).toEqual([403, 'missing_scopes', 'scope'])
  expect((await admin.call('PATCH', path, { body: { name: 'Reviewed' } })).body).toMatchObject({
    name: 'Reviewed',
    ownerId: ada.userId,
  })
  expect((await owner.call('DELETE', path)).status).toBe(204)
  expect(await refusal(bob.call, 'POST', `${path}/restore`)).toEqual([403, 'insufficient_permissions'])
  expect((await ada.call('POST', `${path}/restore`)).status).toBe(200)
  // From now on it is Ada's alone.
  expect((await admin.call('PATCH', path, { body: { isShared: false } })).status).toBe(200)
  expect(await refusal(admin.call, 'GET', path)).toEqual([404, 'not_found'])
})

test('the filter and the query of a view apply in addition to those of the request', async () => {
  const { id } = await newView(bob.call, { filter: { or: [isVip, { name: { equals: 'Ben' } }] }, query: 'n' })
  expect(await names(bob.call, `?view=${id}`)).toEqual(['Ben', 'Ann'])
  expect(await names(bob.call, `?view=${id}&filter.tags.has=vip`)).toEqual(['Ann'])
  expect(await names(bob.call, `?view=${id}&query=be`)).toEqual(['Ben'])
  expect(await names(bob.call, '', { view: id, filter: { not: isVip } })).toEqual(['Ben'])
  expect((await bob.call('GET', `/v5/contacts/count?view=${id}&tags=vip`)).body).toEqual({ count: 1 })
  const counted = await bob.call('POST', '/v5/contacts/search/count', { body: { view: id } })
  expect(counted.body).toEqual({ count: 2 })
  const one = await bob.call('GET', `/v5/contacts?view=${id}&select[]=name&limit=1`)
  expect(one.body).toEqual([{ name: 'Ben' }])
})

test('a list with a view equals a search with the same tree', async () => {
  const trees = [
    {},
    isVip,
    { or: [] },
    { company: { none: {} } },
    { not: { 'company.name': { equals: 'Engines' } }, createdAt: { equals: { last: { days: 2 } } } },
    { and: [{ createdAt: { lt: { period: 'today' } } }] },
  ]
  for (const filter of trees) {
    const order = { orderBy: 'name', sort: 'asc' }
    const { id } = await newView(bob.call, { filter, ...order })
    const expected = await names(bob.call, '', { filter, ...order })
    expect([filter, await names(bob.call, `?view=${id}`)]).toEqual([filter, expected])
    expect([filter, await names(bob.call, '', { view: id })]).toEqual([filter, expected])
    const { body } = await bob.call('GET', `/v5/contacts/count?view=${id}`)
    expect([filter, body]).toEqual([filter, { count: expected.length }])
  }
})

test('the order of a view applies unless the request names one, and its pages follow it', async () => {
  const { id } = await newView(bob.call, { orderBy: 'name', sort: 'asc' })
  const all = ['Ann', 'Ben', 'Cid', 'Dan']
  expect(await names(bob.call, `?view=${id}`)).toEqual(all)
  expect(await names(bob.call, `?view=${id}&sort=desc`)).toEqual(all.toReversed())
  expect(await names(bob.call, `?view=${id}&orderBy=createdAt`)).toEqual(all.toReversed())
  const body = { view: id, limit: 3 }
  const next = (link: string | null): string => /<[^?]*([^>]*)>; rel="next"/.exec(link ?? '')?.[1] ?? ''
  const listed = await bob.call('GET', `/v5/contacts?view=${id}&limit=3`)
  expect(next(listed.headers.get('link'))).toContain(`view=${id}`)
  expect(await names(bob.call, next(listed.headers.get('link')))).toEqual(['Dan'])
  const searched = await bob.call('POST', '/v5/contacts/search', { body })
  expect(await names(bob.call, next(searched.headers.get('link')), body)).toEqual(['Dan'])
})

test('deals can be listed and summed up by a view, and notes of a contact listed', async () => {
  for (const amount of ['10', '2000']) await created(bob.call, '/v5/deals', { name: `Deal ${amount}`, amount })
  const large = await newView(bob.call, { resource: 'deals', filter: { amount: { gt: 1000 } }, groupBy: 'stageId' })
  const sums = await bob.call('GET', `/v5/deals/summary?view=${large.id}`)
  expect(sums.body).toMatchObject([{ count: 1, sum: '2000' }])
  const [contact] = (await bob.call('GET', '/v5/contacts?limit=1')).body
  for (const body of ['Short', 'Offer']) await created(bob.call, `/v5/contacts/${contact.id}/notes`, { body })
  const offers = await newView(bob.call, { resource: 'notes', query: 'offer' })
  for (const path of ['/v5/notes', `/v5/contacts/${contact.id}/notes`])
    expect((await bob.call('GET', `${path}?view=${offers.id}`)).body).toMatchObject([{ body: 'Offer' }])
})

test('a view of other records, a deleted one and a malformed id are rejected', async () => {
  const other = await newView(bob.call, { resource: 'deals' })
  const deleted = await newView(bob.call)
  await bob.call('DELETE', `/v5/views/${deleted.id}`)
  for (const id of [other.id, deleted.id, 'vie_x', 'nonsense', '']) {
    const listed = await bob.call('GET', `/v5/contacts?view=${id}`)
    const error = { field: 'view', message: 'no view with this id exists' }
    expect(listed).toMatchObject({ status: 400, body: { code: 'invalid_parameters', details: [error] } })
    const searched = await bob.call('POST', '/v5/contacts/search', { body: { view: id } })
    expect(searched).toMatchObject({ status: 422, body: { code: 'invalid_field_value', details: [error] } })
  }
  expect(await refusal(bob.call, 'POST', '/v5/contacts/search', { view: 1 })).toMatchObject([422, {}, 'view'])
  const twice = `/v5/contacts?view=${other.id}&view=${other.id}`
  expect(await refusal(bob.call, 'GET', twice)).toEqual([400, 'invalid_parameters', 'view'])
  // Views have no views.
  expect(await refusal(bob.call, 'GET', `/v5/views?view=${other.id}`)).toEqual([400, 'invalid_parameters', 'view'])
})

test('a view is checked like a search when it is written', async () => {
  const body = {
    filter: { and: [{ nam: { equals: 'x' } }, { name: { gt: 1 } }] },
    query: '́',
    columns: ['name', 'company.nam'],
    columnWidths: { name: 240, nam: 100 },
    orderBy: 'companyy',
    groupBy: 'name',
  }
  const fields = [
    ...['filter.and.0.nam.equals', 'filter.and.1.name.gt', 'query', 'orderBy', 'columns.1'],
    ...['columnWidths.nam', 'groupBy'],
  ]
  const refused = await refusal(bob.call, 'POST', '/v5/views', { name: 'Bad', resource: 'contacts', ...body })
  expect(refused).toEqual([422, 'validation_error', ...fields])
  const { id } = await newView(bob.call, { columns: ['name'], filter: isVip })
  expect(await refusal(bob.call, 'PATCH', `/v5/views/${id}`, body)).toEqual([422, 'validation_error', ...fields])
  expect(await refusal(bob.call, 'PATCH', `/v5/views/${id}`, { resource: 'deals' })).toEqual([
    422,
    'invalid_field_value',
    'resource',
  ])
  const long = { name: { in: Array.from({ length: 100 }, () => 'x'.repeat(600)) } }
  expect(await refusal(bob.call, 'PATCH', `/v5/views/${id}`, { filter: long })).toMatchObject([422, {}, 'filter'])
  // A filter is replaced as a whole.
  const replaced = await bob.call('PATCH', `/v5/views/${id}`, { body: { filter: { name: { equals: 'Ben' } } } })
  expect(replaced.body.filter).toEqual({ name: { equals: 'Ben' } })
})

test('a view whose filter is no longer valid is rejected with the reason, and can be renamed and repaired', async () => {
  const { id } = await newView(bob.call)
  await mailed.service.database.crossTenantQuery(
    'check the database',
    sql`update views set filter = '{"removedField": {"equals": 1}}' where id = ${decodeId('vie', id)}::uuid`,
  )
  const listed = await bob.call('GET', `/v5/contacts?view=${id}`)
  expect(listed).toMatchObject({ status: 400, body: { details: [{ field: 'view' }] } })
  expect(listed.body.details[0].message).toMatch(/no longer valid.*filter\.removedField.equals: unknown field/)
  expect(await refusal(bob.call, 'POST', '/v5/contacts/search', { view: id })).toMatchObject([422, {}, 'view'])
  expect((await bob.call('PATCH', `/v5/views/${id}`, { body: { name: 'Old' } })).status).toBe(200)
  expect((await bob.call('PATCH', `/v5/views/${id}`, { body: { filter: {} } })).status).toBe(200)
  expect(await names(bob.call, `?view=${id}`)).toHaveLength(4)
})

test('a view needs its own scope, and its relations those of their lists', async () => {
  const { id } = await newView(key, { filter: { company: { some: {} } } })
  const scopes = ['contact:list:read', 'view:get:read', 'company:list:read']
  for (const count of [1, 2, 3]) {
    const call = await owner.organization.withScopes(scopes.slice(0, count).map((scope) => `urn:service:${scope}`))
    const listed = await call('GET', `/v5/contacts?view=${id}`)
    const missing = { code: 'missing_scopes', details: [{ message: `urn:service:${scopes[count]}` }] }
    expect(listed).toMatchObject(count < 3 ? { status: 403, body: missing } : { status: 200 })
  }
  const many = Array.from({ length: 6 }, () => ({ company: { some: {} } }))
  const heavy = await newView(bob.call, { filter: { and: many } })
  const body = { view: heavy.id, filter: { or: many } }
  expect(await refusal(bob.call, 'POST', '/v5/contacts/search', body)).toMatchObject([422, {}, 'view'])
})

test('the personal views of a person who has left stay, but nobody sees them; the shared ones everyone', async () => {
  const leaving = await mailed.join(owner.call, 'member')
  const personal = await newView(leaving.call)
  const shared = await newView(leaving.call, { isShared: true })
  expect((await owner.call('DELETE', `/v5/members/${leaving.userId}`)).status).toBe(204)
  for (const { call } of [owner, bob]) {
    expect((await call('GET', `/v5/views/${personal.id}`)).status).toBe(404)
    expect((await call('GET', `/v5/views/${shared.id}`)).body.ownerId).toBe(leaving.userId)
  }
  expect((await admin.call('DELETE', `/v5/views/${shared.id}`)).status).toBe(204)
})

// On Citus, the statements of changes are values of a call, which the faults do not reach.
test.skipIf(isDistributed())(
  'removing the reach from any statement reveals a personal view of another person',
  async () => {
    const { id } = await newView(ada.call, { name: 'Hidden', filter: isVip })
    const deleted = await newView(ada.call, { name: 'Hidden and deleted' })
    await ada.call('DELETE', `/v5/views/${deleted.id}`)
    const reach = /\(record\.is_shared or record\.owner_id = (\$\d+)::uuid\)/g
    const statements = watchStatements({ pattern: reach, without: (whole) => `(${whole} or true)` })
    const probe = (method: string, path: string, body?: object): Probe => ({
      description: `${method} ${path}`,
      observe: async () => {
        const { status, text } = await bob.call(method, path, body ? { body } : {})
        return `${status} ${text}`
      },
    })
    const hidden = { filter: { name: { startsWith: 'Hidden' } } }
    try {
      const { missed, detected } = await statements.plant([
        probe('GET', '/v5/views?limit=100'),
        probe('GET', '/v5/views?deleted=true'),
        probe('GET', `/v5/views?startingAfter=${id}`),
        probe('GET', '/v5/views/count'),
        probe('POST', '/v5/views/search', hidden),
        probe('POST', '/v5/views/search/count', hidden),
        probe('GET', `/v5/views/${id}`),
        probe('PATCH', `/v5/views/${id}`, { name: 'Seen' }),
        probe('DELETE', `/v5/views/${id}`),
        probe('POST', `/v5/views/${deleted.id}/restore`),
        probe('GET', `/v5/contacts?view=${id}`),
        probe('POST', '/v5/contacts/search', { view: id }),
      ])
      // The page after a record that is out of reach is empty either way.
      expect(missed.filter((location) => !/startingAfter.* as key_0/.test(location))).toEqual([])
      expect(detected.length).toBeGreaterThanOrEqual(12)
    } finally {
      statements.restore()
    }
  },
)
