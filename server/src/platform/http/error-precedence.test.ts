import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApiKey } from '../../cli/create-api-key.ts'
import { sql } from '../model/sql.ts'
import { newImport, newLead, pusher, type TestImport } from '../../../test/pushes.ts'
import { expectRefusal } from '../../../test/refusals.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let service: TestService
let organization: TestOrganization
let foreign: TestOrganization
let contact: Json
let readOnlyKey: string
let target: TestImport
let disabled: TestImport

/** A valid update of a contact, to which errors are added. */
interface Draft {
  method: string
  path: string
  query: string
  headers: Record<string, string>
  body: string
}

interface ErrorCase {
  name: string
  status: number
  apply(draft: Draft): void
}

const unknownContact = 'con_019aa5b2c1d27e3fa4b5c6d7e8f90123'
const header = (name: string, value: () => string) => (draft: Draft) => void (draft.headers[name] = value())
const set = (property: 'path' | 'query' | 'method' | 'body', value: () => string) => (draft: Draft) =>
  void (draft[property] = value())

/** The errors of each stage, in the order in which a request is checked. */
const stages: Record<string, ErrorCase[]> = {
  framing: [
    { name: 'headers of 20 KiB', status: 431, apply: header('x-long', () => 'x'.repeat(20_000)) },
    { name: 'a URL of 9 KiB', status: 414, apply: set('query', () => `?bogus=${'x'.repeat(9000)}`) },
    { name: 'a broken escape in the path', status: 400, apply: set('path', () => '/v5/contacts/%zz') },
    { name: 'a body of more than 1 MiB', status: 413, apply: set('body', () => 'x'.repeat(1024 * 1024 + 1)) },
    { name: 'a body of another media type', status: 415, apply: header('content-type', () => 'text/plain') },
    { name: 'a compressed body', status: 415, apply: header('content-encoding', () => 'gzip') },
    { name: 'only HTML accepted', status: 406, apply: header('accept', () => 'text/html') },
  ],
  route: [
    { name: 'an unknown path', status: 404, apply: set('path', () => `/v5/contactz/${contact.id}`) },
    { name: 'an unsupported method', status: 405, apply: set('method', () => 'PUT') },
  ],
  credential: [
    { name: 'a wrong key', status: 401, apply: header('authorization', () => 'Bearer svc_wrong') },
    { name: 'no key', status: 401, apply: (draft) => void delete draft.headers.authorization },
  ],
  organization: [
    {
      name: 'no organization header',
      status: 400,
      apply: (draft) => void delete draft.headers['service-organization-id'],
    },
    {
      name: 'a malformed organization header',
      status: 400,
      apply: header('service-organization-id', () => 'acme'),
    },
    {
      name: 'a foreign organization',
      status: 403,
      apply: header('service-organization-id', () => foreign.organizationId),
    },
  ],
  scope: [
    { name: 'a key that may only read', status: 403, apply: header('authorization', () => `Bearer ${readOnlyKey}`) },
  ],
  query: [
    { name: 'an unknown parameter', status: 400, apply: set('query', () => '?bogus=1') },
    { name: 'a broken escape in the query', status: 400, apply: set('query', () => '?a=%zz') },
    { name: 'a malformed If-Match', status: 400, apply: header('if-match', () => 'unquoted') },
  ],
  body: [
    { name: 'a body that is not JSON', status: 400, apply: set('body', () => '{"email":') },
    { name: 'an unknown field', status: 422, apply: set('body', () => '{"emial":"a@example.com"}') },
    { name: 'a bad value', status: 422, apply: set('body', () => '{"email":"nobody"}') },
  ],
  record: [
    { name: 'an unknown record', status: 404, apply: set('path', () => `/v5/contacts/${unknownContact}`) },
    { name: 'a malformed id', status: 404, apply: set('path', () => '/v5/contacts/1') },
  ],
  precondition: [{ name: 'a stale If-Match', status: 412, apply: header('if-match', () => '"99-AAAAAAAAAAAAAAAA"') }],
  conflict: [
    { name: 'an address that is taken', status: 409, apply: set('body', () => '{"email":"taken@example.com"}') },
  ],
}

beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  foreign = await service.newOrganization()
  contact = (await organization.call('POST', '/v5/contacts', { body: { email: 'ada@example.com' } })).body
  await organization.call('POST', '/v5/contacts', { body: { email: 'taken@example.com' } })
  readOnlyKey = await newKey(['urn:service:*:*:read'])
  target = await newImport(service, organization)
  disabled = await newImport(service, organization)
  await organization.call('POST', `/v5/imports/${disabled.importId}/disable`)
  await target.push(newLead(), { headers: { 'idempotency-key': 'used' } })
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

async function databaseState(): Promise<Json> {
  const [row] = await service.database.crossTenantQuery<Json>(
    'check the database',
    sql`select (select json_agg(contacts order by id) from contacts) as contacts,
      (select json_agg(teams order by id) from teams) as teams,
      (select count(*) from companies) + (select count(*) from campaigns) + (select count(*) from employments)
        + (select count(*) from idempotency_answers) as others,
        (select json_agg(import_rows order by id) from import_rows) as rows,
        (select count(*) from import_push_keys) as keys`,
  )
  return row
}

async function newKey(scopes: readonly string[], database = service.database, name = 'test') {
  const created = await createApiKey({ database, organization: organization.organizationId, name, scopes })
  return created.apiKey
}

