import type { JsonObject } from '../../../platform/model/fields.ts'
import { digestOf, externalIdText } from '../../../platform/resource/edits.ts'
import { emailKey } from '../../../platform/model/normalizers.ts'
import { domainKey } from '../../companies/resource.ts'
import { identityOf } from './company-identity.ts'
import { type Draft, objectOf } from './draft.ts'

/** What a contact is known by, the surer first: external ids, then the address. Within its team. */
export function contactKeys(contact: JsonObject, teamId: string): string[] {
  const { email } = contact
  return [
    ...externalKeys(contact).map((key) => `contact ${teamId} ${key}`),
    ...(typeof email === 'string' ? [`contact ${teamId} email ${emailKey(email)}`] : []),
  ]
}

/** The handles that a person is known by, in the order of the fields. */
export const handleFields = [
  'linkedinHandle',
  'githubHandle',
  'twitterHandle',
  'instagramHandle',
  'facebookHandle',
] as const

/** What a contact is known by when nothing better is: the handles. Their case does not count. */
export const handleKeys = (contact: JsonObject, teamId: string): string[] =>
  handleFields.flatMap((name) => {
    const handle = contact[name]
    return typeof handle === 'string' ? [`contact ${teamId} ${name} ${handle.toLowerCase()}`] : []
  })

/** What the contact of a payload is looked for by. */
export function searchKeys(contact: JsonObject, teamId: string): string[] {
  const keys = contactKeys(contact, teamId)
  return keys.length > 0 ? keys : handleKeys(contact, teamId)
}

/** The digests of a contact's external ids where nothing else tells who it is; empty otherwise. */
export const loneExternalIds = ({ email, externalIds }: JsonObject): string[] =>
  email === undefined
    ? Object.entries(objectOf(externalIds)).map(([provider, value]) => digestOf(externalIdText(provider, value)))
    : []

/** What a contact was known by until a person removed or replaced the external id. */
export const formerContactKeys = (digests: readonly string[], teamId: string): string[] =>
  digests.map((digest) => `contact ${teamId} formerly ${digest}`)

/** What a company is surely known by: external ids, then the part of its domain that was registered. */
export function companyKeys(company: JsonObject): string[] {
  const { domain } = company
  return [
    ...externalKeys(company).map((key) => `company ${key}`),
    ...(typeof domain === 'string' ? [`company domain ${domainKey(domain)}`] : []),
  ]
}

/** What a company is known by when nothing better is: its name, or one that it had until a person changed it. */
export const companyNameKey = (name: string): string => `company name ${name}`
export const formerCompanyNameKey = (digest: string): string => `company formerly ${digest}`

const externalKeys = ({ externalIds }: JsonObject): string[] =>
  Object.entries(objectOf(externalIds)).map(([provider, value]) => `external ${provider} ${String(value)}`)

/** The records of a batch by their keys: found by those that they have now, not by those that they had. */
export class KeyedDrafts {
  readonly #byKey = new Map<string, Set<Draft>>()
  readonly #keys = new Map<Draft, readonly string[]>()

  /** Files the record under these keys and no others. */
  put(draft: Draft, keys: readonly string[]): void {
    for (const key of this.#keys.get(draft) ?? []) this.#byKey.get(key)?.delete(draft)
    this.#keys.set(draft, keys)
    for (const key of keys) {
      const drafts = this.#byKey.get(key) ?? new Set()
      drafts.add(draft)
      this.#byKey.set(key, drafts)
    }
  }

  /** Every record that has one of the keys. */
  find(keys: readonly string[]): Draft[] {
    return [...new Set(keys.flatMap((key) => [...(this.#byKey.get(key) ?? [])]))]
  }
}

/** The companies that a payload may mean: none for a new one, several when its keys are several companies'. */
export function findCompanies(known: KeyedDrafts, company: JsonObject): Draft[] {
  const { name, domain } = identityOf(company)
  const identified = { ...company, ...(domain !== undefined && { domain }) }
  const found = known.find(companyKeys(identified))
  if (found.length > 0 || name === undefined) return found
  const named = known.find([companyNameKey(name)]).filter((draft) => !isDifferentCompany(draft, identified))
  if (named.length > 0) return named
  return known.find([formerCompanyNameKey(digestOf(name))]).filter((draft) => !isDifferentCompany(draft, identified))
}

/** Two domains, or two ids of one provider: then it is another company of the same name, unless a person changed them. */
function isDifferentCompany({ state, edits }: Draft, company: JsonObject): boolean {
  const { domain } = company
  const hasOtherDomain = typeof domain === 'string' && typeof state.domain === 'string'
  if (hasOtherDomain && !edits.hasValue('domain', domain)) return true
  return contradictions(state, company).some(
    (provider) =>
      !edits.hasValue('externalIds', externalIdText(provider, objectOf(company.externalIds)[provider] ?? null)),
  )
}

/** The providers of which the record has another id than what was pushed says. */
export function contradictions(state: Readonly<JsonObject>, pushed: JsonObject): string[] {
  const present = objectOf(state.externalIds)
  return Object.entries(objectOf(pushed.externalIds)).flatMap(([provider, value]) =>
    Object.hasOwn(present, provider) && present[provider] !== value ? [provider] : [],
  )
}
