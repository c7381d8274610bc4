import { emailKey } from '../../platform/model/normalizers.ts'
import { domainKey } from '../../crm/companies/resource.ts'
import { handles } from '../payload/payload-fields.ts'
import type { JsonValue } from '../../platform/model/json.ts'

/** Fields whose values have several spellings, and the key that is equal for all of them. */
const comparisonKeys: Readonly<Record<string, (value: string) => string>> = {
  email: emailKey,
  domain: domainKey,
  annualRevenue: decimalKey,
  fundingTotal: decimalKey,
  ...Object.fromEntries(handles.map((name) => [name, (handle: string) => handle.toLowerCase()])),
}

/** Whether `present` contains the incoming value. A list does if it contains all its items. */
export function isStored(name: string, present: JsonValue | undefined, value: JsonValue): boolean {
  if (Array.isArray(value)) return Array.isArray(present) && value.every((item) => present.includes(item))
  if (present === value) return true
  const toKey = comparisonKeys[name]
  return (
    toKey !== undefined && typeof present === 'string' && typeof value === 'string' && toKey(present) === toKey(value)
  )
}

/** `1250.50` and `1250.5` are the same number. */
function decimalKey(value: string): string {
  return value.includes('.') ? value.replace(/\.?0+$/, '') : value
}
