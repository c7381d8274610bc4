import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

test('an email address is unique among the contacts of a team', async () => {
  const [ours, theirs] = [await service.newOrganization(), await service.newOrganization()]
  const first = await ours.call('POST', '/v5/contacts', { body: { email: 'Ada@Example.com' } })
  expect(first.status).toBe(201)
  expect(first.body.email).toBe('Ada@Example.com')

  const again = await ours.call('POST', '/v5/contacts', { body: { email: 'ada@EXAMPLE.com' } })
  expect(again.status).toBe(409)
  expect(again.body).toMatchObject({ code: 'already_exists', details: [{ field: 'email', id: first.body.id }] })
  expect(again.body.details[0].message).toContain(first.body.id)
  const blind = await ours.withScopes(['contact:create:write'])
  const unnamed = await blind('POST', '/v5/contacts', { body: { email: 'ada@example.com' } })
  expect(unnamed.body.details).toEqual([{ field: 'email', message: 'is taken by another contact' }])

  const other = await theirs.call('POST', '/v5/contacts', { body: { email: 'ada@example.com' } })
  expect(other.status).toBe(201)
})

test('name follows first and last name until it is set to something else', async () => {
  const { call } = await service.newOrganization()
  const { body: created } = await call('POST', '/v5/contacts', { body: { firstName: 'Ada', lastName: 'Lovelace' } })
  expect(created.name).toBe('Ada Lovelace')
  const path = `/v5/contacts/${created.id}`
  expect((await call('PATCH', path, { body: { lastName: 'King' } })).body.name).toBe('Ada King')
  const renamed = await call('PATCH', path, { body: { name: 'Augusta Ada Byron' } })
  expect(renamed.body).toMatchObject({ firstName: 'Augusta Ada', lastName: 'Byron' })
  const both = await call('PATCH', path, { body: { name: 'Countess of Lovelace', firstName: 'Ada', lastName: 'King' } })
  expect(both.body).toMatchObject({ name: 'Countess of Lovelace', firstName: 'Ada', lastName: 'King' })
  expect((await call('PATCH', path, { body: { lastName: 'Byron' } })).body.name).toBe('Countess of Lovelace')
})

test('a name part that the request omits is taken from the name', async () => {
  const { call } = await service.newOrganization()
  const { body: created } = await call('POST', '/v5/contacts', { body: { name: 'X Y', firstName: 'Q' } })
  expect(created).toMatchObject({ name: 'X Y', firstName: 'Q', lastName: 'Y' })
  const { body: changed } = await call('PATCH', `/v5/contacts/${created.id}`, { body: { name: 'A B', lastName: 'C' } })
  expect(changed).toMatchObject({ name: 'A B', firstName: 'A', lastName: 'C' })
})

test('a contact requires an email, a phone or a name, on creation and on change', async () => {
  const { call } = await service.newOrganization()
  const empty = await call('POST', '/v5/contacts', { body: { city: 'Paris' } })
  expect(empty).toMatchObject({ status: 422, body: { code: 'missing_required_field', details: [{ field: 'email' }] } })
  const { body: created } = await call('POST', '/v5/contacts', { body: { phone: '+49 (30) 123-456' } })
  expect(created.phone).toBe('+4930123456')
  const cleared = await call('PATCH', `/v5/contacts/${created.id}`, { body: { phone: null } })
  expect(cleared).toMatchObject({ status: 422, body: { code: 'invalid_field_value', details: [{ field: 'phone' }] } })
})

test('a change without effect keeps revision and updatedAt', async () => {
  const { call } = await service.newOrganization()
  const created = await call('POST', '/v5/contacts', {
    body: { email: 'ada@example.com', customProperties: { a: { b: 1 } } },
  })
  const same = await call('PATCH', `/v5/contacts/${created.body.id}`, {
    body: { email: 'ada@example.com', customProperties: { a: { b: 1 } } },
  })
  expect(same.status).toBe(200)
  expect(same.headers.get('etag')).toBe(created.headers.get('etag'))
  expect(same.body).toEqual(created.body)
})

test('a deleted contact releases its address and can be restored only while the address is free', async () => {
  const { call } = await service.newOrganization()
  const { body: created } = await call('POST', '/v5/contacts', { body: { email: 'ada@example.com' } })
  const path = `/v5/contacts/${created.id}`
  expect((await call('DELETE', path)).status).toBe(204)
  expect((await call('GET', path)).status).toBe(404)
  expect((await call('DELETE', path)).status).toBe(404)
  const { body: second } = await call('POST', '/v5/contacts', { body: { email: 'ada@example.com' } })
  expect((await call('POST', `${path}/restore`)).status).toBe(409)
  await call('DELETE', `/v5/contacts/${second.id}`)
  const restored = await call('POST', `${path}/restore`)
  expect(restored.status).toBe(200)
  expect((await call('GET', path)).body).toEqual(restored.body)
})

test('the contacts of one person in two teams share the root contact', async () => {
  const { call } = await service.newOrganization()
  const { body: team } = await call('POST', '/v5/teams', { body: { name: 'Berlin' } })
  const { body: first } = await call('POST', '/v5/contacts', { body: { email: 'ada@example.com' } })
  const { body: second } = await call('POST', '/v5/contacts', { body: { email: 'ADA@example.com', teamId: team.id } })
  expect(second.rootContactId).toBe(first.rootContactId)
  expect(first.teamId).not.toBe(second.teamId)
  const { body: moved } = await call('PATCH', `/v5/contacts/${second.id}`, { body: { email: 'bo@example.com' } })
  expect(moved.rootContactId).not.toBe(first.rootContactId)
})
