import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { pushesOf } from '../../../test/processed-pushes.ts'
import { serviceProcesses } from '../../../test/service-process.ts'
import { type Call, type Json, startTestService, type TestService } from '../../../test/service.ts'
import { newId, decodeId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'

let testDatabase: TestDatabase
let service: TestService
beforeAll(async () => {
  testDatabase = await createDatabase()
  service = await startTestService({}, { ...testDatabase, drop: async () => undefined })
})
afterAll(async () => {
  await service.close()
  await testDatabase.drop()
})

const define = async ({ call }: { call: Call }, body: Json): Promise<Json> => {
  const made = await call('POST', '/v5/properties', {
    body: { resource: 'companies', type: 'text', label: 'Label', ...body },
  })
  expect(made.status, made.text).toBe(201)
  return made.body
}

const create = (call: Call, customProperties: Json, more: Json = {}) =>
  call('POST', '/v5/companies', { body: { name: 'Acme', ...more, customProperties } })

test('a required property cannot be missing in a new record nor be removed, unless it is archived', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const old = await create(call, {})
  const { id } = await define(organization, { key: 'plan', required: true })
  const missing = {
    status: 422,
    body: { code: 'missing_required_field', details: [{ field: 'customProperties.plan' }] },
  }
  expect(await create(call, {})).toMatchObject(missing)
  expect(await create(call, { plan: null })).toMatchObject(missing)
  expect(await call('POST', '/v5/companies', { body: { name: 'Acme' } })).toMatchObject(missing)
  const { body: made } = await create(call, { plan: 'pro' })
  expect(await call('PATCH', `/v5/companies/${made.id}`, { body: { customProperties: { plan: null } } })).toMatchObject(
    missing,
  )
  // Records from before can be changed otherwise.
  const changed = await call('PATCH', `/v5/companies/${old.body.id}`, {
    body: { name: 'Old', customProperties: { other: 1 } },
  })
  expect(changed).toMatchObject({ status: 200, body: { customProperties: { other: 1 } } })

  expect((await call('PATCH', `/v5/properties/${id}`, { body: { archived: true } })).status).toBe(200)
  expect((await create(call, {})).status).toBe(201)
  expect(await create(call, { plan: 5 })).toMatchObject({
    status: 422,
    body: { details: [{ field: 'customProperties.plan' }] },
  })
  const again = { resource: 'companies', key: 'plan', type: 'number', label: 'Plan' }
  expect(await call('POST', '/v5/properties', { body: again })).toMatchObject({
    status: 409,
    body: { code: 'already_exists' },
  })
  expect((await call('DELETE', `/v5/properties/${id}`)).status).toBe(204)
  expect((await create(call, { plan: 5 })).status).toBe(201)
  expect((await call('POST', `/v5/properties/${id}/restore`)).status).toBe(422)
})

test('a new record gets the default, unless it has a value or null was sent', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  await define(organization, { key: 'seats', type: 'number', default: 5 })
  await define(organization, { key: 'price', type: 'money', default: { amount: '01.50', currency: 'eur' } })
  const price = { amount: '1.50', currency: 'EUR' }
  expect((await create(call, { seats: 7 })).body.customProperties).toEqual({ seats: 7, price })
  expect((await create(call, { seats: null, price: null })).body.customProperties).toEqual({})
  const { body } = await call('POST', '/v5/companies', { body: { name: 'Acme' } })
  expect(body.customProperties).toEqual({ seats: 5, price })
  // A part of an amount changes, as in every object.
  const path = `/v5/companies/${body.id}`
  const changed = await call('PATCH', path, { body: { customProperties: { price: { amount: '2' } } } })
  expect(changed.body.customProperties.price).toEqual({ amount: '2', currency: 'EUR' })
  expect((await call('PATCH', path, { body: { customProperties: { price: { currency: null } } } })).status).toBe(422)
  const wrong = { resource: 'companies', key: 'on', type: 'date', label: 'On', default: 'today' }
  expect(await call('POST', '/v5/properties', { body: wrong })).toMatchObject({
    status: 422,
    body: { details: [{ field: 'default' }] },
  })
})

