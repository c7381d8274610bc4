import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backdateReauthentication, callAs } from '../../../test/people.ts'
import { createDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'
import { dump } from '../../../test/dump.ts'
import type { Sql } from '../../platform/model/sql.ts'
import { sql } from '../../platform/model/sql.ts'
import { newId, decodeId, encodeId } from '../../platform/model/ids.ts'

let service: TestService
/** Another process on the same database, with its own cache. */
let other: TestService
let organization: TestOrganization
beforeAll(async () => {
  const { connection, drop } = await createDatabase()
  const secret = createSecretKey(randomBytes(32))
  service = await startTestService({ TRUST_PROXY: '127.0.0.1' }, { connection, secret, drop })
  other = await startTestService({ TRUST_PROXY: '127.0.0.1' }, { connection, secret, drop: async () => undefined })
  organization = await service.newOrganization()
})
afterAll(async () => {
  await other.close()
  await service.close()
})

const at = '/v5/api-keys'
const inDatabase = <Row extends object>(statement: Sql) =>
  service.database.crossTenantQuery<Row>('check the database', statement)
const uuidOf = (prefix: string, id: string): string => decodeId(prefix, id) ?? ''

/** The owner of the organization, by access token. */
const session = ({ accessToken }: TestOrganization = organization): Call => callAs(service, accessToken)

/** Requests with a key of the organization. */
const callWithKey = (apiKey: string, { organizationId } = organization, from = service): Call =>
  callAs(from, apiKey, { 'service-organization-id': organizationId })

/** A new key, created by the owner. */
async function newKey(body: object = {}, by: Call = session()): Promise<Json> {
  const made = await by('POST', at, { body: { name: 'Reports', scopes: ['contact:*:read'], ...body } })
  expect([made.status, made.text.slice(0, 300)]).toEqual([201, made.text.slice(0, 300)])
  return made.body
}

const mayRead = async (apiKey: string, from = service): Promise<number> =>
  (await callWithKey(apiKey, organization, from)('GET', '/v5/contacts')).status

const full = (...scopes: string[]) => scopes.map((scope) => `urn:service:${scope}`)

test('a key works and is shown only once; later responses omit it', async () => {
  const made = await session()('POST', at, { body: { name: 'Reports', scopes: ['contact:*:read', 'contact:*:read'] } })
  expect(made.status).toBe(201)
  const { apiKey, ...record } = made.body
  expect(apiKey).toMatch(/^svc_[0-9A-Za-z]{40}$/)
  expect(record).toMatchObject({
    name: 'Reports',
    scopes: full('contact:*:read'),
    allowedAddresses: [],
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    lastUsedAddress: null,
    createdBy: organization.userId,
  })
  expect(made.headers.get('location')).toBe(`${at}/${record.id}`)
  expect(await mayRead(apiKey)).toBe(200)
  await until('the use is noted', async () => (await session()('GET', `${at}/${record.id}`)).body.lastUsedAt !== null)
  expect((await callWithKey(apiKey)('POST', '/v5/contacts', { body: { name: 'Ada' } })).status).toBe(403)

  const shown = await session()('GET', `${at}/${record.id}`)
  expect(shown.body).toEqual({ ...record, lastUsedAt: expect.any(String) as string, lastUsedAddress: '127.0.0.1' })
  const list = await session()('GET', at)
  expect(list.text + shown.text).not.toContain(apiKey.slice(4, 20))
  expect(Object.keys(list.body[0])).toEqual(Object.keys(record))
  for (const query of [
    'select[]=apiKey',
    'select[]=hash',
    'filter.hash.equals=x',
    'orderBy=hash',
    'filter.version.equals=1',
  ]) {
    expect([query, (await session()('GET', `${at}?${query}`)).status]).toEqual([query, 400])
  }
})

test('the database stores no key, and an idempotent repeat returns the same key', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const body = { name: 'Repeated', scopes: ['contact:*:read'] }
  const [first, again] = [
    await session()('POST', at, { body, headers }),
    await session()('POST', at, { body, headers }),
  ]
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(again.text).toBe(first.text)
  const rotated = await session()('POST', `${at}/${first.body.id}/rotate`)
  const stored = JSON.stringify(await dump(service.database))
  for (const { body: shown } of [first, rotated]) {
    expect(stored).not.toContain(shown.apiKey)
    expect(stored).not.toContain(shown.apiKey.slice(4, 38))
    expect(stored).not.toContain(Buffer.from(shown.apiKey).toString('hex'))
  }
  expect(service.logged.join('')).not.toContain(first.body.apiKey)
})

