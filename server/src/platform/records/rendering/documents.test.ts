import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'

let service: TestService
let organization: TestOrganization
let contactId: string
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  const { body: contact } = await organization.call('POST', '/v5/contacts', { body: { name: 'Ada Lovelace' } })
  contactId = contact.id
  for (const body of ['Likes Émile', 'Prefers tea'])
    await organization.call('POST', `/v5/contacts/${contactId}/notes`, { body: { body } })
  await organization.call('PATCH', `/v5/contacts/${contactId}`, { body: { city: 'London' } })
})
afterAll(() => service.close())

const timeline = (query: string) => organization.call('GET', `/v5/contacts/${contactId}/timeline?${query}`)

test('a list is ordered by a value inside an object, and entries without it come last', async () => {
  const { body } = await timeline('orderBy=note.body&sort=asc&select[]=note.body')
  expect(body).toEqual([
    { note: { body: 'Likes Émile' } },
    { note: { body: 'Prefers tea' } },
    ...body.slice(2).map(() => ({ note: null })),
  ])
  expect(body.length).toBeGreaterThan(2)
})

test('a list inside an object can be selected', async () => {
  const { body } = await timeline('select[]=change.changes&filter.kind.equals=change&sort=desc&limit=1')
  expect(body).toEqual([{ change: { changes: [{ field: 'city', before: null, after: 'London' }] } }])
})

test('a value inside an object is filtered by, and a whole object is compared with null', async () => {
  for (const [filter, count] of [
    ['filter.note.body.contains=emile', 1],
    ['filter.note.not=null', 2],
    ['filter.note.equals=null&filter.kind.equals=note', 0],
    ['note.body=Prefers tea', 1],
  ]) {
    const { status, body } = await timeline(String(filter).replaceAll(' ', '%20'))
    expect([filter, status, body.length]).toEqual([filter, 200, count])
  }
})

test('an unknown path, a whole object and an object inside another one are refused where a value is needed', async () => {
  for (const [query, field, message] of [
    ['orderBy=note.bdy', 'orderBy', '"note.bdy": unknown field; note has id, body, source'],
    ['orderBy=note', 'orderBy', '"note": is an object, which cannot be sorted by; use one of its fields'],
    ['select[]=note.body.x', 'select[]', '"note.body.x": unknown field; note.body has no fields of its own'],
    [
      'filter.note.equals=x',
      'filter.note.equals',
      'note is an object, which cannot be filtered by; use one of its fields',
    ],
  ]) {
    expect([query, await timeline(String(query))]).toMatchObject([
      query,
      { status: 400, body: { code: 'invalid_parameters', details: [{ field, message }] } },
    ])
  }
  const counts = await organization.call('GET', '/v5/imports?orderBy=stats.counts')
  expect(counts).toMatchObject({ status: 400, body: { details: [{ field: 'orderBy' }] } })
})

test('a list without a search index is searched by word, in any case and without accents', async () => {
  expect((await timeline('query=EMILE%20likes')).body).toHaveLength(1)
  expect((await timeline('query=emile%20tea')).body).toEqual([])
  const { body } = await organization.call('GET', '/v5/members?query=owner')
  expect(body).toHaveLength(1)
  expect((await organization.call('GET', '/v5/members/count?query=nobody')).body).toEqual({ count: 0 })
})