test('only one of many concurrent writes gets a unique value, and a restored record does not get it back', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  await define(organization, { key: 'vatId', unique: true })
  await define(organization, { key: 'address', type: 'email', unique: true })
  const results = await Promise.all(Array.from({ length: 8 }, () => create(call, { vatId: 'DE1' })))
  const [holder] = results.filter(({ status }) => status === 201)
  expect(results.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(7).fill(409)])
  const taken = { code: 'already_exists', details: [{ field: 'customProperties.vatId', id: holder?.body.id }] }
  for (const { status, body } of results) if (status === 409) expect(body).toMatchObject(taken)

  const { body: other } = await create(call, { vatId: 'DE2', address: 'Ada@example.com' })
  const path = `/v5/companies/${other.id}`
  expect(await call('PATCH', path, { body: { customProperties: { vatId: 'DE1' } } })).toMatchObject({
    status: 409,
    body: taken,
  })
  expect((await create(call, { address: 'ada@EXAMPLE.com' })).status).toBe(409)
  await call('DELETE', `/v5/companies/${holder?.body.id}`)
  expect((await call('PATCH', path, { body: { customProperties: { vatId: 'DE1' } } })).status).toBe(200)
  expect(await call('POST', `/v5/companies/${holder?.body.id}/restore`)).toMatchObject({
    status: 409,
    body: { details: [{ field: 'customProperties.vatId', id: other.id }] },
  })
  expect((await create(call, { vatId: 'DE2' })).status).toBe(201)
  await call('PATCH', path, { body: { customProperties: { vatId: null } } })
  expect((await call('POST', `/v5/companies/${holder?.body.id}/restore`)).status).toBe(200)
})

test('keys without a definition are refused if the organization decides so', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  await define(organization, { key: 'renewal' })
  const { body: old } = await create(call, { renewl: 'pro', region: 'north' })
  const accepted = { contacts: 'accepted', companies: 'accepted', deals: 'accepted' }
  expect((await call('GET', '/v5/properties/undeclared')).body).toEqual(accepted)
  const changed = await call('PATCH', '/v5/properties/undeclared', { body: { companies: 'refused' } })
  expect(changed.body).toEqual({ ...accepted, companies: 'refused' })
  expect(await create(call, { renewl: 'pro' })).toMatchObject({
    status: 422,
    body: {
      code: 'invalid_field_value',
      details: [{ field: 'customProperties.renewl', message: 'unknown property; did you mean renewal?' }],
    },
  })
  const path = `/v5/companies/${old.id}`
  expect((await call('PATCH', path, { body: { customProperties: { region: 'south' } } })).status).toBe(422)
  // What it has can stay, and be removed.
  const kept = await call('PATCH', path, { body: { customProperties: { renewal: 'pro', renewl: null } } })
  expect(kept.body.customProperties).toEqual({ renewal: 'pro', region: 'north' })
  expect((await call('POST', '/v5/contacts', { body: { name: 'Ada', customProperties: { any: 1 } } })).status).toBe(201)
})