test.each<[string, object, string]>([
  ['no scopes', { scopes: [] }, 'scopes'],
  ['a malformed scope', { scopes: ['contact:list'] }, 'scopes'],
  ['a scope that nothing needs', { scopes: ['contact:list:read', 'contcat:list:read'] }, 'scopes'],
  ['an action that nothing needs', { scopes: ['contact:fly:write'] }, 'scopes'],
  ['an expiry in the past', { expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
  ['an expiry without a time zone', { expiresAt: '2099-01-01T00:00:00' }, 'expiresAt'],
  ['an invalid expiry', { expiresAt: '2099-02-30T25:00:00Z' }, 'expiresAt'],
  ['an invalid address', { allowedAddresses: ['office'] }, 'allowedAddresses'],
  ['every address', { allowedAddresses: ['203.0.113.7', '0.0.0.0/0'] }, 'allowedAddresses'],
  ['a name that is too long', { name: 'x'.repeat(101) }, 'name'],
  ['a chosen key', { apiKey: 'svc_0' }, 'apiKey'],
  ['a chosen hash', { hash: '00' }, 'hash'],
  ['a chosen creator', { createdBy: `usr_${'0'.repeat(32)}` }, 'createdBy'],
])('a key with %s is rejected', async (_, body, field) => {
  const refused = await session()('POST', at, { body: { name: 'Wrong', scopes: ['contact:*:read'], ...body } })
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field }] } })
})

test('a key stops working at its expiry, wherever that is moved', async () => {
  const soon = new Date(Date.now() + 3_600_000).toISOString()
  const { id, apiKey, expiresAt } = await newKey({ expiresAt: soon.replace('Z', '+00:00') })
  expect(expiresAt).toBe(soon)
  expect([await mayRead(apiKey), await mayRead(apiKey, other)]).toEqual([200, 200])
  await inDatabase(sql`update api_keys set expires_at = now() - interval '1 second' where id = ${uuidOf('key', id)}`)
  expect([await mayRead(apiKey), await mayRead(apiKey, other)]).toEqual([401, 401])
  expect((await session()('PATCH', `${at}/${id}`, { body: { expiresAt: null } })).status).toBe(200)
  expect([await mayRead(apiKey), await mayRead(apiKey, other)]).toEqual([200, 200])
  const past = await session()('PATCH', `${at}/${id}`, { body: { expiresAt: '2020-01-01T00:00:00Z' } })
  expect(past).toMatchObject({ status: 422, body: { details: [{ field: 'expiresAt' }] } })
})

test('a revoked key stops working immediately in every process, and stays in the list', async () => {
  const { id, apiKey } = await newKey()
  const rotated = (await session()('POST', `${at}/${id}/rotate`)).body.apiKey
  expect(await Promise.all([service, other].flatMap((one) => [mayRead(apiKey, one), mayRead(rotated, one)]))).toEqual([
    200, 200, 200, 200,
  ])
  const revoked = await session()('POST', `${at}/${id}/revoke`)
  expect(revoked).toMatchObject({ status: 200, body: { id, revokedAt: expect.any(String) as string } })
  expect(await Promise.all([service, other].flatMap((one) => [mayRead(apiKey, one), mayRead(rotated, one)]))).toEqual([
    401, 401, 401, 401,
  ])
  expect((await session()('POST', `${at}/${id}/revoke`)).body).toEqual(revoked.body)
  for (const [method, path, body] of [
    ['PATCH', '', { expiresAt: null }],
    ['PATCH', '', { name: 'Alive' }],
    ['POST', '/rotate', undefined],
  ] as const) {
    expect((await session()(method, `${at}/${id}${path}`, { ...(body && { body }) })).status).toBe(423)
  }
  const [listed] = (await session()('GET', `${at}?filter.id.equals=${id}`)).body
  expect(listed).toEqual(revoked.body)
  expect((await session()('GET', `${at}/count?filter.revokedAt.equals=null&filter.id.equals=${id}`)).body).toEqual({
    count: 0,
  })
  expect((await session()('DELETE', `${at}/${id}`)).status).toBe(405)
})

