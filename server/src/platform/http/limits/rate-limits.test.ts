import { afterEach, expect, test } from 'vitest'
import { createApiKey } from '../../../cli/create-api-key.ts'
import { generateApiKey } from '../../../identity/access/api-key.ts'
import { expectRefusal } from '../../../../test/refusals.ts'
import {
  type Json,
  startTestService,
  type TestResponse,
  type TestOrganization,
  type TestService,
} from '../../../../test/service.ts'

let service: TestService
afterEach(() => service.close())

async function start(environment: Record<string, string>): Promise<TestOrganization> {
  service = await startTestService(environment)
  return service.newOrganization()
}

/** Sends this many requests one after another; returns their statuses. */
async function collectStatuses(count: number, send: () => Promise<TestResponse<Json>>): Promise<number[]> {
  const collected: number[] = []
  for (let sent = 0; sent < count; sent++) collected.push((await send()).status)
  return collected
}

const readLimit = (headers: Headers) => {
  const policy = /^"([a-z]+)";q=(\d+);w=(\d+)$/.exec(headers.get('ratelimit-policy') ?? '')
  const state = /^"([a-z]+)";r=(\d+);t=(\d+)$/.exec(headers.get('ratelimit') ?? '')
  if (!policy || !state) throw new Error('the response has no valid rate limit headers')
  expect(state[1]).toBe(policy[1])
  return {
    name: policy[1],
    quota: Number(policy[2]),
    window: Number(policy[3]),
    remaining: Number(state[2]),
    seconds: Number(state[3]),
  }
}

const fiveThenLimited = [200, 200, 200, 200, 200, 429]

test('RATE_LIMIT_PER_MINUTE is one bucket for the reads and writes of each credential', async () => {
  const organization = await start({ RATE_LIMIT_PER_MINUTE: '5' })
  const { call } = organization
  const first = await call('GET', '/v5/contacts')
  expect(readLimit(first.headers)).toEqual({ name: 'credential', quota: 5, window: 60, remaining: 4, seconds: 12 })
  expect((await call('POST', '/v5/contacts', { body: { name: 'Ada' } })).status).toBe(201)
  expectRefusal(await call('GET', '/v5/contacts?bogus=1'), 400)
  expectRefusal(await call('GET', '/v5/contacts', { headers: { 'service-organization-id': 'acme' } }), 400)
  expectRefusal(await call('GET', '/v5/contacts/con_019aa5b2c1d27e3fa4b5c6d7e8f90123'), 404)
  const refusal = await call('POST', '/v5/contacts', { body: { name: 'Grace' } })
  expectRefusal(refusal, 429, 'rate_limited')
  expect(readLimit(refusal.headers)).toMatchObject({ remaining: 0 })
  const retryAfter = Number(refusal.headers.get('retry-after'))
  expect(retryAfter).toBeGreaterThan(0)
  expect(retryAfter).toBeLessThanOrEqual(12)
  const byToken = { authorization: `Bearer ${organization.accessToken}` }
  expect(await collectStatuses(6, () => service.anonymous('GET', '/v5/contacts', { headers: byToken }))).toEqual(
    fiveThenLimited,
  )
  const other = await organization.withScopes(['urn:service:*:*:read'])
  const names = (await other('GET', '/v5/contacts')).body.map(({ name }: Json) => name)
  expect(names).toEqual(['Ada'])
})

test('an exhausted rate limit is reported before any other error of the request', async () => {
  const { call } = await start({ RATE_LIMIT_PER_MINUTE: '5' })
  const readOnly = await (await service.newOrganization()).withScopes(['urn:service:contact:list:read'])
  expect(await collectStatuses(6, () => call('GET', '/v5/me'))).toEqual(fiveThenLimited)
  expect(await collectStatuses(6, () => readOnly('GET', '/v5/contacts'))).toEqual(fiveThenLimited)
  const invalid = [
    await call('GET', '/v5/contacts', { headers: { 'service-organization-id': '' } }),
    await call('GET', '/v5/contacts?bogus=1'),
    await call('POST', '/v5/contacts', { body: '{' }),
    await call('GET', '/v5/contacts/con_x'),
    await readOnly('GET', '/v5/me'),
  ]
  for (const answer of invalid) expectRefusal(answer, 429, 'rate_limited')
  expectRefusal(await call('GET', '/v5/nowhere'), 404)
  expectRefusal(await call('PUT', '/v5/me'), 405)
  expectRefusal(await call('POST', '/v5/contacts', { body: 'x', headers: { 'content-type': 'text/plain' } }), 415)
  expectRefusal(await call('GET', '/v5/me', { headers: { authorization: 'Bearer svc_x' } }), 401)
})

