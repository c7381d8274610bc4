import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import { newOwner } from '../../../test/people.ts'
import { personWith } from '../../../test/reach-fixture.ts'

let mailed: MailedService
beforeAll(async () => {
  mailed = await startMailedService()
})
afterAll(() => mailed.close())

test('records out of reach cannot be referenced, and a report does not count them', async () => {
  const owner = await newOwner(mailed.service)
  const scopes = ['urn:service:company:*:*', 'urn:service:property:*:*']
  const role = await owner.call('POST', '/v5/roles', { body: { name: 'Own', scopes, reach: { company: 'own' } } })
  expect(role.status, role.text).toBe(201)
  const person = await personWith(mailed, owner, role.body.id)
  const definition = {
    resource: 'companies',
    key: 'partner',
    type: 'reference',
    label: 'Partner',
    references: 'companies',
  }
  await owner.call('POST', '/v5/properties', { body: definition })
  const create = (call: typeof owner.call, customProperties: object) =>
    call('POST', '/v5/companies', { body: { name: 'Acme', customProperties } })
  const { body: theirs } = await create(owner.call, { seats: 'many' })
  const { body: own } = await create(person.call, { seats: 'few' })

  expect((await create(person.call, { partner: own.id })).status).toBe(201)
  const refused = await create(person.call, { partner: theirs.id })
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'customProperties.partner' }] } })

  const seats = { resource: 'companies', key: 'seats', type: 'number', label: 'Seats' }
  const report = await person.call('POST', '/v5/properties?dryRun=true', { body: seats })
  expect(report.body).toMatchObject({ used: 1, unfit: 1, records: [{ id: own.id, value: 'few' }] })
  expect(report.text).not.toContain(theirs.id)
  const everything = await owner.call('POST', '/v5/properties?dryRun=true', { body: seats })
  expect(everything.body).toMatchObject({ used: 2, unfit: 2 })
  expect(everything.body.records).toHaveLength(2)

  const code = { resource: 'companies', key: 'code', type: 'text', label: 'Code', unique: true }
  const same = { code: 'A1' }
  const { body: hidden } = await create(owner.call, same)
  const { body: one } = await create(person.call, same)
  const { body: other } = await create(person.call, same)
  const path = '/v5/properties?dryRun=true'
  const { text } = await person.call('POST', path, { body: code })
  expect([one, other, hidden].map(({ id }) => text.includes(id))).toEqual([true, true, false])
  expect((await owner.call('POST', path, { body: code })).text).toContain(hidden.id)
})

test('no definition shows a person which values records out of reach have', async () => {
  const owner = await newOwner(mailed.service)
  const scopes = ['urn:service:company:*:*', 'urn:service:property:*:*']
  const role = await owner.call('POST', '/v5/roles', { body: { name: 'Own', scopes, reach: { company: 'own' } } })
  const person = await personWith(mailed, owner, role.body.id)
  const withRevenue = (call: typeof owner.call, revenue: number) =>
    call('POST', '/v5/companies', { body: { name: 'Acme', customProperties: { revenue } } })
  expect((await withRevenue(owner.call, 815)).status).toBe(201)
  const dryRun = async (call: typeof owner.call, more: object) =>
    (await call('POST', '/v5/properties?dryRun=true', { body: { ...revenue, ...more } })).body
  const revenue = { resource: 'companies', key: 'revenue', label: 'Revenue' }
  expect(await dryRun(person.call, { type: 'text' })).toMatchObject({ used: 0, unfit: 0, records: [] })
  // A guess in their own record does not count as a duplicate of what they do not see.
  expect((await withRevenue(person.call, 815)).status).toBe(201)
  expect(await dryRun(person.call, { type: 'number', unique: true })).toMatchObject({ used: 1, duplicates: 0 })
  expect(await dryRun(owner.call, { type: 'number', unique: true })).toMatchObject({ used: 2, duplicates: 2 })

  const forbidden = { status: 403, body: { code: 'insufficient_permissions' } }
  expect(await person.call('POST', '/v5/properties', { body: { ...revenue, type: 'text' } })).toMatchObject(forbidden)
  expect(await person.call('POST', '/v5/properties', { body: { ...revenue, type: 'number' } })).toMatchObject(forbidden)
  const { body: defined } = await owner.call('POST', '/v5/properties', { body: { ...revenue, type: 'number' } })
  const path = `/v5/properties/${defined.id}`
  expect(await person.call('PATCH', path, { body: { unique: true } })).toMatchObject(forbidden)
  expect((await person.call('PATCH', path, { body: { label: 'Yearly revenue' } })).status).toBe(200)
  expect((await person.call('DELETE', path)).status).toBe(204)
  expect(await person.call('POST', `${path}/restore`)).toMatchObject(forbidden)
  const ofDeals = { resource: 'deals', key: 'revenue', type: 'number', label: 'Revenue' }
  expect((await person.call('POST', '/v5/properties', { body: ofDeals })).status).toBe(201)
})

test('a person of limited reach reads all definitions, also without the scopes of definitions where records are read', async () => {
  const owner = await newOwner(mailed.service)
  const definition = { resource: 'companies', key: 'seats', type: 'number', label: 'Seats', unique: true }
  const { body: defined } = await owner.call('POST', '/v5/properties', { body: definition })
  const company = ['urn:service:company:*:*']
  const personOf = async (name: string, more: string[]) => {
    const body = { name, scopes: ['urn:service:schema:get:read', ...company, ...more], reach: { company: 'own' } }
    return personWith(mailed, owner, (await owner.call('POST', '/v5/roles', { body })).body.id)
  }
  const reader = await personOf('Reader', ['urn:service:property:*:read'])
  for (const path of ['', '/count', `/${defined.id}`, '/undeclared', '?resource=companies', '?query=seats'])
    expect([path, (await reader.call('GET', `/v5/properties${path}`)).status]).toEqual([path, 200])
  expect((await reader.call('GET', '/v5/properties')).body).toMatchObject([{ id: defined.id, unique: true }])
  expect((await reader.call('POST', '/v5/properties/search', { body: {} })).body).toHaveLength(1)

  const without = await personOf('Without', [])
  for (const { call } of [reader, without]) {
    const { body: schema } = await call('GET', '/v5/schema')
    const companies = schema.resources.find(({ name }: { name: string }) => name === 'companies')
    expect(companies.properties).toMatchObject([{ id: defined.id, key: 'seats', type: 'number' }])
    const made = await call('POST', '/v5/companies', { body: { name: 'Acme', customProperties: { seats: 'many' } } })
    expect(made).toMatchObject({ status: 422, body: { details: [{ field: 'customProperties.seats' }] } })
    expect((await call('GET', '/v5/companies?filter.customProperties.seats.gt=1')).status).toBe(200)
  }
  expect((await without.call('GET', '/v5/properties')).body).toMatchObject({ code: 'missing_scopes' })
})