test('after a rotation, the previous key works until the overlap ends, in every process', async () => {
  const { id, apiKey: first } = await newKey()
  const before = Date.now()
  const rotated = await session()('POST', `${at}/${id}/rotate`, { body: { overlapSeconds: 600 } })
  const { apiKey: second, previousKeyExpiresAt, ...record } = rotated.body
  expect(record).toMatchObject({ id, name: 'Reports', scopes: full('contact:*:read') })
  expect((Date.parse(previousKeyExpiresAt) - before) / 1000).toBeCloseTo(600, -2)
  const both = async () =>
    (await Promise.all([first, second].flatMap((key) => [mayRead(key), mayRead(key, other)]))).join()
  expect(await both()).toBe('200,200,200,200')
  // Repeats a rotation whose response was lost.
  const { apiKey: third } = (await session()('POST', `${at}/${id}/rotate`, { body: { overlapSeconds: 86_400 } })).body
  expect(await both()).toBe('200,200,200,200')
  const ends = await inDatabase<{ seconds: number }>(sql`
    select extract(epoch from ends_at - now())::float8 as seconds from api_key_previous_hashes
    where api_key_id = ${uuidOf('key', id)} order by 1`)
  expect(ends.map(({ seconds }) => Math.round(seconds / 100))).toEqual([6, 864])
  await inDatabase(sql`update api_key_previous_hashes set ends_at = now() - interval '1 second'
    where api_key_id = ${uuidOf('key', id)} and ends_at < now() + interval '1 hour'`)
  expect(await both()).toBe('401,401,200,200')
  const last = await session()('POST', `${at}/${id}/rotate`, { body: { overlapSeconds: 0 } })
  expect(last.body.previousKeyExpiresAt).toBeNull()
  expect(await both()).toBe('401,401,401,401')
  expect([await mayRead(third, other), await mayRead(last.body.apiKey)]).toEqual([401, 200])
  const previousHashes = await inDatabase(
    sql`select from api_key_previous_hashes where api_key_id = ${uuidOf('key', id)}`,
  )
  expect(previousHashes).toEqual([])
})

test('a change with an outdated If-Match is rejected and does not affect the key', async () => {
  const { id, apiKey } = await newKey()
  const { headers } = await session()('GET', `${at}/${id}`)
  const tag = { 'if-match': headers.get('etag') ?? '' }
  expect((await session()('PATCH', `${at}/${id}`, { body: { name: 'Other' } })).status).toBe(200)
  for (const path of ['rotate', 'revoke']) {
    expect((await session()('POST', `${at}/${id}/${path}`, { headers: tag })).status).toBe(412)
  }
  expect(await mayRead(apiKey)).toBe(200)
})

test('concurrent rotations each return a key, and all of them work', async () => {
  const { id, apiKey } = await newKey()
  const rotated = await Promise.all(Array.from({ length: 8 }, () => session()('POST', `${at}/${id}/rotate`)))
  const texts = [apiKey, ...rotated.map(({ body }) => body.apiKey as string)]
  expect(new Set(texts).size).toBe(9)
  expect(await Promise.all(texts.map((text) => mayRead(text)))).toEqual(texts.map(() => 200))
})

test('a key works only from its addresses, immediately in every process, and denials are audited', async () => {
  const { id, apiKey } = await newKey()
  const from = (address: string, process = service) =>
    callWithKey(apiKey, organization, process)('GET', '/v5/contacts', { headers: { 'x-forwarded-for': address } })
  const statuses = async (address: string) => [(await from(address)).status, (await from(address, other)).status]
  expect(await statuses('198.51.100.1')).toEqual([200, 200])
  const body = { allowedAddresses: ['203.0.113.0/24', '2001:db8::/32', '203.0.113.0/24'] }
  const changed = await session()('PATCH', `${at}/${id}`, { body })
  expect(changed.body.allowedAddresses).toEqual(['203.0.113.0/24', '2001:db8::/32'])
  expect(await statuses('198.51.100.1')).toEqual([403, 403])
  for (const address of ['203.0.113.9', '::ffff:203.0.113.9', '2001:db8:1::2']) {
    expect([address, ...(await statuses(address))]).toEqual([address, 200, 200])
  }
  const refused = await from('198.51.100.1')
  expect(refused.body).toMatchObject({ code: 'insufficient_permissions' })
  expect(refused.body.description).toContain('198.51.100.1')
  // The allowed addresses are not revealed.
  expect(refused.body.description).not.toContain('203.0.113')
  const address = 'filter.address.equals=198.51.100.1'
  const denials = async () =>
    (await organization.call('GET', `/v5/audit-log?filter.actorId.equals=${id}&${address}`)).body as Json[]
  await until('the denial is recorded', async () => (await denials()).length > 0)
  expect((await denials())[0]).toMatchObject({
    action: 'access.denied',
    actorKind: 'key',
    details: { reason: 'address', route: '/v5/contacts' },
  })
  await session()('PATCH', `${at}/${id}`, { body: { allowedAddresses: [] } })
  expect(await statuses('198.51.100.1')).toEqual([200, 200])
})

test('a forwarded address counts only behind a trusted proxy', async () => {
  const direct = await startTestService()
  const own = await direct.newOrganization()
  const by = callAs(direct, own.accessToken)
  const body = { name: 'Office', scopes: ['contact:*:read'], allowedAddresses: ['203.0.113.7'] }
  const { apiKey } = (await by('POST', at, { body })).body
  const refused = await callWithKey(apiKey, own, direct)('GET', '/v5/contacts', {
    headers: { 'x-forwarded-for': '203.0.113.7', forwarded: 'for=203.0.113.7', 'x-real-ip': '203.0.113.7' },
  })
  expect([refused.status, refused.body.description]).toEqual([403, expect.stringContaining('127.0.0.1')])
  await direct.close()
})

