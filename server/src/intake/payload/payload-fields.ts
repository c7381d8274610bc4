import type { Fields, Resource } from '../../platform/records/declare/define.ts'
import { text } from '../../platform/records/declare/fields.ts'
import { normalizers } from '../../platform/model/normalizers.ts'
import { companies } from '../../crm/companies/resource.ts'
import { contacts, seniorities } from '../../crm/contacts/resource.ts'
import { employments } from '../../crm/employments/resource.ts'
import { notes } from '../../crm/notes/resource.ts'
import { countryCode } from './countries.ts'
import type { JsonValue, Schema } from '../../platform/model/json.ts'
import type { Field } from '../../platform/records/declare/field.ts'

/** A property of a push. */
export interface PayloadProperty {
  description: string
  /** The field whose rules apply, so that an import accepts the same values as the REST API. */
  field: Field
  /** An invalid value rejects the push; otherwise, it is left out. */
  isStrict?: boolean
  /** Not part of the contract: a value of another type is left out, too. */
  isAdditional?: boolean
  /** Records are matched by it, or named by it if they have no name: a placeholder is left out. */
  identifies?: boolean
  /** The name of a person: a placeholder that only a program writes is left out. */
  isPersonName?: boolean
  /** The documented values. */
  choices?: readonly string[]
}

/** An object of a push. */
export interface PayloadObject {
  description: string
  properties: ReadonlyMap<string, PayloadProperty>
  /** Properties that are objects, or lists of objects. */
  parts: readonly string[]
  /** Names to suggest for an unknown property. */
  names: readonly string[]
  /** The field that stores external ids. */
  externalIds?: Field
}

function part(
  description: string,
  properties: readonly [string, PayloadProperty][],
  more: { parts?: readonly string[]; externalIds?: Field } = {},
): PayloadObject {
  const parts = more.parts ?? []
  const spellings = new Set(aliases.map(([alias]) => alias))
  const names = [...properties.map(([name]) => name), ...parts].filter((name) => !spellings.has(name))
  return { description, properties: new Map(properties), names, ...more, parts }
}

/**
 * Property with the id of a provider. The provider starts with an upper-case letter here, and with a lower-case one
 * when stored.
 */
export const externalIdForm = /^externalId([A-Z][A-Za-z0-9]{0,39})$/

/** The value of such a property. */
export const externalId = { description: 'External id', field: text({ label: 'External id' }) }

const handleAliases: readonly (readonly [alias: string, name: string])[] = [
  ['gitHubHandle', 'githubHandle'],
  ['linkedInHandle', 'linkedinHandle'],
  ['xHandle', 'twitterHandle'],
]

/** Alternative names, and the fields that they stand for. */
export const aliases: typeof handleAliases = [...handleAliases, ['country', 'countryCode']]

export const handles: readonly string[] = [
  'facebookHandle',
  'githubHandle',
  'instagramHandle',
  'linkedinHandle',
  'twitterHandle',
]

/** Properties with the same name as their field. */
const sameNamed = <F extends Fields>(
  { fields }: Resource<F>,
  descriptions: { [Name in keyof F & string]?: string },
): [string, PayloadProperty][] =>
  Object.entries<string>(descriptions as Record<string, string>).map(([name, description]) => [
    name,
    { description, field: fields[name as keyof F] },
  ])

/** Properties that the contract does not have, with the same name as their field. */
const additional = <F extends Fields>(
  { fields }: Resource<F>,
  properties: { [Name in keyof F & string]?: Pick<PayloadProperty, 'description' | 'identifies' | 'isPersonName'> },
): [string, PayloadProperty][] =>
  Object.entries<Pick<PayloadProperty, 'description'>>(
    properties as Record<string, Pick<PayloadProperty, 'description'>>,
  ).map(([name, property]) => [name, { ...property, field: fields[name as keyof F], isAdditional: true }])

const customValues =
  'Values of your own, by key. A value that does not fit the definition of its key (`/v5/properties`) is left out.'

const profile = 'the handle, with or without `@`, or the profile URL'