test('a definition is refused while stored values do not fit, with their number and the first of them', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const ids: string[] = []
  for (const phone of ['+49301234567', '+49 30 1234567', 'none', 'none', null])
    ids.push((await create(call, { phone })).body.id)
  const body = { resource: 'companies', key: 'phone', type: 'phone', label: 'Phone', unique: true }
  const report = [
    { id: ids[1], value: '+49 30 1234567', reason: 'form', message: 'expected the form "+49301234567"' },
    { id: ids[2], value: 'none', message: expect.stringContaining('expected a phone number') },
    { id: ids[3], value: 'none', message: expect.stringContaining('expected a phone number') },
  ]
  const same = [2, 3].map((index) => ({ id: ids[index], value: 'none', message: 'is the value of another record too' }))
  const check = await call('POST', '/v5/properties?dryRun=true', { body })
  expect(check.body).toMatchObject({ dryRun: true, used: 4, unfit: 3, duplicates: 2, records: [...report, ...same] })
  expect((await call('GET', '/v5/properties')).body).toEqual([])
  const refused = await call('POST', '/v5/properties', { body })
  expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_field_value' } })
  expect(refused.body.description).toMatch(/^3 companies have a value that does not fit the type phone\. 2 companies/)
  expect(refused.body.details[0]).toEqual({
    field: 'customProperties.phone',
    message: '"+49 30 1234567": expected the form "+49301234567"',
    id: ids[1],
  })
  for (const [index, phone] of [
    [1, '+49 30 7654321'],
    [2, null],
  ] as const)
    await call('PATCH', `/v5/companies/${ids[index]}`, { body: { customProperties: { phone } } })
  await call('DELETE', `/v5/companies/${ids[3]}`)
  await call('PATCH', `/v5/companies/${ids[1]}`, { body: { customProperties: { phone: '+49307654321' } } })
  const { id } = await define(organization, body)
  expect((await create(call, { phone: '+49307654321' })).status).toBe(409)
  expect((await call('PATCH', `/v5/properties/${id}`, { body: { unique: false } })).status).toBe(200)
  expect((await create(call, { phone: '+49307654321' })).status).toBe(201)
  expect((await call('PATCH', `/v5/properties/${id}`, { body: { unique: true } })).status).toBe(422)
})

test('a choice that a record has can be archived but not removed', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const choices = ['free', 'pro'].map((value) => ({ value, label: value, archived: false }))
  const { id } = await define(organization, { key: 'plans', type: 'multiChoice', choices })
  const { body: company } = await create(call, { plans: ['free'] })
  const [free, pro] = choices
  const path = `/v5/properties/${id}`
  expect(await call('PATCH', path, { body: { choices: [pro] } })).toMatchObject({
    status: 423,
    body: { code: 'resource_locked' },
  })
  expect((await call('PATCH', path, { body: { choices: [{ ...free, archived: true }, pro] } })).status).toBe(200)
  const refused = await create(call, { plans: ['free'] })
  expect(refused.body.details[0].message).toBe('the choice free is archived; expected one of pro')
  const kept = await call('PATCH', `/v5/companies/${company.id}`, {
    body: { customProperties: { plans: ['free', 'pro'] } },
  })
  expect(kept.body.customProperties.plans).toEqual(['free', 'pro'])
  await call('PATCH', `/v5/companies/${company.id}`, { body: { customProperties: { plans: null } } })
  expect((await call('PATCH', path, { body: { choices: [pro] } })).status).toBe(200)
})

test('a reference names a record of the organization that the writer can see', async () => {
  const organization = await service.newOrganization()
  const other = await service.newOrganization()
  const { call } = organization
  await define(organization, { key: 'partner', type: 'reference', references: 'companies' })
  await define(organization, { key: 'manager', type: 'reference', references: 'members' })
  const { body: partner } = await create(call, {})
  const { body: foreign } = await create(other.call, {})
  const manager = organization.userId
  const made = await create(call, { partner: partner.id, manager })
  expect(made).toMatchObject({ status: 201, body: { customProperties: { partner: partner.id, manager } } })
  await call('DELETE', `/v5/companies/${partner.id}`)
  for (const id of [foreign.id, partner.id, 'com_1'])
    expect((await create(call, { partner: id })).body.details[0].field).toBe('customProperties.partner')
  expect((await create(call, { manager: other.userId })).status).toBe(422)
})

test('a key can be a word of JavaScript', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  await define(organization, { key: 'constructor', type: 'number', required: true })
  expect((await create(call, {})).body.code).toBe('missing_required_field')
  expect((await create(call, { constructor: 5 })).body.customProperties).toEqual({ constructor: 5 })
  expect((await create(call, { constructor: 'five' })).status).toBe(422)
})

