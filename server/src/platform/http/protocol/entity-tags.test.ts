import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../../../app.ts'
import { expectRefusal } from '../../../../test/refusals.ts'
import { type Call, type Json, startTestService, type TestService } from '../../../../test/service.ts'
import { dump } from '../../../../test/dump.ts'
import { newTenant, requestOf, type Tenant } from '../../../../test/tenancy.ts'

let service: TestService
let call: Call
let tenant: Tenant

beforeAll(async () => {
  service = await startTestService()
  tenant = await newTenant(service)
  call = (await service.newOrganization()).call
})
afterAll(() => service.close())

async function newContact(body: Json = {}): Promise<{ path: string; etag: string }> {
  const created = await call('POST', '/v5/contacts', { body: { email: `${randomUUID()}@example.com`, ...body } })
  return { path: `/v5/contacts/${created.body.id}`, etag: created.headers.get('etag') ?? '' }
}

const tagOf = async (path: string): Promise<string> => (await call('GET', path)).headers.get('etag') ?? ''

test('a record has the same strong ETag in every response, and a new one after each change', async () => {
  const { path, etag } = await newContact()
  expect(etag).toMatch(/^"1-[\w-]{16}"$/)
  expect(await tagOf(path)).toBe(etag)
  const patched = await call('PATCH', path, { body: { city: 'Rome' } })
  expect(patched.headers.get('etag')).toMatch(/^"2-/)
  expect(await tagOf(path)).toBe(patched.headers.get('etag'))
  const unchanged = await call('PATCH', path, { body: { city: 'Rome' } })
  expect(unchanged.headers.get('etag')).toBe(patched.headers.get('etag'))
})

test("a company's new name changes the ETag of its contact, not the revision", async () => {
  const company = (await call('POST', '/v5/companies', { body: { name: 'Acme' } })).body
  const { path, etag } = await newContact({ companyId: company.id })
  await call('PATCH', `/v5/companies/${company.id}`, { body: { name: 'Apex' } })
  const changed = await tagOf(path)
  expect(changed).not.toBe(etag)
  expect(changed.split('-')[0]).toBe(etag.split('-')[0])
  expect((await call('PATCH', path, { body: { city: 'Rome' }, headers: { 'if-match': etag } })).status).toBe(200)
})

test.each(['/v5/contacts', '/v5/contacts/count', '/v5/contacts?limit=1', '/v5/me', '/v5/teams'])(
  '%s has a weak ETag that is stable while nothing changes, and returns 304 for it',
  async (path) => {
    await newContact()
    const first = await call('GET', path)
    const etag = first.headers.get('etag') ?? ''
    expect(etag).toMatch(/^W\/"[\w-]{16}"$/)
    const again = await call('GET', path, { headers: { 'if-none-match': etag } })
    expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag])
    for (const name of ['content-type', 'content-length']) expect(again.headers.get(name)).toBeNull()
    for (const name of ['cache-control', 'vary', 'version', 'link']) {
      expect([name, again.headers.get(name)]).toEqual([name, first.headers.get(name)])
    }
  },
)

test('a list has a new ETag after a change of a record in it', async () => {
  const { path } = await newContact()
  const list = await tagOf('/v5/contacts')
  await call('PATCH', path, { body: { city: 'Rome' } })
  const response = await call('GET', '/v5/contacts', { headers: { 'if-none-match': list } })
  expect([response.status, response.headers.get('etag') === list]).toEqual([200, false])
})

test.each([
  ['the tag', (tag: string) => tag, 304],
  ['the tag weakened', (tag: string) => `W/${tag}`, 304],
  ['a list with the tag', (tag: string) => `"other", ${tag}`, 304],
  ['any', () => '*', 304],
  ['another tag', () => '"other"', 200],
  ['an older tag', (tag: string) => tag.replace('"1-', '"0-'), 200],
  ['no tag at all', () => 'other', 400],
  ['half a tag', (tag: string) => tag.slice(0, -1), 400],
  ['nothing', () => '', 400],
])('If-None-Match with %s on a record', async (_what, header, status) => {
  const { path, etag } = await newContact()
  const response = await call('GET', path, { headers: { 'if-none-match': header(etag) } })
  expect(response.status).toBe(status)
  if (status === 400) {
    expect(expectRefusal(response, 400, 'invalid_parameters').details[0]?.field).toBe('If-None-Match')
  }
})

test('a client gets a 304 although the response is no-store', async () => {
  const { path, etag } = await newContact()
  for (const [target, tag] of [
    [path, etag],
    ['/v5/contacts?limit=1', await tagOf('/v5/contacts?limit=1')],
  ] as const) {
    const response = await call('GET', target, { headers: { 'if-none-match': tag } })
    expect([response.status, response.headers.get('cache-control')]).toEqual([304, 'no-store'])
  }
})