/** The handles of a person or company, under all names. */
function handlesOf(fields: Fields): [string, PayloadProperty][] {
  const spellings = [...handles.map((name) => [name, name] as const), ...handleAliases]
  return spellings.flatMap(([spelling, name]) => {
    const field = fields[name]
    const description = spelling === name ? `${field?.label}: ${profile}` : `Alternative spelling of \`${name}\``
    return field ? [[spelling, { description, field, identifies: true }]] : []
  })
}

/** A country by its code or its name. */
const country: Field = {
  ...contacts.fields.countryCode,
  schema: { type: 'string' },
  normalize: (value: JsonValue) => {
    const code = countryCode(String(value))
    return code === undefined ? { error: 'expected an ISO 3166-1 code, such as "DE", or a name' } : { value: code }
  },
}

/** The postal address of a person or company. */
const address = (fields: Fields): [string, PayloadProperty][] => {
  const descriptions = {
    street: 'Street and number; may have several lines',
    postalCode: 'Postal code',
    city: 'City',
    state: 'State',
  }
  const others = Object.entries(descriptions).flatMap(([name, description]): [string, PayloadProperty][] => {
    const field = fields[name]
    return field ? [[name, { description, field, isAdditional: true }]] : []
  })
  const named = {
    description: 'ISO 3166-1 code, or the English or German name of the country',
    field: country,
    isAdditional: true,
  }
  return [
    ...others,
    ['countryCode', named],
    ['country', { ...named, description: 'Alternative spelling of `countryCode`' }],
  ]
}

const seniorityChoices = ['JUNIOR', 'MID', 'SENIOR', 'EXECUTIVE']

/** Other spellings of the seniorities of contacts, without points and `level`. */
const seniorityAliases = new Map([
  ['jr', 'junior'],
  ['middle', 'mid'],
  ['sr', 'senior'],
  ['exec', 'executive'],
  ['head_of', 'head'],
  ['vice_president', 'vp'],
  ['c', 'c_suite'],
  ['csuite', 'c_suite'],
  ['cxo', 'c_suite'],
  ['cofounder', 'founder'],
  ['co_founder', 'founder'],
])

/** The seniorities of contacts, of which the contract has four, in any case and the usual spellings. */
const seniority: Field = {
  ...contacts.fields.employmentSeniority,
  schema: { type: 'string' },
  normalize: (value: JsonValue) => {
    const words = String(value).toLowerCase().replaceAll('.', '').trim()
    const word = words.replace(/[\s_/-]+/g, '_').replace(/_level$/, '')
    const known = seniorityAliases.get(word) ?? word
    if (seniorities.some((one) => one === known)) return { value: known }
    return { error: `expected one of ${seniorities.map((one) => one.toUpperCase()).join(', ')}` }
  },
}

export const contactPart = part(
  'The person. Requires an address, or a usable external id or handle.',
  [
    ['email', { description: 'Primary address', field: contacts.fields.email, isStrict: true, identifies: true }],
    ['name', { description: 'Full name', field: contacts.fields.name, isPersonName: true }],
    ...additional(contacts, {
      firstName: { description: 'First name', isPersonName: true },
      lastName: { description: 'Last name', isPersonName: true },
      phone: { description: 'Phone number in international form', identifies: true },
      tags: { description: 'Added to the contact’s tags' },
      customProperties: { description: customValues },
    }),
    ...sameNamed(contacts, {
      nickname: 'Nickname',
      bio: 'Description of the person',
      avatar: 'URL of a picture',
      website: 'URL of the personal website',
      location: 'Location as free text',
      timeZone: 'IANA time zone',
    }),
    [
      'domain',
      { description: 'Domain of the personal website; used if there is no `website`', field: companies.fields.domain },
    ],
    ...address(contacts.fields),
    ...handlesOf(contacts.fields),
    ['note', { description: 'Stored as a note on the contact', field: notes.fields.body }],
  ],
  { externalIds: contacts.fields.externalIds },
)

