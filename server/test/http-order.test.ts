import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApiKey } from '../src/commands/create-api-key.ts'
import { sql } from '../src/platform/database/sql.ts'
import { expectRefusal } from './refusals.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from './service.ts'

let service: TestService
let organization: TestOrganization
let foreign: TestOrganization
let contact: Json
let readOnlyKey: string

/** A change of a contact that would succeed, until faults are put into it. */
interface Draft {
  method: string
  path: string
  query: string
  headers: Record<string, string>
  body: string
}

interface Fault {
  name: string
  status: number
  put(draft: Draft): void
}

const unknownContact = 'con_019aa5b2c1d27e3fa4b5c6d7e8f90123'
const header = (name: string, value: () => string) => (draft: Draft) => void (draft.headers[name] = value())
const put = (member: 'path' | 'query' | 'method' | 'body', value: () => string) => (draft: Draft) =>
  void (draft[member] = value())

/** Stage by stage, in the order in which a request is checked. */
const stages: Record<string, Fault[]> = {
  framing: [
    { name: 'headers of 20 KiB', status: 431, put: header('x-long', () => 'x'.repeat(20_000)) },
    { name: 'a URL of 9 KiB', status: 414, put: put('query', () => `?bogus=${'x'.repeat(9000)}`) },
    { name: 'a broken escape in the path', status: 400, put: put('path', () => '/v5/contacts/%zz') },
    { name: 'a body of more than 1 MiB', status: 413, put: put('body', () => 'x'.repeat(1024 * 1024 + 1)) },
    { name: 'a body of another media type', status: 415, put: header('content-type', () => 'text/plain') },
    { name: 'a compressed body', status: 415, put: header('content-encoding', () => 'gzip') },
    { name: 'only HTML accepted', status: 406, put: header('accept', () => 'text/html') },
  ],
  route: [
    { name: 'an unknown path', status: 404, put: put('path', () => `/v5/contactz/${contact.id}`) },
    { name: 'a method that is not taken', status: 405, put: put('method', () => 'PUT') },
  ],
  credential: [
    { name: 'a wrong key', status: 401, put: header('authorization', () => 'Bearer svc_wrong') },
    { name: 'no key', status: 401, put: (draft) => void delete draft.headers.authorization },
  ],
  organization: [
    {
      name: 'no organization header',
      status: 400,
      put: (draft) => void delete draft.headers['service-organization-id'],
    },
    {
      name: 'a malformed organization header',
      status: 400,
      put: header('service-organization-id', () => 'acme'),
    },
    {
      name: 'a foreign organization',
      status: 403,
      put: header('service-organization-id', () => foreign.organizationId),
    },
  ],
  scope: [
    { name: 'a key that may only read', status: 403, put: header('authorization', () => `Bearer ${readOnlyKey}`) },
  ],
  query: [
    { name: 'an unknown parameter', status: 400, put: put('query', () => '?bogus=1') },
    { name: 'a broken escape in the query', status: 400, put: put('query', () => '?a=%zz') },
    { name: 'a malformed If-Match', status: 400, put: header('if-match', () => 'unquoted') },
  ],
  body: [
    { name: 'a body that is no JSON', status: 400, put: put('body', () => '{"email":') },
    { name: 'an unknown field', status: 422, put: put('body', () => '{"emial":"a@example.com"}') },
    { name: 'a bad value', status: 422, put: put('body', () => '{"email":"nobody"}') },
  ],
  record: [
    { name: 'an unknown record', status: 404, put: put('path', () => `/v5/contacts/${unknownContact}`) },
    { name: 'an id of another form', status: 404, put: put('path', () => '/v5/contacts/1') },
  ],
  precondition: [{ name: 'a stale If-Match', status: 412, put: header('if-match', () => '"99-AAAAAAAAAAAAAAAA"') }],
  conflict: [
    { name: 'an address that is taken', status: 409, put: put('body', () => '{"email":"taken@example.com"}') },
  ],
}

beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  foreign = await service.newOrganization()
  contact = (await organization.call('POST', '/v5/contacts', { body: { email: 'ada@example.com' } })).body
  await organization.call('POST', '/v5/contacts', { body: { email: 'taken@example.com' } })
  readOnlyKey = await newKey(['urn:service:*:*:read'])
})
afterAll(async () => {
  await service.close()
})

async function send({ method, path, query, headers, body }: Draft) {
  return service.anonymous(method, path + query, { headers, body })
}

const draft = (): Draft => ({
  method: 'PATCH',
  path: `/v5/contacts/${contact.id}`,
  query: '',
  headers: { authorization: `Bearer ${organization.apiKey}`, 'service-organization-id': organization.organizationId },
  body: '{"city":"Paris"}',
})

async function everything(): Promise<Json> {
  const [row] = await service.database.spanning<Json>(
    'check the database',
    sql`select (select json_agg(contacts order by id) from contacts) as contacts,
      (select json_agg(teams order by id) from teams) as teams,
      (select count(*) from companies) + (select count(*) from campaigns) + (select count(*) from employments)
        + (select count(*) from idempotency_answers) as others`,
  )
  return row
}

async function newKey(scopes: readonly string[], database = service.database, name = 'test') {
  const made = await createApiKey({ database, organization: organization.organizationId, name, scopes })
  return made.apiKey
}

const faults = Object.entries(stages).flatMap(([stage, all], rank) => all.map((fault) => ({ ...fault, stage, rank })))
const pairs = faults.flatMap((earlier) =>
  faults.filter((later) => later.rank > earlier.rank).map((later) => ({ earlier, later })),
)

test('without a fault the request succeeds, so that each refusal below is about its faults', async () => {
  expect((await send(draft())).status).toBe(200)
})

test.each(faults)('$name is $status', async ({ put, status }) => {
  const before = await everything()
  const request = draft()
  put(request)
  expectRefusal(await send(request), status)
  expect(await everything()).toEqual(before)
})

test('of two faults the one of the earlier stage is told, for every pair, and nothing has changed', async () => {
  const before = await everything()
  const told: string[] = []
  for (const { earlier, later } of pairs) {
    const request = draft()
    later.put(request)
    earlier.put(request)
    const { status } = await send(request)
    if (status !== earlier.status) told.push(`${earlier.name} (${earlier.status}) + ${later.name}: ${status}`)
  }
  expect(pairs.length).toBeGreaterThan(200)
  expect(told).toEqual([])
  expect(await everything()).toEqual(before)
})

test('a stale If-Match is told before a lock', async () => {
  const [team] = (await organization.call('GET', '/v5/teams')).body
  const path = `/v5/teams/${team.id}`
  expectRefusal(await organization.call('DELETE', path), 423, 'resource_locked')
  expectRefusal(await organization.call('DELETE', path, { headers: { 'if-match': '"99-AAAAAAAAAAAAAAAA"' } }), 412)
  expect((await organization.call('GET', path)).status).toBe(200)
})

test.each([
  ['an unknown parameter', `/v5/contacts/${unknownContact}?bogus=1`, {}],
  ['a malformed If-None-Match', `/v5/contacts/${unknownContact}`, { 'if-none-match': 'unquoted' }],
  ['an unknown parameter and an id of another form', '/v5/contacts/1?bogus=1', {}],
  ['a malformed cursor', `/v5/contacts/${unknownContact}/employments?startingAfter=1`, {}],
])('of a read, %s is told before the unknown record', async (_fault, path, headers) => {
  expectRefusal(await organization.call('GET', path, { headers }), 400, 'invalid_parameters')
  expectRefusal(await organization.call('GET', path.split('?')[0] ?? ''), 404, 'not_found')
})