const ranked = (of: typeof stages) =>
  Object.entries(of).flatMap(([stage, all], rank) => all.map((error) => ({ ...error, stage, rank })))
const pairsOf = (all: ReturnType<typeof ranked>) =>
  all.flatMap((earlier) => all.filter((later) => later.rank > earlier.rank).map((later) => ({ earlier, later })))

const errors = ranked(stages)
const pairs = pairsOf(errors)

test('without an error, the request succeeds', async () => {
  expect((await send(draft())).status).toBe(200)
})

test.each(errors)('$name gets $status', async ({ apply, status }) => {
  const before = await databaseState()
  const request = draft()
  apply(request)
  expectRefusal(await send(request), status)
  expect(await databaseState()).toEqual(before)
})

test('for every pair of errors, the one of the earlier stage is reported, and nothing changes', async () => {
  const before = await databaseState()
  const mismatches: string[] = []
  for (const { earlier, later } of pairs) {
    const request = draft()
    later.apply(request)
    earlier.apply(request)
    const { status } = await send(request)
    if (status !== earlier.status) mismatches.push(`${earlier.name} (${earlier.status}) + ${later.name}: ${status}`)
  }
  expect(pairs.length).toBeGreaterThan(200)
  expect(mismatches).toEqual([])
  expect(await databaseState()).toEqual(before)
})

test('a stale If-Match is reported before a lock', async () => {
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
])('on a read, %s is reported before the unknown record', async (_error, path, headers) => {
  expectRefusal(await organization.call('GET', path, { headers }), 400, 'invalid_parameters')
  expectRefusal(await organization.call('GET', path.split('?')[0] ?? ''), 404, 'not_found')
})

/** A valid push, to which errors are added. */
const pushDraft = (): Draft => ({
  method: 'POST',
  path: target.path,
  query: '',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(newLead()),
})

/** The stages of a push, except its rate limit, which has a separate test. */
const pushStages: Record<string, ErrorCase[]> = {
  framing: [
    { name: 'headers of 20 KiB', status: 431, apply: header('x-long', () => 'x'.repeat(20_000)) },
    { name: 'a URL of 9 KiB', status: 414, apply: set('query', () => `?a=${'x'.repeat(9000)}`) },
    { name: 'a broken escape in the path', status: 400, apply: set('path', () => `${target.path}%zz`) },
    { name: 'a body of more than 1 MiB', status: 413, apply: set('body', () => 'x'.repeat(1024 * 1024 + 1)) },
  ],
  route: [
    { name: 'an unknown path', status: 404, apply: set('path', () => `${target.path}/more`) },
    { name: 'an unsupported method', status: 405, apply: set('method', () => 'PUT') },
  ],
  trigger: [
    { name: 'another secret', status: 404, apply: set('path', () => target.path.replace(target.hash, disabled.hash)) },
    { name: 'another import', status: 404, apply: set('path', () => target.path.replace(target.importId, 'imp_1')) },
    { name: 'an import that is disabled', status: 404, apply: set('path', () => disabled.path) },
  ],
  body: [
    { name: 'a body that is not JSON', status: 400, apply: set('body', () => '{"contact":') },
    { name: 'a lead without an address', status: 400, apply: set('body', () => '{"contact":{}}') },
  ],
  used: [{ name: 'a key of another push', status: 400, apply: header('idempotency-key', () => 'used') }],
}

test('for every pair of errors in a push, the one of the earlier stage is reported, and nothing is stored', async () => {
  expect((await send(pushDraft())).status).toBe(200)
  const before = await databaseState()
  const pushErrors = ranked(pushStages)
  const responseTo = async (...all: ErrorCase[]) => {
    const request = pushDraft()
    for (const error of all) error.apply(request)
    const response = await send(request)
    return { response, summary: `${response.status} ${response.text}` }
  }
  const singleErrors = new Map<string, string>()
  for (const error of pushErrors) {
    const { response, summary } = await responseTo(error)
    expectRefusal(response, error.status)
    singleErrors.set(error.name, summary)
  }
  const checkedPairs = pairsOf(pushErrors)
  for (const { earlier, later } of checkedPairs) {
    const { summary } = await responseTo(later, earlier)
    expect(`${earlier.name} + ${later.name}: ${summary}`).toBe(
      `${earlier.name} + ${later.name}: ${singleErrors.get(earlier.name)}`,
    )
  }
  expect(checkedPairs.length).toBeGreaterThan(45)
  expect(await databaseState()).toEqual(before)
})

test('on a push, an exceeded rate limit is reported after size and URL, and before all other errors', async () => {
  const limited = await startTestService({ RATE_LIMIT_PER_MINUTE: '30' })
  const one = await newImport(limited, await limited.newOrganization())
  const wrongSecret = pusher(limited, one.path.replace(one.hash, target.hash))
  const statuses: number[] = []
  for (const push of [
    () => one.push('x'.repeat(1024 * 1024 + 1)),
    () => wrongSecret(),
    () => one.push(),
    () => one.push('a=b', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
    () => one.push('{'),
  ]) {
    // One more push is allowed every two seconds, so the limit is used up again before each request.
    for (let status = 0; status !== 429;) ({ status } = await one.push())
    statuses.push((await push()).status)
  }
  await limited.close()
  expect(statuses).toEqual([413, 404, 429, 429, 429])
})
