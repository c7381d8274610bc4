import type { FieldError } from '../../platform/model/errors.ts'
import { domainKey } from '../../crm/companies/resource.ts'
import { contacts } from '../../crm/contacts/resource.ts'
import { employments } from '../../crm/employments/resource.ts'
import { type Finding, finding } from '../imports/resource.ts'
import { maxExaminedItems, toPart } from './conversions.ts'
import { isFreeMail } from './free-mail.ts'
import { companyPart, contactPart, employmentPart, handles, jobPart, pushPart, schemaOf } from './payload-fields.ts'
import { isObject, ownValue, PayloadReader, displayName } from './payload-reader.ts'
import type { JsonObject, JsonValue, Schema } from '../../platform/model/json.ts'

/** The content of a push as fields of records. */
export interface Lead {
  /** Fields of a contact in stored form. Absent values are omitted, never null. */
  contact: JsonObject
  /** Fields of a company in the same form, or undefined. */
  company: JsonObject | undefined
  /** Fields of each valid employment, with its path such as `employment.history.0`. */
  history: { path: string; values: JsonObject }[]
  note: string | undefined
  warnings: Finding[]
  /** Parts that cannot be stored. */
  errors: Finding[]
}

/** A lead, or all errors that reject the push. */
export type ReadPush = { lead: Lead } | { errors: FieldError[] }

/** The address by which a lead's row can be found. */
export const addressOf = ({ contact: { email } }: Lead): string | undefined =>
  typeof email === 'string' ? email : undefined

const maxJobs = 100

/** Reads the body of a push, which has been parsed strictly, and its query parameters. Pure. */
export function parsePush(payload: JsonValue, parameters: Record<string, JsonValue>): ReadPush {
  if (!isObject(payload)) return { errors: [{ field: 'body', message: 'expected an object' }] }
  const reader = new PayloadReader()
  reader.readObject(payload, '', pushPart)
  const person = parseContact(reader, payload)
  const employment = parsePart(reader, payload, 'employment')
  const position = employment ? reader.readObject(employment, 'employment.', employmentPart) : {}
  const { jobs, errors } = parseHistory(reader, employment ? ownValue(employment, 'history') : null)
  const company = parseCompany(reader, payload)
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null) reader.warn('ignored_key', displayName(name), 'the header is not a usable key and was ignored')
    else reader.warn('unknown_parameter', displayName(name), 'unknown parameter')
  }
  if (reader.errors.length > 0) return { errors: reader.errors }
  const { contact, note } = person
  if (position.title !== undefined) contact.employmentTitle = position.title
  if (position.seniority !== undefined) contact.employmentSeniority = position.seniority
  const { warnings } = reader
  return {
    lead: { contact, company, history: jobs, note: typeof note === 'string' ? note : undefined, warnings, errors },
  }
}

/** An object of the body; null counts as absent. */
function parsePart(reader: PayloadReader, payload: JsonObject, name: string): JsonObject | undefined {
  const given = ownValue(payload, name)
  const part = toPart(given, name === 'company' ? 'name' : undefined)
  if (part === undefined) reader.reject(name, 'expected an object or null')
  return part ?? undefined
}

/** A contact without other values from which a name could follow. */
const nameless = { email: null, phone: null, firstName: null, lastName: null }

const emailRequired = 'is required, unless there is a usable external id or handle'

function parseContact(
  reader: PayloadReader,
  payload: JsonObject,
): { contact: JsonObject; note?: JsonValue | undefined } {
  const given = ownValue(payload, 'contact')
  const sent = toPart(given, typeof given === 'string' && given.includes('@') ? 'email' : undefined)
  if (!sent) {
    const isMissing = !Object.hasOwn(payload, 'contact')
    if (isObject(given)) reader.reject('contact.email', emailRequired)
    else reader.reject('contact', isMissing ? 'is required' : 'expected an object')
    return { contact: {} }
  }
  const { name, domain, note, ...contact } = reader.readObject(sent, 'contact.', contactPart)
  const isIdentified = ['email', 'externalIds', ...handles].some((key) => contact[key] !== undefined)
  if (!isIdentified && !reader.errors.some(({ field }) => field === 'contact.email'))
    reader.reject('contact.email', emailRequired)
  if (typeof domain === 'string') parseDomain(reader, contact, domain)
  if (name !== undefined) {
    const [error] =
      contacts.prepare?.({ ...nameless, name: name === null ? null : String(name) }, undefined).errors ?? []
    if (error) reader.warn('unusable_value', 'contact.name', error.message)
    else contact.name = name
  }
  return { contact, note }
}

