import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { leadOf } from '../../../test/leads.ts'
import { runsOf, seed } from '../../../test/seed.ts'
import { bodyShape, parseBody } from '../../platform/records/request/body.ts'
import { companies } from '../../crm/companies/resource.ts'
import { contacts } from '../../crm/contacts/resource.ts'
import { employments } from '../../crm/employments/resource.ts'
import { type Lead, pushExample, pushSchema, parsePush } from './payload.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

const email = 'ada@example.com'

const text = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    'Ada Lovelace',
    email,
    'ada@',
    'acme.example',
    'gmail.com',
    'https://acme.example',
    'x.com/ada',
  ),
  fc.constantFrom(
    '@ada',
    'https://www.linkedin.com/in/ren%C3%A9',
    'Europe/Berlin',
    'SENIOR',
    'mid',
    '2024-05',
    '2024-13',
    '12.5',
  ),
  fc.constantFrom(1, 21, 201, 251, 501, 10_001).map((length) => 'x'.repeat(length)),
  fc.string({ unit: 'grapheme', maxLength: 30 }).map((value) => value.replaceAll('\0', '')),
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  fc.domain(),
)
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 12, arbitrary: text },
  { weight: 2, arbitrary: fc.array(text, { maxLength: 5 }) },
  { weight: 2, arbitrary: fc.integer() },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue> },
)
/** A value that often has the type of the property. */
function fitting(schema: JsonObject): fc.Arbitrary<JsonValue> {
  const [type] = schema.type as string[]
  if (type === 'integer') return fc.oneof({ weight: 9, arbitrary: fc.integer({ min: -5, max: 12_000 }) }, value)
  if (type === 'boolean') return fc.oneof({ weight: 20, arbitrary: fc.boolean() }, value)
  if (type === 'array') return fc.oneof({ weight: 20, arbitrary: fc.array(text, { maxLength: 5 }) }, value)
  return fc.oneof({ weight: 40, arbitrary: text }, value)
}

const months = fc.constantFrom('2019-12', '2020-01', '2024-05', null)
const known: Record<string, fc.Arbitrary<JsonValue>> = {
  start: months,
  end: months,
  seniority: fc.constantFrom('JUNIOR', 'executive', null),
  email: fc.constantFrom(email, 'Ada@Example.COM', null, ' '),
}
function objectOf(schema: JsonObject): fc.Arbitrary<JsonObject> {
  const properties = schema.properties as Record<string, JsonObject>
  const members = Object.entries(properties).map(([name, member]) => [name, known[name] ?? fitting(member)] as const)
  const others = fc.dictionary(
    fc.oneof(fc.constantFrom('externalIdA', 'externalIdToString', 'constructor', 'emial'), fc.string({ maxLength: 8 })),
    text,
    { maxKeys: 2, noNullPrototype: true },
  )
  return fc
    .tuple(others, fc.record(Object.fromEntries(members), { requiredKeys: [], noNullPrototype: true }))
    .map(([other, own]) => ({ ...other, ...own }) as JsonObject)
}

const schemas = pushSchema.properties as Record<'contact' | 'employment' | 'company', JsonObject>
const { history: historySchema, ...employmentMembers } = schemas.employment.properties as Record<string, JsonObject>
const jobs = fc.array(objectOf((historySchema as { items: JsonObject }).items), { maxLength: 3 })
const employment = fc
  .tuple(objectOf({ properties: employmentMembers }), jobs)
  .map(([members, history]): JsonObject => ({ ...members, history }))
const push = fc.record(
  { contact: objectOf(schemas.contact), employment, company: objectOf(schemas.company) },
  { requiredKeys: ['contact'], noNullPrototype: true },
) as fc.Arbitrary<JsonObject>

const runs = { seed, numRuns: runsOf(1000) }

test('the generated payloads are often valid and often not empty', () => {
  const leads = fc.sample(push, { seed, numRuns: 300 }).flatMap((payload) => {
    const read = parsePush(payload, {})
    return 'lead' in read ? [read.lead] : []
  })
  expect(leads.length).toBeGreaterThan(50)
  expect(leads.filter(({ company, history }) => company && history.length > 0).length).toBeGreaterThan(10)
})

