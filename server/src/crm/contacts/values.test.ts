import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { type Call, type Json, startTestService, type TestService } from '../../../test/service.ts'

let service: TestService
let call: Call
beforeAll(async () => {
  service = await startTestService()
  call = (await service.newOrganization()).call
})
afterAll(() => service.close())

async function newContact(body: Json = {}): Promise<{ path: string; body: Json; text: string; headers: Headers }> {
  const created = await call('POST', '/v5/contacts', { body: { name: 'Ada', ...body } })
  expect(created.status).toBe(201)
  return { ...created, path: `/v5/contacts/${created.body.id}` }
}

test('custom properties are merged deeply by key; lists and values are replaced, and null removes a key', async () => {
  const { path } = await newContact({ customProperties: { plan: 'pro', seats: 3, nested: { a: 1, b: { c: [1, 2] } } } })
  const patch = async (customProperties: Json) =>
    (await call('PATCH', path, { body: { customProperties } })).body.customProperties
  expect(await patch({ seats: null, nested: { b: { c: [3], d: null, e: 'new' } } })).toEqual({
    plan: 'pro',
    nested: { a: 1, b: { c: [3], e: 'new' } },
  })
  expect(await patch({ nested: 'flat' })).toEqual({ plan: 'pro', nested: 'flat' })
  expect(await patch({ nested: { again: { deep: null } } })).toEqual({ plan: 'pro', nested: { again: {} } })
  expect(await patch({ plan: [null, { x: null }] })).toEqual({ plan: [null, { x: null }], nested: { again: {} } })
  expect(await patch({})).toEqual({ plan: [null, { x: null }], nested: { again: {} } })
  expect(await patch({ plan: null, nested: null, absent: null })).toEqual({})
})

test('values of custom properties are returned as they were sent', async () => {
  const customProperties = {
    integer: 9007199254740991,
    decimal: -0.1,
    small: 1e-7,
    zero: 0,
    text: '  Émile \u{1f600} "quoted" \\ ',
    empty: '',
    yes: true,
    list: [1, 'a', null, {}],
    constructor: 'a name like any other',
  }
  const { path, body } = await newContact({ customProperties })
  expect(body.customProperties).toEqual(customProperties)
  expect((await call('GET', path)).body.customProperties).toEqual(customProperties)
})

const keys = (count: number, prefix = 'key') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, index]))

test('a contact has at most 200 custom properties, on creation and after a change', async () => {
  const { path } = await newContact({ customProperties: keys(200) })
  for (const customProperties of [keys(201), { ...keys(150), ...keys(51, 'other') }]) {
    const refused = await call('POST', '/v5/contacts', { body: { name: 'Ada', customProperties } })
    expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'customProperties' }] } })
  }
  const refused = await call('PATCH', path, { body: { customProperties: { one: 'more' } } })
  expect(refused).toMatchObject({
    status: 422,
    body: { code: 'invalid_field_value', details: [{ field: 'customProperties' }] },
  })
  const swapped = await call('PATCH', path, { body: { customProperties: { one: 'more', key0: null } } })
  expect(swapped.status).toBe(200)
  expect(Object.keys(swapped.body.customProperties)).toHaveLength(200)
})

test('custom properties have at most 64 KiB of JSON in total', async () => {
  const sized = (bytes: number) => ({ text: 'x'.repeat(bytes - '{"text":""}'.length) })
  const { path } = await newContact({ customProperties: sized(64 * 1024) })
  const refused = await call('POST', '/v5/contacts', { body: { name: 'Ada', customProperties: sized(64 * 1024 + 1) } })
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'customProperties' }] } })
  expect(refused.body.details[0].message).toMatch(/64 KiB/)
  expect((await call('PATCH', path, { body: { customProperties: { a: 1 } } })).status).toBe(422)
  expect((await call('PATCH', path, { body: { customProperties: { text: 'short', a: 1 } } })).status).toBe(200)
})

test.each(['1st', '_private', 'with space', 'dotted.key', 'dash-ed', 'ключ', '', 'x'.repeat(65)])(
  'the custom property key %j is rejected by name',
  async (key) => {
    const { path } = await newContact()
    for (const response of [
      await call('POST', '/v5/contacts', { body: { name: 'Ada', customProperties: { [key]: 1 } } }),
      await call('PATCH', path, { body: { customProperties: { [key]: 1 } } }),
    ]) {
      expect(response).toMatchObject({ status: 422, body: { code: 'invalid_field_value' } })
      expect(response.body.details).toHaveLength(1)
      expect(response.body.details[0].field).toBe('customProperties')
      expect(response.body.details[0].message).toContain(`"${key}"`)
    }
  },
)

