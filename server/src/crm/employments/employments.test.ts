import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestService, type Call, type TestService } from '../../../test/service.ts'

let service: TestService
let call: Call
let contactId: string
let path: string
beforeAll(async () => {
  service = await startTestService()
  call = (await service.newOrganization()).call
})
beforeEach(async () => {
  contactId = (await call('POST', '/v5/contacts', { body: { name: 'Ada' } })).body.id
  path = `/v5/contacts/${contactId}/employments`
})
afterAll(() => service.close())

test('an employment belongs to the contact in its path', async () => {
  const created = await call('POST', path, { body: { organization: 'Acme', title: 'Engineer', start: '2020-01' } })
  expect(created).toMatchObject({ status: 201, body: { contactId, organization: 'Acme', current: false, end: null } })
  const { body: other } = await call('POST', '/v5/contacts', { body: { name: 'Bob' } })
  const otherPath = `/v5/contacts/${other.id}/employments`
  expect((await call('GET', otherPath)).body).toEqual([])
  expect((await call('GET', `${otherPath}/count`)).body).toEqual({ count: 0 })
  for (const method of ['GET', 'DELETE'])
    expect((await call(method, `${otherPath}/${created.body.id}`)).status).toBe(404)
  expect((await call('PATCH', `${otherPath}/${created.body.id}`, { body: { title: 'Spy' } })).status).toBe(404)
  expect((await call('GET', `${path}/${created.body.id}`)).body).toEqual(created.body)
})

test('a current job cannot have an end', async () => {
  const refused = await call('POST', path, { body: { organization: 'Acme', current: true, end: '2020-01' } })
  expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_field_value', details: [{ field: 'end' }] } })
  const { body: created } = await call('POST', path, {
    body: { organization: 'Acme', start: '2019-05', end: '2020-01' },
  })
  const one = `${path}/${created.id}`
  expect((await call('PATCH', one, { body: { current: true } })).status).toBe(422)
  expect((await call('PATCH', one, { body: { current: true, end: null } })).body).toMatchObject({
    current: true,
    end: null,
  })
  expect((await call('PATCH', one, { body: { end: '2021-01' } })).status).toBe(422)
  expect((await call('PATCH', one, { body: { end: '2021-01', current: false } })).status).toBe(200)
})

test('a job cannot end before it starts', async () => {
  const { body: created } = await call('POST', path, {
    body: { organization: 'Acme', start: '2020-05', end: '2020-05' },
  })
  const one = `${path}/${created.id}`
  for (const body of [{ end: '2020-04' }, { start: '2020-06' }, { start: '2022-01', end: '2021-12' }]) {
    const refused = await call('PATCH', one, { body })
    expect(refused, JSON.stringify(body)).toMatchObject({ status: 422, body: { details: [{ field: 'end' }] } })
  }
  expect((await call('GET', one)).body).toEqual(created)
})

test.each(['2020', '2020-13', '2020-00', '2020-1', '2020-01-01', 'May 2020', ''])(
  '%j is not a month',
  async (start) => {
    const refused = await call('POST', path, { body: { organization: 'Acme', start } })
    expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_field_value', details: [{ field: 'start' }] } })
  },
)

test('the employments of a deleted contact are not found until it is restored', async () => {
  const { body: created } = await call('POST', path, { body: { organization: 'Acme' } })
  await call('DELETE', `/v5/contacts/${contactId}`)
  const one = `${path}/${created.id}`
  const responses = [
    await call('GET', path),
    await call('GET', `${path}/count`),
    await call('GET', one),
    await call('POST', path, { body: { organization: 'Other' } }),
    await call('PATCH', one, { body: { title: 'Engineer' } }),
    await call('DELETE', one),
    await call('POST', `${one}/restore`),
  ]
  for (const response of responses) expect(response).toMatchObject({ status: 404, body: { code: 'not_found' } })
  await call('POST', `/v5/contacts/${contactId}/restore`)
  expect((await call('GET', path)).body).toEqual([created])
})

test('employments can be filtered and ordered', async () => {
  for (const [organization, start] of [
    ['Acme', '2020-01'],
    ['Babbage', '2018-07'],
    ['Coyote', null],
  ]) {
    await call('POST', path, { body: { organization, start } })
  }
  const found = async (query: string) =>
    (await call('GET', `${path}?${query}`)).body.map((job: { organization: string }) => job.organization)
  expect(await found('orderBy=start&sort=asc')).toEqual(['Babbage', 'Acme', 'Coyote'])
  expect(await found('orderBy=start&sort=desc')).toEqual(['Acme', 'Babbage', 'Coyote'])
  expect(await found('filter.start.startsWith=2018')).toEqual(['Babbage'])
  expect(await found('query=acm')).toEqual(['Acme'])
})
