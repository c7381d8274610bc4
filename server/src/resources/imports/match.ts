import type { AnyRow } from '../../platform/resource/define.ts'
import { emailKey } from '../../platform/resource/texts.ts'
import { domainKey } from '../companies/resource.ts'
import { type Draft, objectOf } from './draft.ts'

/** What a contact is known by, the surer first: external ids, then the address. Within its team. */
export function contactKeys(contact: AnyRow, teamId: string): string[] {
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
export const handleKeys = (contact: AnyRow, teamId: string): string[] =>
  handleFields.flatMap((name) => {
    const handle = contact[name]
    return typeof handle === 'string' ? [`contact ${teamId} ${name} ${handle.toLowerCase()}`] : []
  })

/** What the contact of a payload is looked for by. */
export function lookedForBy(contact: AnyRow, teamId: string): string[] {
  const keys = contactKeys(contact, teamId)
  return keys.length > 0 ? keys : handleKeys(contact, teamId)
}

/** What a company is surely known by: external ids, then the part of its domain that was registered. */
export function companyKeys(company: AnyRow): string[] {
  const { domain } = company
  return [
    ...externalKeys(company).map((key) => `company ${key}`),
    ...(typeof domain === 'string' ? [`company domain ${domainKey(domain)}`] : []),
  ]
}

/** What a company is known by when nothing better is. */
export const companyNameKey = (company: AnyRow): string | undefined =>
  typeof company.name === 'string' ? `company name ${company.name}` : undefined

const externalKeys = ({ externalIds }: AnyRow): string[] =>
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

/** The company that a payload means, undefined when it is a new one; `ambiguous` when its keys are several companies'. */
export function findCompany(known: KeyedDrafts, company: AnyRow): Draft | 'ambiguous' | undefined {
  const [found, ...others] = known.find(companyKeys(company))
  if (others.length > 0) return 'ambiguous'
  if (found) return found
  const name = companyNameKey(company)
  if (name === undefined) return undefined
  const [named, ...namesakes] = known
    .find([name])
    .filter(({ state }) => state.name === company.name && !contradicts(state, company))
  return namesakes.length > 0 ? 'ambiguous' : named
}

/** Two domains, or two ids of one provider: then it is another company of the same name. */
function contradicts(state: AnyRow, company: AnyRow): boolean {
  if (typeof state.domain === 'string' && typeof company.domain === 'string') return true
  const present = objectOf(state.externalIds)
  return Object.entries(objectOf(company.externalIds)).some(
    ([provider, value]) => Object.hasOwn(present, provider) && present[provider] !== value,
  )
}