test.each([
  [{ key: '1st' }, 'key'],
  [{ type: 'choice' }, 'choices'],
  [{ choices: [{ value: 'a', label: 'A' }] }, 'choices'],
  [{ type: 'reference' }, 'references'],
  [{ references: 'deals' }, 'references'],
  [{ type: 'boolean', unique: true }, 'unique'],
  [{ unique: true, default: 'a' }, 'default'],
  [{ type: 'number', default: '5' }, 'default'],
])('a definition with %j is rejected', async (more, field) => {
  const { call } = await service.newOrganization()
  const body = { resource: 'deals', key: 'key', type: 'text', label: 'Label', ...more }
  const refused = await call('POST', '/v5/properties', { body })
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field }] } })
})

test('the resource, the key and the type of a definition cannot be changed', async () => {
  const organization = await service.newOrganization()
  const { id } = await define(organization, { key: 'plan' })
  for (const [name, value] of Object.entries({ resource: 'deals', key: 'other', type: 'number' })) {
    const refused = await organization.call('PATCH', `/v5/properties/${id}`, { body: { [name]: value } })
    expect(refused).toMatchObject({ status: 422, body: { details: [{ field: name }] } })
  }
})

test('an import applies defaults, and neither needs nor changes required properties', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  await define(organization, { resource: 'contacts', key: 'source', default: 'import' })
  await define(organization, { resource: 'contacts', key: 'plan', required: true })
  const email = `${newId()}@example.com`
  const push = pushesOf(service, organization)
  const [row] = await push({ contact: { email, customProperties: { plan: { tier: 5 } } } })
  expect(row).toMatchObject({ status: 'PROCESSED', warnings: [{ path: 'contact.customProperties.plan' }] })
  const [contact] = (await call('GET', `/v5/contacts?email=${email}`)).body
  expect(contact.customProperties).toEqual({ source: 'import' })
})

test('no record is written with former definitions by another process', async () => {
  const organization = await service.newOrganization()
  const processes = await serviceProcesses(testDatabase)
  onTestFinished(() => processes.close())
  const other = await processes.start('other')
  const { apiKey, organizationId } = organization
  const elsewhere = async (customProperties: Json): Promise<{ status: number; body: Json }> => {
    const response = await fetch(`${other.url}/v5/companies`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'service-organization-id': organizationId,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ name: 'Acme', customProperties }),
    })
    return { status: response.status, body: await response.json() }
  }
  // Both processes know the definitions so far.
  for (let repeat = 0; repeat < 2; repeat++) expect((await elsewhere({ plan: 'text' })).status).toBe(201)
  const { id } = await define(organization, { key: 'seats', type: 'number', required: true })
  expect((await elsewhere({})).status).toBe(422)
  expect((await elsewhere({ seats: 5 })).status).toBe(201)
  await organization.call('PATCH', `/v5/properties/${id}`, { body: { required: false, default: 3 } })
  expect((await elsewhere({})).body.customProperties).toEqual({ seats: 3 })

  // While many records are created, a definition either refuses them or is refused because of them.
  const key = (index: number) => `count${index}`
  for (const index of [0, 1, 2]) {
    const writes = Array.from({ length: 30 }, (_, place) =>
      elsewhere({ seats: 1, [key(index)]: place > 14 ? 'many' : place }),
    )
    const body = { resource: 'companies', key: key(index), type: 'number', label: 'Count' }
    const [defined] = await Promise.all([organization.call('POST', '/v5/properties', { body }), ...writes])
    const texts = await service.database.crossTenantQuery<{ count: number }>(
      'check the database',
      sql`select count(*)::integer as count from companies where organization_id = ${decodeId('org', organizationId)}::uuid
        and jsonb_typeof(custom_properties -> ${key(index)}::text) = 'string'`,
    )
    if (defined.status === 201) expect(texts).toEqual([{ count: 0 }])
    else expect(defined.status).toBe(422)
  }
})