export const employmentPart = part(
  'Current and former employments',
  [
    ['title', { description: 'Job title', field: contacts.fields.employmentTitle }],
    [
      'seniority',
      {
        description: 'Case and spelling are ignored; the other seniorities of contacts are accepted, too',
        field: seniority,
        isStrict: true,
        choices: seniorityChoices,
      },
    ],
  ],
  { parts: ['history'] },
)

export const jobPart = part('One employment. It is left out if it has no organization or ends before it starts.', [
  ...sameNamed(employments, { organization: 'Employer', title: 'Job title', current: 'Whether this is a current job' }),
  ['start', { description: 'Month, `YYYY-MM`', field: employments.fields.start, isStrict: true }],
  ['end', { description: 'Month, `YYYY-MM`; absent for a current job', field: employments.fields.end, isStrict: true }],
])

export const companyPart = part(
  'The employer. Matched by external id, then domain, then exact name; if there is only a website, by its host.',
  [
    ['name', { description: 'Legal name', field: companies.fields.name, identifies: true }],
    ['nickname', { description: 'Brand name', field: companies.fields.nickname, identifies: true }],
    ...sameNamed(companies, {
      bio: 'Description of the company',
      subtitle: 'One-line description',
      avatar: 'URL of the logo',
      website: 'URL',
      domain: 'The company’s domain; free-mail domains are left out',
      location: 'Headquarters as free text',
      timeZone: 'IANA time zone',
    }),
    ...address(companies.fields),
    ...handlesOf(companies.fields),
    ...sameNamed(companies, {
      annualRevenue: 'A number as a string',
      employeesCount: 'Number of employees',
      foundedYear: 'Year of foundation',
      fundingStage: 'Such as `series_b`',
      fundingTotal: 'A number as a string',
      retailLocationsCount: 'Number of retail locations',
      ticker: 'Stock ticker symbol',
      industries: 'Industries',
      languages: 'Languages used in the company',
      stack: 'Technologies used in the company',
      tags: 'Added to the company’s tags',
    }),
    ...additional(companies, { customProperties: { description: customValues } }),
  ],
  { externalIds: companies.fields.externalIds },
)

export const pushPart = part(
  'A lead. Unknown fields are stored with the row and listed in its warnings. So are unusable values: an invalid ' +
    'URL, time zone, handle, domain or number, or a text that is too long. A value of another JSON type is converted ' +
    'if its meaning is certain. If not, it causes the push to be rejected, as an invalid address, seniority or month does. Null and blank texts count as absent. Spaces around a value are ' +
    'removed.',
  [],
  { parts: ['contact', 'employment', 'company'] },
)

/** Whether the value is multi-line text. */
export const isLongText = ({ field }: PayloadProperty): boolean => field.normalize === normalizers.multiLine

/** JSON type of the property. Null is accepted too. */
export const typeOf = ({ field }: PayloadProperty) =>
  field.schema.type as 'string' | 'integer' | 'boolean' | 'array' | 'object'

/** JSON Schema of an object of a push. It covers the types, not all rules. */
export function schemaOf(part: PayloadObject, parts: Record<string, Schema> = {}): Schema {
  const properties = [...part.properties].map(([name, property]) => [name, propertySchema(property)] as const)
  const externalId = { type: ['string', 'null'], description: 'Id at the provider that the field name ends with' }
  return {
    type: 'object',
    description: part.description,
    properties: { ...Object.fromEntries(properties), ...parts },
    ...(part.externalIds && { patternProperties: { [externalIdForm.source]: externalId } }),
    additionalProperties: true,
  }
}

function propertySchema(property: PayloadProperty): Schema {
  const { format, examples } = property.field.schema
  const type = typeOf(property)
  return {
    type: [type, 'null'],
    description: property.description,
    ...(type === 'array' && { items: { type: 'string' } }),
    ...(type === 'object' && { additionalProperties: true }),
    ...(format !== undefined && { format }),
    ...(examples !== undefined && { examples }),
    ...(property.choices && { enum: [...property.choices, null] }),
  }
}