/** The domain is used as the website if there is none. A domain that differs from the website is not stored. */
function parseDomain(reader: PayloadReader, contact: JsonObject, domain: string): void {
  const { website } = contact
  if (website === undefined) {
    const read = reader.usable(contacts.fields.website, 'contact.', 'domain', `https://${domain}`)
    if (read !== undefined) contact.website = read
  } else if (domainKey(new URL(String(website)).hostname) !== domainKey(domain)) {
    reader.warn('unusable_value', 'contact.domain', 'differs from the domain of the website, which was stored')
  }
}

function parseCompany(reader: PayloadReader, payload: JsonObject): JsonObject | undefined {
  const sent = parsePart(reader, payload, 'company')
  if (!sent) return undefined
  const { domain, ...company } = reader.readObject(sent, 'company.', companyPart)
  if (typeof domain === 'string') {
    if (isFreeMail(domain))
      reader.warn('free_mail_domain', 'company.domain', `${domain} is a free-mail domain, which anyone can use`)
    else company.domain = domain
  }
  return Object.keys(company).length > 0 ? company : undefined
}

function parseHistory(reader: PayloadReader, history: JsonValue): { jobs: Lead['history']; errors: Finding[] } {
  const jobs: Lead['history'] = []
  const errors: Finding[] = []
  if (!Array.isArray(history)) {
    const job = toPart(history, undefined)
    if (job === undefined) reader.reject('employment.history', 'expected an array of objects or null')
    return job ? parseHistory(reader, [job]) : { jobs, errors }
  }
  if (history.length > maxJobs)
    reader.warn('unusable_value', 'employment.history', `expected at most ${maxJobs} items; the rest was left out`)
  // Jobs beyond the limit are not stored, but their errors reject the push too.
  const discarded = new PayloadReader(reader.errors)
  for (const [index, job] of history.entries()) {
    if (reader.isFull) break
    if (isObject(job) && index >= maxExaminedItems) continue
    const path = `employment.history.${index}`
    if (job === null) reader.warn('unusable_value', path, 'is blank')
    else if (!isObject(job)) reader.reject(path, 'expected an object')
    else if (index >= maxJobs) discarded.readObject(job, `${path}.`, jobPart)
    else {
      const values = reader.readObject(job, `${path}.`, jobPart)
      const error = errorOf(values)
      if (error) errors.push(finding('invalid_employment', path, `${error.field} ${error.message}`))
      else jobs.push({ path, values })
    }
  }
  return { jobs, errors }
}

function errorOf(job: JsonObject): FieldError | undefined {
  if (job.organization === undefined) return { field: 'organization', message: 'is required' }
  return employments.prepare?.(job, undefined).errors?.[0]
}

const nullable = (schema: Schema): Schema => ({ ...schema, type: ['object', 'null'] })

/** JSON Schema of the body of a push, for the documentation. */
export const pushSchema: Schema = {
  ...schemaOf(pushPart, {
    contact: schemaOf(contactPart),
    employment: nullable(schemaOf(employmentPart, { history: { type: ['array', 'null'], items: schemaOf(jobPart) } })),
    company: nullable(schemaOf(companyPart)),
  }),
  required: ['contact'],
}

/** An example with every kind of property. */
export const pushExample: JsonObject = {
  contact: {
    email: 'ada@example.com',
    name: 'Ada Lovelace',
    nickname: 'Ada',
    bio: 'Writes about engines.',
    avatar: 'https://ada.example.com/ada.jpg',
    website: 'https://ada.example.com',
    location: 'London, United Kingdom',
    timeZone: 'Europe/London',
    githubHandle: 'adalovelace',
    linkedinHandle: 'https://www.linkedin.com/in/adalovelace',
    externalIdClearbit: '5f1a3c80-0001',
    note: 'Asked for a demo at the fair in May.',
  },
  employment: {
    title: 'Head of Engines',
    seniority: 'SENIOR',
    history: [
      { current: true, start: '2022-03', organization: 'Acme Engines', title: 'Head of Engines' },
      { current: false, start: '2018-09', end: '2022-02', organization: 'Analytical Society', title: 'Analyst' },
    ],
  },
  company: {
    name: 'Acme Engines Ltd',
    nickname: 'Acme',
    website: 'https://www.acme.example',
    domain: 'acme.example',
    location: 'London, United Kingdom',
    timeZone: 'Europe/London',
    linkedinHandle: 'acme-engines',
    annualRevenue: '12500000.50',
    employeesCount: 140,
    foundedYear: 1998,
    fundingStage: 'series_b',
    fundingTotal: '40000000',
    industries: ['machinery', 'software'],
    languages: ['en', 'de'],
    stack: ['postgresql'],
    tags: ['prospect'],
  },
}
