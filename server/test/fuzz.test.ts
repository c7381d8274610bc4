import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resources, routes } from '../src/app.ts'
import { allOperators } from '../src/platform/query/operators.ts'
import { refusalFaults } from './refusals.ts'
import { seed } from './seed.ts'
import { type Call, type Json, startTestService, type TestService } from './service.ts'

let service: TestService
let call: Call
let ids: Record<string, string>

beforeAll(async () => {
  service = await startTestService()
  const organization = await service.newOrganization()
  call = organization.call
  const make = async (path: string, body: Json) => (await call('POST', path, { body })).body.id as string
  const contactId = await make('/v5/contacts', { name: 'Ada', tags: ['a'], customProperties: { plan: 'pro' } })
  ids = {
    contactId,
    companyId: await make('/v5/companies', { name: 'Acme' }),
    campaignId: await make('/v5/campaigns', { name: 'Spring' }),
    teamId: organization.teamId,
    employmentId: await make(`/v5/contacts/${contactId}/employments`, { organization: 'Acme', title: 'Engineer' }),
  }
})
afterAll(() => service.close())

const nasty = fc.oneof(
  fc.constantFrom(
    ...[
      "'; drop table contacts; --",
      "' or '1'='1",
      '%',
      '_',
      '\\',
      '\\,',
      ',',
      '"',
      '`',
      '$1',
      '{{7*7}}',
      '../../etc',
    ],
    ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'null', 'NaN', 'true', '-0', '1e400', '', ' ', '\t'],
    ...['\u202e', '\ufeff', '\u{1f4a9}', 'İ', 'ß', 'ŉ', '\uffff', 'x'.repeat(3000), '2026-02-30', '9'.repeat(30)],
    ...['customProperties.a.b', 'company.name', 'org_x', '+', '+49', '@', 'a@b', 'http://', 'https://[::1]'],
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.integer().map(String),
)
const members = [...new Set(resources.flatMap((resource) => resource.members))]
const member = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...members) }, { weight: 1, arbitrary: nasty })
const operator = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<string>(...allOperators) },
  { weight: 1, arbitrary: nasty },
)

/** As percent-encoded bytes; what has none becomes U+FFFD. */
const encoded = (text: string) => encodeURIComponent(Buffer.from(text).toString())
const parameter = fc.oneof(
  fc
    .tuple(member, operator, nasty)
    .map(([name, op, value]) => `filter.${encoded(name)}.${encoded(op)}=${encoded(value)}`),
  fc
    .tuple(member, nasty, operator, nasty)
    .map(([name, key, op, value]) => `filter.${[name, key, op].map(encoded).join('.')}=${encoded(value)}`),
  fc
    .tuple(
      fc.constantFrom('limit', 'orderBy', 'sort', 'query', 'startingAfter', 'endingBefore', 'select[]', 'select'),
      fc.oneof(member, nasty),
    )
    .map(([name, value]) => `${name}=${encoded(value)}`),
  fc.tuple(member, nasty).map(([name, value]) => `${encoded(name)}=${encoded(value)}`),
  fc.constantFrom('%zz', '%', '%00=1', 'a=%ff', '=', '&&', '=1', 'limit=1', 'a=b=c', '%ED%A0%80=1', '?', '[]=1'),
)
const query = fc.array(parameter, { maxLength: 4 }).map((all) => (all.length === 0 ? '' : `?${all.join('&')}`))

const value: fc.Arbitrary<Json> = fc.oneof(
  nasty,
  fc.jsonValue({ maxDepth: 4 }),
  fc.array(nasty, { maxLength: 5 }),
  fc.constant(null),
)
const body = fc.oneof(
  { weight: 5, arbitrary: fc.dictionary(member, value, { maxKeys: 6 }).map((made) => JSON.stringify(made)) },
  {
    weight: 2,
    arbitrary: fc.tuple(member, value, nasty).map(([key, given, name]) => JSON.stringify({ name, [key]: given })),
  },
  { weight: 1, arbitrary: fc.json({ maxDepth: 6 }) },
  {
    weight: 1,
    arbitrary: fc.dictionary(nasty, value).map((made) => JSON.stringify({ name: 'A', customProperties: made })),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
)
const headerText = fc.oneof(
  nasty.map((text) => text.replace(/[^\x20-\x7e\x80-\xff]/g, '')),
  fc.constantFrom('*', '"1-AAAAAAAAAAAAAAAA"', 'W/"x"', '"', ',', 'gzip', 'application/json', 'text/html', 'bytes=0-1'),
)
const headers = fc.dictionary(
  fc.constantFrom(
    'if-match',
    'if-none-match',
    'idempotency-key',
    'accept',
    'accept-encoding',
    'content-type',
    'range',
    'origin',
    'x-request-id',
    'x-forwarded-for',
    'x-http-method-override',
    'content-encoding',
    'if-modified-since',
  ),
  headerText,
  { maxKeys: 2 },
)
const request = fc.record({
  route: fc.constantFrom(...routes.map(({ method, path }) => ({ method, path }))),
  query,
  body,
  headers,
  id: fc.option(nasty, { freq: 4 }),
})

test('whatever is sent to any route, the answer is below 500 and a refusal has its documented form', async () => {
  const seen = new Set<string>()
  const send = async ({
    route,
    query,
    body,
    headers,
    id,
  }: typeof request extends fc.Arbitrary<infer T> ? T : never) => {
    // The records that the other requests are about are not to be deleted.
    const method = route.method === 'DELETE' && !route.path.endsWith('/block') ? 'OPTIONS' : route.method
    const path = route.path.replace(/\{(\w+)\}/g, (_, name) => encoded(id ?? ids[name] ?? 'x'))
    const sends = method === 'POST' || method === 'PATCH'
    const answer = await call(method, path + query, { headers, ...(sends && { body }) })
    seen.add(`${answer.status}`)
    const faults = answer.status >= 400 ? refusalFaults(answer) : []
    if (answer.status >= 500 || faults.length > 0) {
      throw new Error(`${method} ${path + query} ${JSON.stringify(headers)} ${String(body)}\n${answer.text}\n${faults}`)
    }
  }
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 25, maxLength: 25 }), async (requests) => {
      await Promise.all(requests.map(send))
    }),
    { numRuns: 60, endOnFailure: true, seed },
  )
  for (const status of ['200', '400', '404', '422']) expect(seen).toContain(status)
  expect(service.logged.filter((line) => /"level":[56]0/.test(line))).toEqual([])
})