test.each([
  { nested: { 'dotted.key': 1 } },
  { nested: { '': 1 } },
  { nested: { deep: { deeper: { '.': 1 } } } },
  { nested: [{ a: 1 }, { list: [{ 'a.b': 1 }] }] },
])('a nested key that filters cannot address is rejected: %j', async (customProperties) => {
  const { path } = await newContact()
  for (const refused of [
    await call('POST', '/v5/contacts', { body: { name: 'Ada', customProperties } }),
    await call('PATCH', path, { body: { customProperties } }),
    await call('POST', '/v5/companies', { body: { name: 'Acme', customProperties } }),
  ]) {
    expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_field_value' } })
    expect(refused.body.details).toMatchObject([{ field: 'customProperties' }])
    expect(refused.body.details[0].message).toMatch(/nested key ".*" must not be empty or contain a dot/)
  }
})

test('a record with an invalid nested key can be changed, and the key can be removed', async () => {
  const { path, body } = await newContact({ customProperties: { nested: { a: 1 } } })
  await service.database.crossTenantQuery(
    'check the database',
    sql`update contacts set custom_properties = '{"nested": {"a.b": 1}}' where id = ${decodeId('con', body.id)}::uuid returning id`,
  )
  const patch = async (customProperties: Json) =>
    (await call('PATCH', path, { body: { customProperties } })).body.customProperties
  expect(await patch({ plan: 'pro' })).toEqual({ plan: 'pro', nested: { 'a.b': 1 } })
  expect(await patch({ nested: { 'a.b': null } })).toEqual({ plan: 'pro', nested: {} })
})

test('blocking sets blockedAt and unblocking clears it; repeating either has no effect', async () => {
  const { path, headers: first } = await newContact()
  const blocked = await call('POST', `${path}/block`)
  expect(blocked.status).toBe(200)
  expect(Math.abs(Date.parse(blocked.body.blockedAt) - Date.now())).toBeLessThan(60_000)
  expect((await call('POST', `${path}/block`)).text).toBe(blocked.text)
  expect((await call('GET', path)).headers.get('etag')).toBe(blocked.headers.get('etag'))
  expect(blocked.headers.get('etag')).not.toBe(first.get('etag'))
  const stale = await call('DELETE', `${path}/block`, { headers: { 'if-match': first.get('etag') ?? '' } })
  expect(stale.status).toBe(412)
  const unblocked = await call('DELETE', `${path}/block`)
  expect(unblocked).toMatchObject({ status: 200, body: { blockedAt: null } })
  expect((await call('DELETE', `${path}/block`)).text).toBe(unblocked.text)
  await call('DELETE', path)
  expect((await call('POST', `${path}/block`)).status).toBe(404)
  expect((await call('DELETE', `${path}/block`)).status).toBe(404)
})

test('a name is split at its last space; without one, it is the first name', async () => {
  for (const [name, firstName, lastName] of [
    ['Ada', 'Ada', null],
    ['Ada Lovelace', 'Ada', 'Lovelace'],
    ['Ada  Lovelace', 'Ada', 'Lovelace'],
    ['Augusta Ada King', 'Augusta Ada', 'King'],
    [' Ada ', 'Ada', null],
  ]) {
    const { body } = await newContact({ name })
    expect([name, body.firstName, body.lastName]).toEqual([name, firstName, lastName])
  }
})

test('clearing the name keeps its parts; clearing a part keeps the rest of the name', async () => {
  const { path } = await newContact({ name: 'Ada Lovelace', email: 'ada.names@example.com' })
  const patch = async (body: Json) => {
    const { name, firstName, lastName } = (await call('PATCH', path, { body })).body
    return [name, firstName, lastName]
  }
  expect(await patch({ name: null })).toEqual([null, 'Ada', 'Lovelace'])
  expect(await patch({ lastName: 'King' })).toEqual(['Ada King', 'Ada', 'King'])
  expect(await patch({ lastName: null })).toEqual(['Ada', 'Ada', null])
  expect(await patch({ firstName: null })).toEqual([null, null, null])
  expect(await patch({ lastName: 'King' })).toEqual(['King', null, 'King'])
  expect(await patch({ name: null, firstName: 'Ada' })).toEqual(['Ada King', 'Ada', 'King'])
  expect(await patch({ name: null, firstName: 'Ada', lastName: 'King' })).toEqual([null, 'Ada', 'King'])
  expect(await patch({ name: 'Countess', firstName: 'Ada', lastName: 'King' })).toEqual(['Countess', 'Ada', 'King'])
  expect(await patch({ name: 'Countess', lastName: 'Byron' })).toEqual(['Countess', 'Ada', 'Byron'])
  expect(await patch({ name: null })).toEqual([null, 'Ada', 'Byron'])
})

