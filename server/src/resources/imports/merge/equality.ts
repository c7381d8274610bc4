import type { JsonValue } from '../../../platform/model/fields.ts'
import { emailKey } from '../../../platform/model/normalizers.ts'
import { domainKey } from '../../companies/resource.ts'
import { handles } from '../payload/payload-fields.ts'

/** Fields whose values can be spelt in several ways, and what is the same for all spellings. */
const comparisonKeys: Readonly<Record<string, (value: string) => string>> = {
  email: emailKey,
  domain: domainKey,
  annualRevenue: decimalKey,
  fundingTotal: decimalKey,
  ...Object.fromEntries(handles.map((name) => [name, (handle: string) => handle.toLowerCase()])),
}

/** Does a record that has `present` hold what the incoming value says? A list does that holds all of its words. */
export function isStored(name: string, present: JsonValue | undefined, value: JsonValue): boolean {
  if (Array.isArray(value)) return Array.isArray(present) && value.every((item) => present.includes(item))
  if (present === value) return true
  const toKey = comparisonKeys[name]
  return (
    toKey !== undefined && typeof present === 'string' && typeof value === 'string' && toKey(present) === toKey(value)
  )
}

/** `1250.50` and `1250.5` are one number. */
function decimalKey(value: string): string {
  return value.includes('.') ? value.replace(/\.?0+$/, '') : value
}
