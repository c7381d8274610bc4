import type { JsonObject } from '../../platform/model/fields.ts'
import type { BodyFault } from '../../platform/model/errors.ts'
import type { Prepared } from '../../platform/model/define.ts'
import { emailKey } from '../../platform/model/texts.ts'

/** Characters that a first or a last name may have. */
export const longestPart = 250

/** What the declaration of a contact cannot say: the parts of a name, the folded address, what makes a contact findable. */
export function prepareContact(values: JsonObject, current: JsonObject | undefined): Prepared {
  const named: JsonObject = { ...values, ...names(values, current) }
  const after: JsonObject = { ...current, ...named }
  const faults: BodyFault[] = []
  if (after.email === null && after.phone === null && after.name === null) {
    const field = current
      ? (Object.keys(values).find((name) => name === 'email' || name === 'phone') ?? 'name')
      : 'email'
    faults.push({ field, message: 'a contact requires an email, a phone or a name', missing: current === undefined })
  }
  const parts = [named.firstName, named.lastName]
  if (parts.some((part) => typeof part === 'string' && [...part].length > longestPart)) {
    faults.push({
      field: 'name',
      message: `expected at most ${longestPart} characters each in its first and last part`,
    })
  }
  const { email } = values
  // An unchanged address keeps its person; a contact without an address would get a new one.
  if (email === undefined || (current && email === current.email)) return { values: named, faults }
  return { values: named, hidden: { email_key: typeof email === 'string' ? emailKey(email) : null }, faults }
}

/** Does the request change the field? A new record starts with nulls, so null says nothing there. */
const isChange = (name: string, values: JsonObject, current: JsonObject | undefined): boolean =>
  current ? name in values && values[name] !== current[name] : values[name] !== null

/**
 * `name` follows `firstName` and `lastName` as long as it equals them joined; a new name is split at its last space, and
 * null clears it alone. A value sent back unchanged changes nothing. What the request sends is stored as sent, except
 * that a null name follows the parts when the same request changes one of them.
 */
function names(values: JsonObject, current: JsonObject | undefined): JsonObject {
  const changes = (name: string) => isChange(name, values, current)
  if (typeof values.name === 'string') {
    if (!changes('name')) return {}
    const isSent = (half: string) => (current ? half in values : values[half] !== null)
    return Object.fromEntries(Object.entries(split(values.name)).filter(([half]) => !isSent(half)))
  }
  if (!changes('firstName') && !changes('lastName')) return {}
  const follows = !current || current.name === null || 'name' in values || current.name === joined(current)
  return follows ? { name: joined({ ...current, ...values }) } : {}
}

function joined({ firstName, lastName }: JsonObject): string | null {
  const text = [firstName, lastName].filter((part) => typeof part === 'string').join(' ')
  return text === '' ? null : text
}

function split(name: string): JsonObject {
  const trimmed = name.trim()
  const space = trimmed.lastIndexOf(' ')
  if (space < 0) return { firstName: trimmed, lastName: null }
  return { firstName: trimmed.slice(0, space).trim(), lastName: trimmed.slice(space + 1) }
}
