import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let service: TestService
let organization: TestOrganization
let contactId: string
let path: string
beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  organization = await service.newOrganization()
  const { call, teamId } = organization
  const body = { email: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace', city: 'London' }
  contactId = (await call('POST', '/v5/contacts', { body })).body.id
  path = `/api/teams/${teamId}/contacts/${contactId}`
})
afterAll(() => service.close())

/** Section 4.9 of the interface, field by field. */
const shown =
  'id createdAt updatedAt blockedAt name nickname bio avatar website location timeZone city state countryCode latitude longitude employmentTitle employmentSeniority companyId rootContactId'.split(
    ' ',
  )
const changes = {
  name: 'Ada King',
  nickname: 'Countess',
  bio: 'First programmer.\nCountess.',
  avatar: 'https://example.com/ada.png',
  website: 'https://example.com',
  location: 'London, England',
  timeZone: 'Europe/London',
  city: 'Marylebone',
  state: 'England',
  countryCode: 'GB',
  latitude: 51.5074,
  longitude: -0.1278,
  employmentTitle: 'Analyst',
  employmentSeniority: 'c_suite',
}

test('the record has exactly the twenty fields of the interface', async () => {
  const { call, teamId } = organization
  const one = await call('GET', path)
  expect(shown).toHaveLength(20)
  expect(Object.keys(one.body).sort()).toEqual([...shown].sort())
  expect((await call('GET', `/api/teams/${teamId}/contacts`)).body).toEqual([one.body])
})

test('a change accepts exactly the writable fields of the interface and returns the record', async () => {
  const { call } = organization
  const { body: before } = await call('GET', path)
  const changed = await call('PATCH', path, { body: changes })
  expect(changed.status).toBe(200)
  expect(changed.body).toEqual({ ...before, ...changes, updatedAt: changed.body.updatedAt })
  expect((await call('GET', path)).text).toBe(changed.text)
  expect(Object.keys(changes).sort()).toEqual(shown.slice(4, -2).sort())
})

test('a change with any other field of a contact is rejected and changes nothing', async () => {
  const { call } = organization
  const whole = await call('GET', `/v5/contacts/${contactId}`)
  const others = Object.keys(whole.body).filter((name) => !(name in changes))
  expect(others.length).toBeGreaterThan(15)
  for (const name of others) {
    const refused = await call('PATCH', path, { body: { city: 'Paris', [name]: null } })
    expect([name, refused.status, refused.body.code]).toEqual([name, 422, 'invalid_field_value'])
    expect(refused.body.details).toMatchObject([{ field: name }])
    if (shown.includes(name)) expect(refused.body.details[0].message).toBe('is read-only')
  }
  expect((await call('GET', `/v5/contacts/${contactId}`)).text).toBe(whole.text)
})

test('both families of routes show the same contact', async () => {
  const { call } = organization
  await call('PATCH', path, { body: { name: 'Augusta Ada Byron' } })
  const { body: whole, headers } = await call('GET', `/v5/contacts/${contactId}`)
  expect(whole).toMatchObject({ name: 'Augusta Ada Byron', firstName: 'Augusta Ada', lastName: 'Byron' })
  await call('PATCH', `/v5/contacts/${contactId}`, { body: { lastName: 'King' } })
  expect((await call('GET', path)).body.name).toBe('Augusta Ada King')
  const stale = await call('PATCH', path, {
    body: { city: 'Paris' },
    headers: { 'if-match': headers.get('etag') ?? '' },
  })
  expect(stale.status).toBe(412)
})

test('a team sees only its own contacts', async () => {
  const { call } = organization
  const { body: team } = await call('POST', '/v5/teams', { body: { name: 'Berlin' } })
  const otherPath = `/api/teams/${team.id}/contacts`
  expect((await call('GET', otherPath)).body).toEqual([])
  for (const options of [['GET'], ['PATCH', { city: 'Paris' }]] as const) {
    const [method, body] = options
    const response = await call(method, `${otherPath}/${contactId}`, body === undefined ? {} : { body })
    expect(response).toMatchObject({ status: 404, body: { code: 'not_found' } })
  }
  expect((await call('GET', `${otherPath}?startingAfter=${contactId}`)).status).toBe(404)
  await call('PATCH', `/v5/contacts/${contactId}`, { body: { teamId: team.id } })
  expect((await call('GET', path)).status).toBe(404)
  expect((await call('GET', `${otherPath}/${contactId}`)).body.city).toBe('London')
})

test('fields that the record lacks cannot be filtered, ordered or selected', async () => {
  const { call, teamId } = organization
  const list = `/api/teams/${teamId}/contacts`
  for (const query of [
    'filter.email.equals=ada@example.com',
    'email=ada@example.com',
    'orderBy=lastName',
    'select[]=email',
    'filter.company.name.equals=x',
  ]) {
    expect([query, (await call('GET', `${list}?${query}`)).status]).toEqual([query, 400])
  }
  expect((await call('GET', `${list}?filter.city.equals=London&orderBy=name&select[]=name`)).body).toEqual([
    { name: 'Ada Lovelace' },
  ])
})

test('the team-scoped routes have neither create nor delete', async () => {
  const { call, teamId } = organization
  for (const [method, url] of [
    ['POST', `/api/teams/${teamId}/contacts`],
    ['DELETE', path],
    ['PUT', path],
  ] as const) {
    const response = await call(method, url, method === 'DELETE' ? {} : { body: changes })
    expect([method, response.status, response.body.code]).toEqual([method, 405, 'method_not_allowed'])
  }
})

test('null clears each field, except the last of email, phone and name', async () => {
  const { call } = organization
  await call('PATCH', path, { body: changes })
  const cleared = await call('PATCH', path, {
    body: Object.fromEntries(Object.keys(changes).map((name) => [name, null])),
  })
  expect(cleared.status).toBe(200)
  for (const name of Object.keys(changes)) expect([name, cleared.body[name]]).toEqual([name, null])
  expect((await call('GET', `/v5/contacts/${contactId}`)).body).toMatchObject({ firstName: 'Ada', lastName: 'King' })
  await call('PATCH', path, { body: { name: 'Ada' } })
  await call('PATCH', `/v5/contacts/${contactId}`, { body: { email: null } })
  expect(await call('PATCH', path, { body: { name: null } })).toMatchObject({
    status: 422,
    body: { details: [{ field: 'name' }] },
  })
})

test('an unchanged name keeps its parts', async () => {
  const { call } = organization
  const parts = { firstName: 'Mary Ann', lastName: 'Van der Berg' }
  await call('PATCH', `/v5/contacts/${contactId}`, { body: parts })
  const { body: before, headers } = await call('GET', path)
  const same = await call('PATCH', path, { body: { name: before.name } })
  expect(same.headers.get('etag')).toBe(headers.get('etag'))
  expect((await call('PATCH', path, { body: { name: before.name, city: 'Delft' } })).body.name).toBe(before.name)
  expect((await call('GET', `/v5/contacts/${contactId}`)).body).toMatchObject(parts)
})
