import fc from 'fast-check'
import {
  at,
  fold,
  type ModelFilter,
  type ModelRecord,
  type ModelRequest,
  type ModelResource,
  typeOf,
} from './list-model.ts'
import type { JsonObject } from '../src/platform/model/json.ts'

/** The model of a contact. */
export const contactModel: ModelResource = {
  types: {
    id: 'id',
    email: 'string',
    firstName: 'string',
    lastName: 'string',
    phone: 'string',
    createdAt: 'date',
    updatedAt: 'date',
    lastActivityAt: 'date',
    tags: 'array',
    status: 'string',
    emailOptOut: 'boolean',
    companyId: 'id',
    'company.id': 'id',
    'company.name': 'string',
    'company.domain': 'string',
    customProperties: 'properties',
    name: 'string',
    nickname: 'string',
    bio: 'string',
    location: 'string',
    city: 'string',
    latitude: 'number',
    longitude: 'number',
    employmentTitle: 'string',
    employmentSeniority: 'string',
    externalIds: 'properties',
    rootContactId: 'id',
    blockedAt: 'date',
  },
  searched: ['name', 'firstName', 'lastName', 'nickname', 'email', 'phone', 'employmentTitle', 'tags', 'company.name'],
  standsFor: { company: 'company.name' },
}

/** Paths into properties, which filters and orderBy accept. */
const propertyPaths = [
  'customProperties.text',
  'customProperties.number',
  'customProperties.mixed',
  'customProperties.day',
  'customProperties.list',
  'customProperties.nested.deep',
  'customProperties.nested.odd key!',
  'customProperties.list.0',
  'customProperties.contains',
  'customProperties.missing',
  'customProperties.__proto__',
  'externalIds.billing',
]
const ownPaths = Object.keys(contactModel.types).filter((name) => contactModel.types[name] !== 'properties')
export const contactPaths = [...ownPaths, ...propertyPaths]
export const orderPaths = [...contactPaths, 'company']

const longText = 'a long text '.repeat(18)

/** Texts with special collation, folding, splitting or escaping. */
export const nastyTexts = [
  ...['Ada', 'ada', 'ADA', 'Élodie', 'Elodie', 'E\u0301lodie', 'Straße', 'STRASSE', 'İstanbul', 'ısı', 'Łódź', 'ÆØÅ'],
  ...['Þór', 'œuvre', 'Ωμέγα', 'ΣΊΣΥΦΟΣ', 'σίσυφος', 'Жанна', 'жанна', 'Ёлка', 'Եղիշե', '日本語', 'ガール', 'か\u3099'],
  ...['한국', 'שלום', 'مرحبا', '👩‍💻', '🇩🇪', 'ﬁn', '①', 'Ǆ', '%', '_', '\\', '50%', 'a_b', 'a\\b', 'a,b', '\\,', '٪'],
  ...["O'Brien", '"quoted"', 'a  b', '  lead', 'trail  ', 'null', 'true', '42', '042', '2026-02-31', '-0', '$1'],
  ...['O’Brien', 'Jean–Luc', 'مُحَمَّد', 'أحمد', 'فاطمة', 'שָׁלוֹם'],
  ...['__proto__', 'constructor', `${longText}first`, `${longText}second`, '％'],
]

const text = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...nastyTexts) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom(...nastyTexts), fc.constantFrom(...nastyTexts)).map((two) => two.join(' ')),
  },
  {
    weight: 2,
    arbitrary: fc
      .string({ unit: fc.constantFrom(...'abABéßЖж%_\\, .-1𝒳'), minLength: 1, maxLength: 5 })
      .filter((value) => value.trim() !== ''),
  },
)
const atMost = (length: number) => text.filter((value) => [...value].length <= length)
const nullable = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { freq: 2 })

const leaf = fc.oneof(
  atMost(100),
  fc.constantFrom(0, -0, 42, 42.5, -7, 0.1, 1e-7, 123456789012, 1e21),
  fc.constantFrom(true, false, null, 'true', '42', '', '42.50', '1e2', 100),
)
const dates = [
  ...['2026-01-01', '2026-02-31', '2026-01-01T23:59:59.999Z', '2026-01-02T00:00:00Z', '2026-01-01T23:30:00-01:00'],
  ...['2026-01-01T10:00', '2026-01-01T24:00Z', '2026-01-01T10:00:60Z', '0000-01-01', '9999-12-31', 'soon'],
]
// Only numbers that JSON and PostgreSQL write in the same way, because lists and objects sort as text.
const listItem = fc.oneof(fc.constantFrom(...nastyTexts), fc.constantFrom(1, 42, -7, 1.5, true, false, null))
const list = fc.array(listItem, { maxLength: 3 })
const nested = fc.record({ deep: leaf, list, 'odd key!': leaf }, { requiredKeys: [] })
const properties = fc.record(
  {
    text,
    number: fc.constantFrom(0, -0, 42, 42.5, -7, 0.1, 1e-7, 1e21, 123456789012),
    mixed: fc.oneof(leaf, leaf, list, fc.record({ deep: listItem, a: listItem }, { requiredKeys: [] })),
    day: fc.oneof(fc.constantFrom(...dates), fc.constantFrom(20260101, null)),
    list: fc.oneof(list, leaf),
    nested: fc.oneof(nested, nested, leaf),
    contains: leaf,
  },
  { requiredKeys: [] },
)

