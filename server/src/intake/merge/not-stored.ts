import type { NotStored, Reason } from './draft.ts'
import { type Finding, finding } from '../imports/resource.ts'

/** The warning that a value of the payload was not stored. */
export function notStored(path: string, reason: Reason): Finding {
  switch (reason) {
    case 'present':
      return finding('existing_value_kept', path, 'not stored: the record already has a different value')
    case 'edited':
      return finding('edit_kept', path, 'not stored: a person changed or removed this')
    case 'full':
      return finding('unusable_value', path, 'not added: the record would exceed its limits')
  }
}

/** Paths of contact fields that differ from `contact.<field>`. */
const contactPaths: Readonly<Record<string, string>> = {
  companyId: 'company',
  employmentTitle: 'employment.title',
  employmentSeniority: 'employment.seniority',
}

/** The warnings for values of a contact or company that were not stored. */
export const allNotStored = (part: 'contact' | 'company', found: readonly NotStored[]): Finding[] =>
  found.map(({ field, provider, reason }) => notStored(pathOf(part, field, provider), reason))

function pathOf(part: 'contact' | 'company', field: string, provider: string | undefined): string {
  if (provider !== undefined) return externalIdPath(part, provider)
  return (part === 'contact' ? contactPaths[field] : undefined) ?? `${part}.${field}`
}

/** Path of the external id of a provider. */
export const externalIdPath = (part: 'contact' | 'company', provider: string): string =>
  `${part}.externalId${provider.charAt(0).toUpperCase()}${provider.slice(1)}`

/** Warnings about what is stored with the row, although no record has a field for it, or holds no information. */
const storedWithRow: readonly string[] = ['unknown_member', 'unknown_parameter', 'ignored_key', 'placeholder']

/** Whether everything in the push is stored. */
export const isAllStored = (warnings: readonly Finding[]): boolean =>
  warnings.every(({ code }) => storedWithRow.includes(code))
