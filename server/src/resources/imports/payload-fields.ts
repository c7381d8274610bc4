import type { Fields, Resource } from '../../platform/resource/define.ts'
import type { Field, JsonValue, Schema } from '../../platform/resource/fields.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { employments } from '../employments/resource.ts'
import { notes } from '../notes/resource.ts'

/** One member of a push (interface 4.8). */
export interface Member {
  description: string
  /** Whose rules hold for the value, so that an import takes what REST takes. */
  field: Field
  /** A value that cannot be used refuses the push; others are left out of it. */
  isStrict?: boolean
  /** What the documentation narrows the value to. */
  choices?: readonly string[]
}

/** One object of a push. */
export interface Part {
  description: string
  members: ReadonlyMap<string, Member>
  /** Members that are objects of their own, or lists of them. */
  parts: readonly string[]
  /** What a member that is not known may have been meant for. */
  names: readonly string[]
  /** Where the ids of other providers are kept. */
  externalIds?: Field
}

function part(
  description: string,
  members: readonly [string, Member][],
  more: { parts?: readonly string[]; externalIds?: Field } = {},
): Part {
  const parts = more.parts ?? []
  const spellings = new Set(aliases.map(([alias]) => alias))
  const names = [...members.map(([name]) => name), ...parts].filter((name) => !spellings.has(name))
  return { description, members: new Map(members), names, ...more, parts }
}

/** The member that brings the id of a provider: its name begins in upper case here, in lower case where it is kept. */
export const externalIdForm = /^externalId([A-Z])([A-Za-z0-9]{0,39})$/

/** Other spellings of handles, and the fields that they mean. */
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

/** Members that are called like the fields that they become. */
const like = <F extends Fields>(
  { fields }: Resource<F>,
  descriptions: { [Name in keyof F & string]?: string },
): [string, Member][] =>
  Object.entries<string>(descriptions as Record<string, string>).map(([name, description]) => [
    name,
    { description, field: fields[name as keyof F] },
  ])

const profile = 'the handle, with or without `@`, or the URL of the profile'

/** The handles of a person or a company, in every spelling. */
function handlesOf(fields: Fields): [string, Member][] {
  const spellings = [...handles.map((name) => [name, name] as const), ...aliases]
  return spellings.flatMap(([spelling, name]) => {
    const field = fields[name]
    const description = spelling === name ? `${field?.label}: ${profile}` : `Another spelling of \`${name}\``
    return field ? [[spelling, { description, field }]] : []
  })
}

const seniorityChoices = ['JUNIOR', 'MID', 'SENIOR', 'EXECUTIVE']

/** The four words in any case, kept in lower case; other resources know more of them. */
const seniority: Field = {
  ...contacts.fields.employmentSeniority,
  schema: { type: 'string' },
  normalize: (value: JsonValue) => {
    const word = String(value).toLowerCase()
    const isKnown = seniorityChoices.some((choice) => choice.toLowerCase() === word)
    return isKnown ? { value: word } : { fault: `must be one of ${seniorityChoices.join(', ')}` }
  },
}

export const contactPart = part(
  'The person. Needs an address, or an external id or a handle that can be used.',
  [
    ['email', { description: 'Primary address', field: contacts.fields.email, isStrict: true }],
    ...like(contacts, {
      name: 'Full name',
      nickname: 'What the person is called',
      bio: 'What there is to say about the person',
      avatar: 'URL of a picture',
      website: 'URL of the personal website',
      location: 'Where the person is, in any words',
      timeZone: 'IANA time zone',
    }),
    [
      'domain',
      { description: 'Domain of the personal website; read without `website`', field: companies.fields.domain },
    ],
    ...handlesOf(contacts.fields),
    ['note', { description: 'Kept as a note of the contact', field: notes.fields.body }],
  ],
  { externalIds: contacts.fields.externalIds },
)

export const employmentPart = part(
  'What the person does',
  [
    ['title', { description: 'Job title', field: contacts.fields.employmentTitle }],
    ['seniority', { description: 'Taken in any case', field: seniority, isStrict: true, choices: seniorityChoices }],
  ],
  { parts: ['history'] },
)

export const jobPart = part('One job. One without an organization, or that ends before it starts, is left out.', [
  ...like(employments, { organization: 'Employer', title: 'Job title', current: 'Does the person hold it?' }),
  ['start', { description: 'Month, `YYYY-MM`', field: employments.fields.start, isStrict: true }],
  ['end', { description: 'Month, `YYYY-MM`; absent for a current job', field: employments.fields.end, isStrict: true }],
])

export const companyPart = part(
  'Where the person works. Matched by external id, then domain, then exact name.',
  [
    ...like(companies, {
      name: 'Legal name',
      nickname: 'Brand name',
      bio: 'What there is to say about the company',
      subtitle: 'What it does, in a line',
      avatar: 'URL of the logo',
      website: 'URL',
      domain: 'Its own domain; that of a free-mail provider is left out',
      location: 'Headquarters, in any words',
      timeZone: 'IANA time zone',
    }),
    ...handlesOf(companies.fields),
    ...like(companies, {
      annualRevenue: 'A number in a string',
      employeesCount: 'How many work there',
      foundedYear: 'Year of its foundation',
      fundingStage: 'Such as `series_b`',
      fundingTotal: 'A number in a string',
      retailLocationsCount: 'How many shops it has',
      ticker: 'Symbol at the stock exchange',
      industries: 'What it works in',
      languages: 'Languages spoken there',
      stack: 'Technologies that it uses',
      tags: 'Added to the tags of the company',
    }),
  ],
  { externalIds: companies.fields.externalIds },
)

export const pushPart = part(
  'A lead. Members that are not known are kept with the row and listed in its warnings, as is what cannot be used: a ' +
    'URL, zone, handle, domain or number that is none, or a text that is too long. A value of another JSON type, a bad ' +
    'address, seniority or month refuses the push. Null and blank texts count as absent.',
  [],
  { parts: ['contact', 'employment', 'company'] },
)

/** The JSON type of a member's values; null is taken beside it. */
export const typeOf = ({ field }: Member) => field.schema.type as 'string' | 'integer' | 'boolean' | 'array'

/** The part of a push in JSON Schema: its types, not what else a value has to be to be taken. */
export function schemaOf(part: Part, parts: Record<string, Schema> = {}): Schema {
  const members = [...part.members].map(([name, member]) => [name, memberSchema(member)] as const)
  const externalId = { type: ['string', 'null'], description: 'Identifier at the provider that the name ends in' }
  return {
    type: 'object',
    description: part.description,
    properties: { ...Object.fromEntries(members), ...parts },
    ...(part.externalIds && { patternProperties: { [externalIdForm.source]: externalId } }),
    additionalProperties: true,
  }
}

function memberSchema(member: Member): Schema {
  const { format, examples } = member.field.schema
  const type = typeOf(member)
  return {
    type: [type, 'null'],
    description: member.description,
    ...(type === 'array' && { items: { type: 'string' } }),
    ...(format !== undefined && { format }),
    ...(examples !== undefined && { examples }),
    ...(member.choices && { enum: [...member.choices, null] }),
  }
}