/** Requests that support If-Match, except `restore`. */
const changes: [string, (path: string, headers: Record<string, string>) => ReturnType<Call>][] = [
  ['PATCH', (path, headers) => call('PATCH', path, { body: { city: 'Rome' }, headers })],
  ['DELETE', (path, headers) => call('DELETE', path, { headers })],
  ['block', (path, headers) => call('POST', `${path}/block`, { headers })],
  ['unblock', (path, headers) => call('DELETE', `${path}/block`, { headers })],
]

test.each(changes)('%s supports If-Match', async (_name, change) => {
  const attempt = async (header: (etag: string) => string) => {
    const { path, etag } = await newContact()
    const response = await change(path, { 'if-match': header(etag) })
    if (response.status >= 400) expect(await tagOf(path)).toBe(etag)
    return response
  }
  for (const right of [
    (tag: string) => tag,
    (tag: string) => `W/${tag}`,
    (tag: string) => `"other", W/"9-AAAAAAAAAAAAAAAA", ${tag}`,
    (tag: string) => tag.replace(/-.*/, '-AAAAAAAAAAAAAAAA"'),
    () => '*',
  ]) {
    expect((await attempt(right)).status).toBeLessThan(300)
  }
  for (const stale of [
    (tag: string) => tag.replace('"1-', '"2-'),
    () => '"other"',
    () => 'W/"AAAAAAAAAAAAAAAA"',
    () => '"1"',
  ]) {
    expectRefusal(await attempt(stale), 412, 'precondition_failed')
  }
  for (const malformed of [() => 'other', () => '"half', () => '', (tag: string) => `${tag} ${tag}`, () => '*, *']) {
    expectRefusal(await attempt(malformed), 400, 'invalid_parameters')
  }
})

const writes = routes.filter((route) => route.kind === 'write')

test.each(writes.map((route) => [`${route.method} ${route.path}`, route] as const))(
  '%s rejects an If-Match of another revision, or any If-Match it does not support, and changes nothing',
  async (_, route) => {
    const before = await dump(service.database)
    const request = { ...requestOf(route, tenant), headers: { 'if-match': '"99-AAAAAAAAAAAAAAAA"' } }
    const refused = await tenant.request(route, request)
    if (route.supportsIfMatch) expectRefusal(refused, 412, 'precondition_failed')
    else expect(expectRefusal(refused, 400, 'invalid_parameters').details[0]?.field).toBe('If-Match')
    expect(await dump(service.database)).toEqual(before)
  },
)

test('restore supports If-Match with the revision of the deletion', async () => {
  const { path, etag } = await newContact()
  await call('DELETE', path, { headers: { 'if-match': etag } })
  const restore = (match: string) => call('POST', `${path}/restore`, { headers: { 'if-match': match } })
  expectRefusal(await restore(etag), 412, 'precondition_failed')
  expectRefusal(await call('GET', path), 404)
  const restored = await restore(etag.replace('"1-', '"2-'))
  expect([restored.status, restored.headers.get('etag')]).toEqual([200, expect.stringMatching(/^"3-/)])
})

test('of concurrent changes with the same If-Match, exactly one succeeds', async () => {
  for (let round = 0; round < 10; round++) {
    const { path, etag } = await newContact()
    const cities = ['Rome', 'Oslo', 'Bern', 'Kyiv']
    const responses = await Promise.all(
      cities.map((city) => call('PATCH', path, { body: { city }, headers: { 'if-match': etag } })),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412])
    const winner = responses.findIndex(({ status }) => status === 200)
    expect((await call('GET', path)).body.city).toBe(cities[winner])
  }
})

test('a condition that a request does not support is rejected, not ignored', async () => {
  const { path, etag } = await newContact()
  const refused: [string, Awaited<ReturnType<Call>>][] = [
    ['If-None-Match', await call('PATCH', path, { body: { city: 'Rome' }, headers: { 'if-none-match': etag } })],
    ['If-None-Match', await call('DELETE', path, { headers: { 'if-none-match': '*' } })],
    ['If-None-Match', await call('POST', '/v5/contacts', { body: { name: 'A' }, headers: { 'if-none-match': '*' } })],
    ['If-Match', await call('POST', '/v5/contacts', { body: { name: 'A' }, headers: { 'if-match': '*' } })],
    ['If-Match', await call('GET', path, { headers: { 'if-match': etag } })],
  ]
  for (const [field, response] of refused) {
    expect(expectRefusal(response, 400, 'invalid_parameters').details).toEqual([
      { field, message: 'is not supported on this request' },
    ])
  }
  expect(await tagOf(path)).toBe(etag)
})
