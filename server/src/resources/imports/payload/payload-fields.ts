import type { Fields, Resource } from '../../../platform/model/define.ts'
import type { Field, JsonValue, Schema } from '../../../platform/model/fields.ts'
import { normalizers } from '../../../platform/model/normalizers.ts'
import { companies } from '../../companies/resource.ts'
import { contacts } from '../../contacts/resource.ts'
import { employments } from '../../employments/resource.ts'
import { notes } from '../../notes/resource.ts'

/** A property of a push (interface 4.8). */
export interface PayloadProperty {
  description: string
  /** The field whose rules apply, so that an import accepts the same values as the REST API. */
  field: Field
  /** An invalid value rejects the push; otherwise, it is left out. */
  isStrict?: boolean
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

/** Alternative names of handles, and the fields that they stand for. */
export const aliases: readonly (readonly [alias: string, name: string])[] = [
  ['gitHubHandle', 'githubHandle'],
  ['linkedInHandle', 'linkedinHandle'],
  ['xHandle', 'twitterHandle'],
]

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

const profile = 'the handle, with or without `@`, or the profile URL'

/** The handles of a person or company, under all names. */
function handlesOf(fields: Fields): [string, PayloadProperty][] {
  const spellings = [...handles.map((name) => [name, name] as const), ...aliases]
  return spellings.flatMap(([spelling, name]) => {
    const field = fields[name]
    const description = spelling === name ? `${field?.label}: ${profile}` : `Alternative spelling of \`${name}\``
    return field ? [[spelling, { description, field }]] : []
  })
}

const seniorityChoices = ['JUNIOR', 'MID', 'SENIOR', 'EXECUTIVE']

/** The four documented values in any case, stored in lower case. Other resources accept more. */
const seniority: Field = {
  ...contacts.fields.employmentSeniority,
  schema: { type: 'string' },
  normalize: (value: JsonValue) => {
    const word = String(value).toLowerCase()
    const isKnown = seniorityChoices.some((choice) => choice.toLowerCase() === word)
    return isKnown ? { value: word } : { fault: `expected one of ${seniorityChoices.join(', ')}` }
  },
}

export const contactPart = part(
  'The person. Requires an address, or a usable external id or handle.',
  [
    ['email', { description: 'Primary address', field: contacts.fields.email, isStrict: true }],
    ...sameNamed(contacts, {
      name: 'Full name',
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
    ...handlesOf(contacts.fields),
    ['note', { description: 'Stored as a note on the contact', field: notes.fields.body }],
  ],
  { externalIds: contacts.fields.externalIds },
)

export const employmentPart = part(
  'Current and former employments',
  [
    ['title', { description: 'Job title', field: contacts.fields.employmentTitle }],
    ['seniority', { description: 'Case is ignored', field: seniority, isStrict: true, choices: seniorityChoices }],
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
    ...sameNamed(companies, {
      name: 'Legal name',
      nickname: 'Brand name',
      bio: 'Description of the company',
      subtitle: 'One-line description',
      avatar: 'URL of the logo',
      website: 'URL',
      domain: 'The company’s domain; free-mail domains are left out',
      location: 'Headquarters as free text',
      timeZone: 'IANA time zone',
    }),
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
  ],
  { externalIds: companies.fields.externalIds },
)

export const pushPart = part(
  'A lead. Unknown fields are stored with the row and listed in its warnings. So are unusable values: an invalid ' +
    'URL, time zone, handle, domain or number, or a text that is too long. A wrong JSON type, an invalid ' +
    'address, seniority or month causes the push to be rejected. Null and blank texts count as absent. Spaces around a value are ' +
    'removed.',
  [],
  { parts: ['contact', 'employment', 'company'] },
)

/** Whether the value is multi-line text. */
export const isLongText = ({ field }: PayloadProperty): boolean => field.normalize === normalizers.multiLine

/** JSON type of the property. Null is accepted too. */
export const typeOf = ({ field }: PayloadProperty) => field.schema.type as 'string' | 'integer' | 'boolean' | 'array'

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
    ...(format !== undefined && { format }),
    ...(examples !== undefined && { examples }),
    ...(property.choices && { enum: [...property.choices, null] }),
  }
}