/** The bodies of `count` contacts; unique values contain the contact's number. */
export const contactBodies = (count: number, companyIds: readonly string[]): fc.Arbitrary<JsonObject[]> =>
  fc
    .array(
      fc.record({
        email: nullable(fc.constantFrom('person', 'Person', 'éva', 'a_b', 'жанна')),
        firstName: nullable(atMost(200)),
        lastName: nullable(atMost(200)),
        nickname: nullable(atMost(200)),
        phone: nullable(fc.constantFrom('+493012345', '+493012999', '+15551234567')),
        tags: fc.uniqueArray(fc.oneof(fc.constantFrom('vip', 'lead'), atMost(60)), { maxLength: 3 }),
        status: fc.constantFrom('active', 'Active', 'paused'),
        emailOptOut: fc.boolean(),
        companyId: nullable(fc.constantFrom(...companyIds)),
        customProperties: properties,
        bio: nullable(text),
        location: nullable(text),
        city: nullable(fc.constantFrom('Paris', 'paris', 'Zürich', 'ZURICH')),
        latitude: nullable(fc.constantFrom(0, -0, 0.1, -33.5, 1e-7, 89.999999999)),
        longitude: nullable(fc.double({ min: -180, max: 180, noNaN: true })),
        employmentTitle: nullable(text),
        employmentSeniority: nullable(fc.constantFrom('junior', 'c_suite')),
        externalIds: fc.record(
          { billing: fc.constantFrom('cus', 'Cus, 1'), crm: fc.constant('x') },
          { requiredKeys: [] },
        ),
      }),
      { minLength: count, maxLength: count },
    )
    .map((bodies) => bodies.map((body, index) => numbered(body, index)))

function numbered(
  body: { email: string | null; externalIds: Record<string, string>; [name: string]: unknown },
  index: number,
): JsonObject {
  const nameless = body.phone === null && body.firstName === null && body.lastName === null
  const local = body.email ?? (nameless ? 'person' : null)
  const ids = Object.entries(body.externalIds).map(([provider, id]) => [provider, `${id}${index}`])
  return { ...body, email: local && `${local}${index}@example.com`, externalIds: Object.fromEntries(ids) } as JsonObject
}

const textOperators = ['equals', 'not', 'contains', 'startsWith', 'endsWith', 'in', 'notIn']
const listOperators = ['has', 'hasEvery', 'hasSome', 'isEmpty']
const comparisons = ['gt', 'gte', 'lt', 'lte']
export const operators = {
  id: textOperators,
  string: textOperators,
  number: ['equals', 'not', ...comparisons, 'in'],
  date: ['equals', ...comparisons],
  array: listOperators,
  boolean: ['equals', 'not'],
  properties: [...textOperators, ...comparisons, ...listOperators],
}

/** Filters with values from the records, so that some match, or from `nastyTexts`. */
export function filters(records: readonly ModelRecord[], paths = contactPaths): fc.Arbitrary<ModelFilter> {
  const textsByField = new Map<string, readonly string[]>()
  const textsAt = (field: string): readonly string[] => {
    const texts = textsByField.get(field) ?? [...new Set(storedAt(records, field).map(asText))]
    textsByField.set(field, texts)
    return texts
  }
  return fc.constantFrom(...paths).chain((field) => {
    const type = typeOf(contactModel, field)
    return fc
      .constantFrom(...operators[type])
      .chain((operator) =>
        (isExact(operator) && canonicalForms[field]
          ? canonicalValue(operator, canonicalForms[field])
          : valueOf(type, operator, textsAt(field))
        ).map((value): ModelFilter => ({ field, operator, value })),
      )
  })
}

const isExact = (operator: string) => ['equals', 'not', 'in', 'notIn'].includes(operator)

/** Fields that refuse what they can never hold, with values that they accept. */
const canonicalForms: Partial<Record<string, readonly string[]>> = {
  employmentSeniority: ['junior', 'c_suite', 'owner'],
  email: ['person1@example.com', 'Person2@example.com', 'éva3@example.com', 'nobody@example.com'],
  phone: ['+493012345', '+49 30 12999', '+15551234567'],
  'company.domain': ['c0.example', 'C2.example', 'https://www.c4.example/', 'other.example'],
}

