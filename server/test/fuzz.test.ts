import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { headings, resources, routes } from '../src/app.ts'
import { openapi } from '../src/platform/http/openapi.ts'
import { readQuery } from '../src/platform/http/query-string.ts'
import type { Route } from '../src/platform/http/route.ts'
import { allOperators } from '../src/platform/query/operators.ts'
import { pushSchema } from '../src/resources/imports/payload.ts'
import { checkAnswer, selectedIn, urlOf } from './collections.ts'
import { countsOf, untilEnded } from './import-audit.ts'
import { refusalFaults } from './refusals.ts'
import { seed } from './seed.ts'
import { type Json, startTestService, type TestService } from './service.ts'
import { newTenant, requestOf, type Tenant } from './tenancy.ts'

const document = openapi(routes, headings)

let service: TestService
let tenant: Tenant

beforeAll(async () => {
  service = await startTestService()
  tenant = await newTenant(service)
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
const fitting = fc.oneof(
  fc.constantFrom('Ada', 'https://acme.com', 'acme.com', 'x.com/ada', 'Europe/Berlin', '2020-01', 'SENIOR', '12.5'),
  nasty,
)

/** A value of the type that is documented for it, mostly. */
function valueOf({ type }: Json): fc.Arbitrary<Json> {
  const [first] = [type].flat()
  const typed: Record<string, fc.Arbitrary<Json>> = {
    integer: fc.integer(),
    boolean: fc.boolean(),
    array: fc.array(fitting, { maxLength: 4 }),
  }
  return fc.oneof({ weight: 60, arbitrary: typed[first] ?? fitting }, { weight: 1, arbitrary: value })
}

/** A part of a lead: some of its members, and now and then one that is none. */
function part({ properties }: Json, more: Record<string, fc.Arbitrary<Json>>): fc.Arbitrary<Json> {
  const known = Object.entries<Json>(properties).map(([name, schema]) => [name, valueOf(schema)])
  const unknown = { externalIdCrm: fc.constantFrom('a', 'b'), favourite: value }
  return fc.record({ ...Object.fromEntries(known), ...unknown, ...more }, { requiredKeys: [] })
}

const { contact, employment, company } = pushSchema.properties as Json
const object = (schema: Json): Json => schema.anyOf?.find(({ type }: Json) => type === 'object') ?? schema
const email = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom('ada@example.com', 'ADA@example.com', 'grace@acme.com', 'x@gmail.com') },
  { weight: 1, arbitrary: nasty },
)
const month = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom('2019-12', '2020-01', '2024-05', null) },
  { weight: 1, arbitrary: value },
)
const job = part(object(object(employment).properties.history.items), {
  start: month,
  end: month,
  organization: fc.constantFrom('Acme', 'acme', 'Engines'),
  current: fc.boolean(),
})
const lead = fc.record(
  {
    contact: part(contact, { email }),
    employment: part(object(employment), {
      seniority: fc.constantFrom('JUNIOR', 'mid', null),
      history: fc.array(job, { maxLength: 3 }),
    }),
    company: part(object(company), { name: fc.constantFrom('Acme', 'Engines') }),
  },
  { requiredKeys: ['contact'] },
)

const request = fc.record({
  operation: fc.constantFrom(...routes.map(({ operation }) => operation)),
  query,
  body: fc.oneof({ weight: 4, arbitrary: body }, { weight: 1, arbitrary: lead.map((made) => JSON.stringify(made)) }),
  headers,
  id: fc.option(nasty, { freq: 4 }),
})

/** The path with the ids of records that are there, or with this in their place. */
function pathOf(route: Route, id: string | null): string {
  // Not the import that the other requests are about, which may be disabled by now.
  const { importId, triggerUrl } = tenant.organization
  const open = { importId, hash: triggerUrl.split('/').at(-1) ?? '' }
  const own = route.kind === 'push' ? open : (requestOf(route, tenant).params ?? {})
  const params = Object.fromEntries(Object.entries(own).map(([name, value]) => [name, encoded(id ?? value)]))
  return urlOf(route, { params })
}

test('whatever is sent to any route, the answer is a documented one, below 500 and in its documented form', async () => {
  const seen = new Set<string>()
  const send = async ({
    operation,
    query,
    body,
    headers,
    id,
  }: typeof request extends fc.Arbitrary<infer T> ? T : never) => {
    const route = routes.find((one) => one.operation === operation)
    if (!route) throw new Error(operation)
    // The records that the other requests are about are not to be deleted.
    const method = route.method === 'DELETE' && !route.path.endsWith('/block') ? 'OPTIONS' : route.method
    const path = pathOf(route, id) + query
    const sends = method === 'POST' || method === 'PATCH'
    const answer = await tenant.organization.call(method, path, { headers, ...(sends && { body }) })
    seen.add(`${answer.status}`).add(`${route.kind} ${answer.status}`)
    const faults = answer.status >= 400 ? refusalFaults(answer) : []
    const documented = document.paths[route.path]?.[method.toLowerCase()]?.responses
    if (documented && !(answer.status in documented)) faults.push('is not documented')
    if (answer.status >= 500 || faults.length > 0) {
      throw new Error(`${method} ${path} ${JSON.stringify(headers)} ${String(body)}\n${answer.text}\n${faults}`)
    }
    if (documented && answer.status < 300) checkAnswer(route, answer, selectedIn(readPairs(query)))
  }
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 25, maxLength: 25 }), async (requests) => {
      await Promise.all(requests.map(send))
    }),
    { numRuns: 60, endOnFailure: true, seed },
  )
  for (const status of ['200', '400', '404', '422', 'push 200', 'push 400', 'push 404']) expect(seen).toContain(status)
  expect(service.logged.filter((line) => /"level":[56]0/.test(line))).toEqual([])
})

const readPairs = (query: string) =>
  readQuery(`/${query}`).map(({ name, value: given }): [string, string] => [name, given])

test('whatever is pushed, what is kept comes to an end that is no fault of ours', async () => {
  const working = await startTestService({ IMPORT_WORKERS: '1' })
  const organization = await working.newOrganization()
  const push = (made: Json) => working.anonymous('POST', new URL(organization.triggerUrl).pathname, { body: made })
  let kept = 0
  await fc.assert(
    fc.asyncProperty(fc.array(lead, { minLength: 25, maxLength: 25 }), async (leads) => {
      const statuses = (await Promise.all(leads.map(push))).map(({ status }) => status)
      expect(statuses.filter((status) => status !== 200 && status !== 400)).toEqual([])
      kept += statuses.filter((status) => status === 200).length
    }),
    { numRuns: 40, endOnFailure: true, seed },
  )
  await untilEnded(working, organization, kept)
  const counts = await countsOf(working, organization)
  await working.close()
  expect(kept).toBeGreaterThan(300)
  expect(Object.keys(counts)).toEqual(expect.arrayContaining(['DUPLICATE', 'PARTIAL', 'PROCESSED']))
  expect(Object.keys(counts)).not.toContain('DEAD')
  expect(working.logged.filter((line) => /"level":[56]0/.test(line))).toEqual([])
}, 120_000)
