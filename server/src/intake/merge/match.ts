import { digestOf, externalIdText } from '../../platform/records/write/edits.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { furtherKeys } from '../../crm/contacts/resource.ts'
import { domainKey } from '../../crm/companies/resource.ts'
import { identityOf } from './company-identity.ts'
import { type Draft, objectOf } from './draft.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** Keys of a contact within its team, most reliable first: external ids, then its email addresses. */
export function contactKeys(contact: JsonObject, teamId: string): string[] {
  const { email, emails } = contact
  const addresses = [...(typeof email === 'string' ? [emailKey(email)] : []), ...furtherKeys(emails)]
  return [
    ...externalKeys(contact).map((key) => `contact ${teamId} ${key}`),
    ...addresses.map((key) => `contact ${teamId} email ${key}`),
  ]
}

/** The push without the address and the number that the contact has as further ones: they are stored. */
export function withoutFurther(state: Readonly<JsonObject>, { ...pushed }: JsonObject): JsonObject {
  const { email, phone } = pushed
  if (typeof email === 'string' && furtherKeys(state.emails).includes(emailKey(email))) delete pushed.email
  const numbers = Array.isArray(state.phones) ? (state.phones as JsonObject[]) : []
  if (numbers.some((entry) => entry.number === phone)) delete pushed.phone
  return pushed
}

/** The key of a contact that an earlier run of a row created. */
export const contactIdKey = (id: string): string => `contact id ${id}`

/** Handles that identify a person, in the order of the fields. */
export const handleFields = [
  'linkedinHandle',
  'githubHandle',
  'twitterHandle',
  'instagramHandle',
  'facebookHandle',
] as const

/** Fallback keys of a contact: handles, ignoring case. */
export const handleKeys = (contact: JsonObject, teamId: string): string[] =>
  handleFields.flatMap((name) => {
    const handle = contact[name]
    return typeof handle === 'string' ? [`contact ${teamId} ${name} ${handle.toLowerCase()}`] : []
  })

/** The keys by which the contact of a payload is matched. */
export function searchKeys(contact: JsonObject, teamId: string): string[] {
  const keys = contactKeys(contact, teamId)
  return keys.length > 0 ? keys : handleKeys(contact, teamId)
}

/** Digests of the external ids of a contact without an email; empty if there is an email. */
export const loneExternalIds = ({ email, externalIds }: JsonObject): string[] =>
  email === undefined
    ? Object.entries(objectOf(externalIds)).map(([provider, value]) => digestOf(externalIdText(provider, value)))
    : []

/** Keys of external ids that a person removed or replaced. */
export const formerContactKeys = (digests: readonly string[], teamId: string): string[] =>
  digests.map((digest) => `contact ${teamId} formerly ${digest}`)

/** Reliable keys of a company: external ids, then the registrable domain. */
export function companyKeys(company: JsonObject): string[] {
  const { domain } = company
  return [
    ...externalKeys(company).map((key) => `company ${key}`),
    ...(typeof domain === 'string' ? [`company domain ${domainKey(domain)}`] : []),
  ]
}

/** Fallback key of a company: its name, or a former name that a person changed. */
export const companyNameKey = (name: string): string => `company name ${name}`
export const formerCompanyNameKey = (digest: string): string => `company formerly ${digest}`

const externalKeys = ({ externalIds }: JsonObject): string[] =>
  Object.entries(objectOf(externalIds)).map(([provider, value]) => `external ${provider} ${String(value)}`)

/** The records of a batch by their current keys. */
export class KeyedDrafts {
  readonly #byKey = new Map<string, Set<Draft>>()
  readonly #keys = new Map<Draft, readonly string[]>()

  /** Indexes the record under exactly these keys. */
  put(draft: Draft, keys: readonly string[]): void {
    for (const key of this.#keys.get(draft) ?? []) this.#byKey.get(key)?.delete(draft)
    this.#keys.set(draft, keys)
    for (const key of keys) {
      const drafts = this.#byKey.get(key) ?? new Set()
      drafts.add(draft)
      this.#byKey.set(key, drafts)
    }
  }

  /** All records with one of the keys. */
  find(keys: readonly string[]): Draft[] {
    return [...new Set(keys.flatMap((key) => [...(this.#byKey.get(key) ?? [])]))]
  }
}

/** The companies that a payload may refer to: none for a new one, several if its keys belong to different companies. */
export function findCompanies(known: KeyedDrafts, company: JsonObject): Draft[] {
  const { name, domain } = identityOf(company)
  const identified = { ...company, ...(domain !== undefined && { domain }) }
  const found = known.find(companyKeys(identified))
  if (found.length > 0 || name === undefined) return found
  const named = known.find([companyNameKey(name)]).filter((draft) => !isDifferentCompany(draft, identified))
  if (named.length > 0) return named
  return known.find([formerCompanyNameKey(digestOf(name))]).filter((draft) => !isDifferentCompany(draft, identified))
}

/** Whether a company with the same name is a different one: it has another domain, unless a person changed that. */
function isDifferentCompany({ state, edits }: Draft, { domain }: JsonObject): boolean {
  return typeof domain === 'string' && typeof state.domain === 'string' && !edits.hasValue('domain', domain)
}

/** Providers for which the record has a different id than the push. */
export function contradictions(state: Readonly<JsonObject>, pushed: JsonObject): string[] {
  const present = objectOf(state.externalIds)
  return Object.entries(objectOf(pushed.externalIds)).flatMap(([provider, value]) =>
    Object.hasOwn(present, provider) && present[provider] !== value ? [provider] : [],
  )
}