const canonicalValue = (operator: string, forms: readonly string[]): fc.Arbitrary<string | string[]> => {
  const one = fc.constantFrom(...forms)
  if (operator === 'in' || operator === 'notIn') return fc.array(one, { minLength: 1, maxLength: 3 })
  return fc.oneof(one, fc.constant('null'))
}

const storedAt = (records: readonly ModelRecord[], field: string) =>
  records
    .map((record) => at(record, field))
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .filter((value) => value !== null && value !== '')

const asText = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))

function valueOf(
  type: keyof typeof operators,
  operator: string,
  stored: readonly string[],
): fc.Arbitrary<string | string[]> {
  const one = singleValue(type, stored)
  if (operator === 'isEmpty') return fc.constantFrom('true', 'false')
  if (['in', 'notIn', 'hasEvery', 'hasSome'].includes(operator)) return fc.array(one, { minLength: 1, maxLength: 4 })
  if (['contains', 'startsWith', 'endsWith'].includes(operator)) return fragment(fc.oneof(one, text))
  if (type === 'properties' && comparisons.includes(operator))
    return fc.oneof(singleValue('number', ['42', '7']), dateOrTimestamp(dates))
  if (operator !== 'equals' && operator !== 'not') return one
  return fc.oneof({ weight: 8, arbitrary: one }, { weight: 1, arbitrary: fc.constant('null') })
}

function singleValue(type: keyof typeof operators, stored: readonly string[]): fc.Arbitrary<string> {
  const textsByField = stored.length > 0 ? fc.constantFrom(...stored) : text
  switch (type) {
    case 'boolean':
      return fc.constantFrom('true', 'false')
    case 'number':
      return fc.oneof(
        fc.constantFrom(...stored.filter((value) => /^-?[\d.]+$/.test(value)), '0', '-0', '42', '0.1', '007'),
        fc.constantFrom('1e2', '-33.50', '100000000000000000000000'),
      )
    case 'date':
      return dateOrTimestamp(stored)
    case 'id':
      return fc.oneof(
        { weight: 6, arbitrary: textsByField },
        { weight: 1, arbitrary: fc.constantFrom('con_1', 'com_x', 'x_') },
      )
    default:
      return fc.oneof({ weight: 3, arbitrary: textsByField }, { weight: 1, arbitrary: text })
  }
}

/** A date or a timestamp, including other spellings of a stored one. */
function dateOrTimestamp(stored: readonly string[]): fc.Arbitrary<string> {
  const moments = stored.filter((value) => !Number.isNaN(Date.parse(value)) && /^\d{4}-\d\d-\d\dT.*Z$/.test(value))
  const valid = moments.filter((value) => !/T24|:60/.test(value))
  const textsByField = fc.constantFrom(...valid, '2026-01-01T00:00:00Z', '2026-01-02T00:00:00.000Z')
  return textsByField.chain((value) =>
    fc.constantFrom(
      value,
      value.slice(0, 10),
      value.slice(0, 19),
      value.slice(0, 16),
      `${new Date(Date.parse(value) + 5_400_000).toISOString().slice(0, -1)}+01:30`,
    ),
  )
}

/** A part of a text, in its own, upper or lower case. */
const fragment = (whole: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(whole, fc.nat(), fc.nat(), fc.constantFrom('', 'upper', 'lower'))
    .map(([value, from, length, letterCase]) => {
      const characters = [...value]
      const start = from % characters.length
      const piece = characters.slice(start, start + 1 + (length % 6)).join('')
      return letterCase === 'upper' ? piece.toUpperCase() : letterCase === 'lower' ? piece.toLowerCase() : piece
    })
    // The service rejects a search text that folds to nothing.
    .filter((piece) => fold(piece) !== '')

/** Search words that are parts of stored texts. */
export const queries = (records: readonly ModelRecord[]): fc.Arbitrary<string> => {
  const stored = records
    .flatMap((record) => contactModel.searched.flatMap((path) => at(record, path) ?? []))
    .map(asText)
  const word = fragment(fc.constantFrom(...new Set(stored)))
  return fc
    .array(word, { minLength: 1, maxLength: 3 })
    .map((words) => words.join(' '))
    .filter((words) => words.trim() !== '')
    .filter((words) => !words.split(/\s+/u).some((one) => one !== '' && fold(one) === ''))
}

/** List requests with up to two filters, sometimes a query, in any order. */
export const requests = (records: readonly ModelRecord[], paths?: readonly string[]): fc.Arbitrary<ModelRequest> =>
  fc.record({
    filters: fc.array(filters(records, paths ? [...paths] : undefined), { maxLength: 2 }),
    query: fc.option(queries(records), { freq: 4, nil: undefined }),
    orderBy: fc.option(fc.constantFrom(...orderPaths), { freq: 6, nil: undefined }),
    sort: fc.constantFrom('asc', 'desc', undefined),
  })