test('any JSON value gives errors or a lead', () => {
  const any = fc.oneof(
    fc.jsonValue() as fc.Arbitrary<JsonValue>,
    fc.record({ contact: value, employment: value, company: value }),
  )
  fc.assert(
    fc.property(any, (payload) => {
      const read = parsePush(payload, {})
      expect('errors' in read ? read.errors.length > 0 : read.lead.contact).toBeTruthy()
    }),
    runs,
  )
})

test('a push yields values that the REST API accepts and would store', () => {
  fc.assert(
    fc.property(push, (payload) => {
      const read = parsePush(payload, {})
      if ('errors' in read) return
      const { contact, company, history } = read.lead
      expect(parseBody(bodyShape(contacts, 'create'), contact)).toEqual(contact)
      if (contact.name !== undefined) {
        const nameless = { email: null, phone: null, firstName: null, lastName: null }
        expect(contacts.prepare?.({ ...nameless, ...contact }, undefined).errors).toEqual([])
      }
      const named = { name: 'Acme', ...company }
      expect(parseBody(bodyShape(companies, 'create'), named)).toEqual(named)
      for (const { values } of history) {
        expect(parseBody(bodyShape(employments, 'create'), values)).toEqual(values)
        expect(employments.prepare?.(values, undefined).errors).toEqual([])
      }
      for (const values of [contact, company ?? {}, ...history.map((job) => job.values)]) {
        expect(Object.values(values).filter((one) => one === null || one === undefined)).toEqual([])
      }
    }),
    runs,
  )
})

/** The payload that expresses a lead. */
function payloadOf({ contact, company, history, note }: Lead): JsonObject {
  const { employmentTitle: title = null, employmentSeniority: seniority = null, ...person } = contact
  return {
    contact: { ...withExternalIds(person), note: note ?? null },
    employment: { title, seniority, history: history.map(({ values }) => values) },
    company: company ? withExternalIds(company) : null,
  }
}

function withExternalIds({ externalIds, ...values }: JsonObject): JsonObject {
  const members = Object.entries(externalIds ?? {}).map(([provider, id]) => [
    `externalId${provider.charAt(0).toUpperCase()}${provider.slice(1)}`,
    id,
  ])
  return { ...values, ...Object.fromEntries(members) }
}

test('a lead that is expressed as a payload again gives the same lead without warnings', () => {
  fc.assert(
    fc.property(push, (payload) => {
      const read = parsePush(payload, {})
      if ('errors' in read) return
      const again = leadOf(payloadOf(read.lead))
      const values = read.lead.history.map((job) => job.values)
      expect(again).toEqual({ ...read.lead, warnings: [], errors: [], history: expect.anything() })
      expect(again.history.map((job) => job.values)).toEqual(values)
    }),
    runs,
  )
})

test('a push whose types follow the JSON Schema has no wrong type, and other types are often converted', () => {
  const validate = new Ajv2020({ allErrors: true, validateFormats: false, strict: false }).compile(pushSchema)
  const isOfType = (message: string) =>
    /^(?:expected an? (?:string|integer|boolean|array|object)|is required$)/.test(message)
  const nearly = fc.oneof(
    { weight: 5, arbitrary: push },
    { weight: 1, arbitrary: fc.jsonValue() as fc.Arbitrary<JsonValue> },
  )
  let refused = 0
  let converted = 0
  fc.assert(
    fc.property(nearly, (payload) => {
      validate(payload)
      const types = (validate.errors ?? []).filter(({ keyword }) => keyword === 'type' || keyword === 'required')
      const paths = types.map(({ keyword, instancePath, params }) =>
        [...instancePath.split('/').slice(1), ...(keyword === 'required' ? [params.missingProperty] : [])].join('.'),
      )
      const read = parsePush(payload, {})
      const errors = 'errors' in read ? read.errors.filter(({ message }) => isOfType(message)) : []
      const wrong = new Set(paths.map((path) => path || 'body'))
      expect(errors.map(({ field }) => field).filter((field) => !wrong.has(field))).toEqual([])
      if (errors.length > 0) refused += 1
      else if (paths.length > 0) converted += 1
    }),
    runs,
  )
  expect(Math.min(refused, converted)).toBeGreaterThan(runs.numRuns / 20)
  expect(validate(pushExample)).toBe(true)
})