test('sending values back unchanged has no effect', async () => {
  const parts = { firstName: 'Mary Ann', lastName: 'Van der Berg' }
  const { path, body } = await newContact({ ...parts, name: undefined, phone: '+49 30 1234567' })
  expect(body.name).toBe('Mary Ann Van der Berg')
  const root = body.rootContactId
  const expectUnchanged = async (sent: Json) => {
    const before = await call('GET', path)
    const response = await call('PATCH', path, { body: sent })
    expect([sent, response.text]).toEqual([sent, before.text])
    expect(response.headers.get('etag')).toBe(before.headers.get('etag'))
  }
  await expectUnchanged({ name: 'Mary Ann Van der Berg' })
  await expectUnchanged({ name: 'Mary Ann Van der Berg', ...parts, email: null })
  const moved = await call('PATCH', path, { body: { name: 'Mary Ann Van der Berg', email: null, city: 'Delft' } })
  expect(moved.body).toMatchObject({ ...parts, city: 'Delft', rootContactId: root })
  expect((await call('PATCH', path, { body: { name: null } })).body).toMatchObject({ ...parts, name: null })
  await expectUnchanged({ name: null, ...parts })
  await expectUnchanged({ firstName: 'Mary Ann' })
})

test('a name part has at most 250 characters, also when it is split from the name', async () => {
  const long = 'x'.repeat(250)
  expect((await call('POST', '/v5/contacts', { body: { name: `${long} ${long}` } })).status).toBe(201)
  const refused = await call('POST', '/v5/contacts', { body: { name: `${long}x y` } })
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'name' }] } })
  const { path } = await newContact({ firstName: long, lastName: long, name: undefined })
  expect((await call('GET', path)).body.name).toHaveLength(501)
})

test('tags are unique and keep their order', async () => {
  const { body, path } = await newContact({ tags: ['vip', 'Berlin', 'vip', 'VIP'] })
  expect(body.tags).toEqual(['vip', 'Berlin', 'VIP'])
  expect((await call('PATCH', path, { body: { tags: [] } })).body.tags).toEqual([])
  for (const tags of [[''], [' '], [null], [1], Array.from({ length: 101 }, (_, index) => `tag${index}`)]) {
    const refused = await call('PATCH', path, { body: { tags } })
    expect(refused.status).toBe(422)
    expect(refused.body.details[0].field).toMatch(/^tags/)
  }
})

test('a phone number is stored in E.164 form and found in any notation', async () => {
  const { body } = await newContact({ phone: '+44 (0)20 7123 4567' })
  expect(body.phone).toBe('+442071234567')
  const ids = async (filter: string) =>
    (await call('GET', `/v5/contacts?${filter}&select[]=id`)).body.map(({ id }: Json) => id)
  for (const written of ['+442071234567', '+44 (0)20 7123 4567', '+44 20 7123-4567']) {
    const value = encodeURIComponent(written)
    expect([written, await ids(`phone=${value}`)]).toEqual([written, [body.id]])
    expect([written, await ids(`filter.phone.in=${value},%2B4930123456`)]).toEqual([written, [body.id]])
    expect(await ids(`filter.phone.not=${value}&limit=100`)).not.toContain(body.id)
    expect(await ids(`filter.phone.notIn=${value}&limit=100`)).not.toContain(body.id)
  }
  const refused = await call('GET', '/v5/contacts?phone=reception')
  expect([refused.status, refused.body.details[0].message]).toEqual([400, expect.stringContaining('phone number')])
})

test('an impossible phone number is rejected', async () => {
  for (const phone of ['+1 555 0100', '+999 123 456 789', '030 1234567', '+1 800 FLOWERS']) {
    const refused = await call('POST', '/v5/contacts', { body: { phone } })
    expect([phone, refused.status, refused.body.code]).toEqual([phone, 422, 'invalid_field_value'])
    expect(refused.body.details).toMatchObject([{ field: 'phone' }])
  }
})

test('a time zone is stored by its canonical name and found by any of its names', async () => {
  const organization = await service.newOrganization()
  const { body } = await organization.call('POST', '/v5/contacts', { body: { name: 'Ada', timeZone: 'europe/berlin' } })
  expect(body.timeZone).toBe('Europe/Berlin')
  const company = await organization.call('POST', '/v5/companies', {
    body: { name: 'Acme', timeZone: 'Asia/Calcutta' },
  })
  expect(company.body.timeZone).toBe('Asia/Kolkata')
  expect((await organization.call('GET', '/v5/contacts?timeZone=EUROPE/berlin')).body).toMatchObject([{ id: body.id }])
  const found = await organization.call('GET', '/v5/companies?filter.timeZone.in=Asia/Calcutta')
  expect(found.body).toMatchObject([{ id: company.body.id }])
  const refused = await organization.call('POST', '/v5/contacts', { body: { name: 'Ada', timeZone: 'Europe/Nowhere' } })
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'timeZone' }] } })
})