test('by default reads and writes have separate buckets', async () => {
  const { call } = await start({ RATE_LIMIT_PER_MINUTE: '' })
  const read = readLimit((await call('GET', '/v5/contacts')).headers)
  expect(read).toEqual({ name: 'read', quota: 1000, window: 2, remaining: 999, seconds: 1 })
  const write = readLimit((await call('POST', '/v5/contacts', { body: { name: 'Ada' } })).headers)
  expect(write).toEqual({ name: 'write', quota: 2000, window: 10, remaining: 1999, seconds: 1 })
  const anonymous = readLimit((await service.anonymous('GET', '/v5/contacts')).headers)
  expect(anonymous).toMatchObject({ name: 'address', quota: 300, window: 60, remaining: 299 })
  const failedAuthentication = readLimit(
    (await service.anonymous('GET', '/v5/me', { headers: { authorization: 'Bearer x' } })).headers,
  )
  expect(failedAuthentication).toMatchObject({ name: 'key', quota: 300, window: 60, remaining: 299 })
})

test('a 304 does not count against the rate limit', async () => {
  const { call } = await start({ RATE_LIMIT_PER_MINUTE: '5' })
  const etag = (await call('GET', '/v5/contacts')).headers.get('etag') ?? ''
  for (let round = 0; round < 8; round++) {
    const answer = await call('GET', '/v5/contacts', { headers: { 'if-none-match': etag } })
    expect([answer.status, readLimit(answer.headers).remaining]).toEqual([304, 4])
  }
})

test('requests without a credential are limited by address; requests with one are not', async () => {
  const { call, refreshToken } = await start({ RATE_LIMIT_PER_MINUTE: '5' })
  const anonymous = () => service.anonymous('GET', '/v5/contacts')
  expect(await collectStatuses(5, anonymous)).toEqual([401, 401, 401, 401, 401])
  expectRefusal(await anonymous(), 429, 'rate_limited')
  expectRefusal(await service.anonymous('POST', '/auth', { body: { token: refreshToken } }), 429)
  expect(await collectStatuses(6, () => call('GET', '/v5/contacts'))).toEqual(fiveThenLimited)
  for (const path of ['/healthz', '/readyz']) expect((await service.anonymous('GET', path)).status).toBe(200)
})

test('failed credentials count against their address, but never block a valid credential', async () => {
  const organization = await start({ RATE_LIMIT_PER_MINUTE: '5' })
  const sendWrongKey = () =>
    service.anonymous('GET', '/v5/me', { headers: { authorization: `Bearer ${generateApiKey()}` } })
  expect(await collectStatuses(5, sendWrongKey)).toEqual([401, 401, 401, 401, 401])
  expectRefusal(await sendWrongKey(), 429, 'rate_limited')
  expect((await organization.call('GET', '/v5/me')).status).toBe(200)
  const { apiKey } = await createApiKey({
    database: service.database,
    organization: organization.organizationId,
    name: 'made meanwhile',
    scopes: ['urn:service:*:*:read'],
  })
  const headers = { authorization: `Bearer ${apiKey}`, 'service-organization-id': organization.organizationId }
  expect((await service.anonymous('GET', '/v5/me', { headers })).status).toBe(200)
})

test('a rate-limited write changes nothing', async () => {
  const organization = await start({ RATE_LIMIT_PER_MINUTE: '5' })
  await collectStatuses(5, () => organization.call('GET', '/v5/me'))
  const headers = { 'idempotency-key': 'once' }
  expectRefusal(await organization.call('POST', '/v5/contacts', { body: { name: 'Ada' }, headers }), 429)
  const other = await organization.withScopes(['urn:service:*:*:read'])
  expect((await other('GET', '/v5/contacts/count')).body).toEqual({ count: 0 })
})