test('an allowed address matches with a port or as IPv6, and is recorded in canonical form', async () => {
  const { id, apiKey } = await newKey({ allowedAddresses: ['203.0.113.7', '2001:db8::/64'] })
  const status = async (address: string) =>
    (await callWithKey(apiKey)('GET', '/v5/contacts', { headers: { 'x-forwarded-for': address } })).status
  for (const address of ['203.0.113.7:4711', '::ffff:203.0.113.7', '[2001:DB8:0::7]:443']) {
    expect([address, await status(address)]).toEqual([address, 200])
  }
  for (const address of ['203.0.113.8:4711', '203.0.113.7:4711:1', '[203.0.113.7]', '0xcb.0.113.7', '203.0.113.07']) {
    expect([address, await status(address)]).toEqual([address, 403])
  }
  const noted = async () => (await session()('GET', `${at}/${id}`)).body.lastUsedAddress
  await until('it is noted', async () => (await noted()) !== null)
  expect(await noted()).toBe('203.0.113.7')
})

test('the last use is recorded with its address; a rejected request is not a use', async () => {
  const { id, apiKey } = await newKey({ allowedAddresses: ['203.0.113.7'] })
  const read = async () => (await session()('GET', `${at}/${id}`)).body
  const use = (address: string) =>
    callWithKey(apiKey)('GET', '/v5/contacts', { headers: { 'x-forwarded-for': address } })
  expect((await use('203.0.113.8')).status).toBe(403)
  expect((await use('203.0.113.7')).status).toBe(200)
  await until('it is noted', async () => (await read()).lastUsedAt !== null)
  expect(await read()).toMatchObject({ lastUsedAddress: '203.0.113.7' })
})

test('changes of a key are audited with the names of the changed fields, and never with the key', async () => {
  const { id, apiKey } = await newKey({ name: 'Told' })
  const texts = [apiKey]
  await session()('PATCH', `${at}/${id}`, { body: { name: 'Told again', scopes: ['contact:list:read'] } })
  texts.push((await session()('POST', `${at}/${id}/rotate`, { body: { overlapSeconds: 5 } })).body.apiKey)
  await session()('POST', `${at}/${id}/revoke`)
  const { body: events, text } = await session()('GET', `/v5/audit-log?filter.recordId.equals=${id}&sort=asc`)
  expect(events.map(({ action, details }: Json) => [action, details.fields])).toEqual([
    ['api-key.created', ['name', 'scopes']],
    ['api-key.updated', ['name', 'scopes']],
    ['api-key.rotated', ['overlapSeconds']],
    ['api-key.revoked', ['revokedAt']],
  ])
  for (const key of texts) expect(text).not.toContain(key.slice(4))
})

test('a person needs recent re-authentication to create, change, rotate or revoke a key, but not to read keys', async () => {
  const own = await service.newOrganization()
  const by = session(own)
  const { id } = await newKey({}, by)
  await backdateReauthentication(service, own, 360)
  for (const [method, path, body] of [
    ['POST', '', { name: 'Late', scopes: ['contact:*:read'] }],
    ['PATCH', `/${id}`, { name: 'Late' }],
    ['POST', `/${id}/rotate`, undefined],
    ['POST', `/${id}/revoke`, undefined],
  ] as const) {
    const refused = await by(method, `${at}${path}`, { ...(body && { body }) })
    expect([path, refused.status, refused.body.code]).toEqual([path, 403, 'reauthentication_required'])
  }
  expect((await by('GET', at)).body).toHaveLength(2)
  expect((await by('GET', `${at}/${id}`)).body.revokedAt).toBeNull()
})

test('another organization’s keys return 404 on every route', async () => {
  const { id } = await newKey()
  const theirs = session(await service.newOrganization())
  for (const [method, path, body] of [
    ['GET', `/${id}`, undefined],
    ['PATCH', `/${id}`, { name: 'Mine' }],
    ['POST', `/${id}/rotate`, undefined],
    ['POST', `/${id}/revoke`, undefined],
  ] as const) {
    const [foreign, none] = [
      await theirs(method, `${at}${path}`, { ...(body && { body }) }),
      await theirs(method, `${at}${path.replace(id, encodeId('key', newId()))}`, { ...(body && { body }) }),
    ]
    expect([path, foreign.status, foreign.text]).toEqual([path, 404, none.text])
  }
})