/** Sends requests without a credential, each with forwarding headers for another address. */
async function sendForwarded(forwardedFor: (index: number) => string): Promise<number[]> {
  const collected: number[] = []
  for (let index = 0; index < 8; index++) {
    const headers = { 'x-forwarded-for': forwardedFor(index), forwarded: `for=192.0.2.${index}` }
    collected.push((await service.anonymous('GET', '/v5/me', { headers })).status)
  }
  return collected
}
const limitedAfterFive = [401, 401, 401, 401, 401, 429, 429, 429]
const neverLimited = limitedAfterFive.map(() => 401)

test.each([
  ['off', (index: number) => `192.0.2.${index}`, limitedAfterFive],
  ['1', (index: number) => `192.0.2.${index}`, neverLimited],
  ['1', (index: number) => `192.0.2.${index}, 198.51.100.7`, limitedAfterFive],
  ['2', (index: number) => `192.0.2.${index}, 198.51.100.7`, neverLimited],
  ['127.0.0.0/8', (index: number) => `192.0.2.${index}`, neverLimited],
  ['127.0.0.0/8', (index: number) => `192.0.2.${index}, 198.51.100.7`, limitedAfterFive],
  ['127.0.0.0/8,198.51.100.0/24', (index: number) => `192.0.2.${index}, 198.51.100.7`, neverLimited],
  ['10.0.0.0/8', (index: number) => `192.0.2.${index}`, limitedAfterFive],
])('TRUST_PROXY=%s decides which address is rate-limited (%#)', async (trusted, forwardedFor, expected) => {
  service = await startTestService({ RATE_LIMIT_PER_MINUTE: '5', TRUST_PROXY: trusted })
  expect(await sendForwarded(forwardedFor)).toEqual(expected)
})

test.each([
  ['1', 'a port', (index: number) => `192.0.2.1:${5000 + index}`],
  ['1', 'brackets and a port', (index: number) => `[2001:db8::1]:${5000 + index}`],
  ['1', 'another zone', (index: number) => `fe80::1%eth${index}`],
  ['1', 'the form of IPv6 and a port', (index: number) => `[::ffff:192.0.2.1]:${5000 + index}`],
  ['1', 'a word', (index: number) => `unknown-${index}`],
  ['1', 'leading zeros', (index: number) => `192.0.2.${'0'.repeat(index + 1)}1`],
  ['2', 'a word behind a proxy', (index: number) => `_hidden${index}, 198.51.100.7`],
  ['1', 'white space and empty entries', (index: number) => `${' ,'.repeat(index)} 192.0.2.1\t`],
  ['127.0.0.0/8', 'a word before a listed proxy', (index: number) => `word${index}, 127.0.0.2`],
  ['::ffff:127.0.0.0/104', 'a port, behind a mapped network', (index: number) => `192.0.2.1:${5000 + index}`],
])(
  'behind TRUST_PROXY=%s, %s in the forwarded address does not start a new rate limit',
  async (trusted, _what, forwardedFor) => {
    service = await startTestService({ RATE_LIMIT_PER_MINUTE: '5', TRUST_PROXY: trusted })
    expect(await sendForwarded(forwardedFor)).toEqual(limitedAfterFive)
  },
)

test('an invalid X-Forwarded-Host or X-Forwarded-Proto is rejected from a trusted proxy and ignored from other clients', async () => {
  const junk = [{ 'x-forwarded-host': '[' }, { 'x-forwarded-host': 'a/b' }, { 'x-forwarded-proto': 'javascript' }]
  service = await startTestService({ TRUST_PROXY: '1' })
  for (const headers of junk) {
    expectRefusal(await service.anonymous('GET', '/v5/docs', { headers }), 400, 'malformed_request')
  }
  const good = { 'x-forwarded-host': 'crm.example:8443, crm.example', 'x-forwarded-proto': 'https' }
  expect((await service.anonymous('GET', '/v5/docs', { headers: good })).status).toBe(200)
  await service.close()
  service = await startTestService()
  for (const headers of junk) expect((await service.anonymous('GET', '/v5/docs', { headers })).status).toBe(200)
})
