import type { BodyFault } from '../../platform/http/errors.ts'
import type { AnyRow, Prepared } from '../../platform/resource/define.ts'
import type { JsonValue } from '../../platform/resource/fields.ts'
import { emailKey } from '../../platform/resource/texts.ts'

/** Characters that a first or a last name may have. */
export const longestPart = 250

/** What the declaration of a contact cannot say: the parts of a name, the folded address, what makes a contact findable. */
export function prepareContact(values: AnyRow, current: AnyRow | undefined): Prepared {
  const named: AnyRow = { ...values, ...names(values, current) }
  const after: AnyRow = { ...current, ...named }
  const faults: BodyFault[] = []
  if (after.email === null && after.phone === null && after.name === null) {
    const field = current
      ? (Object.keys(values).find((name) => name === 'email' || name === 'phone') ?? 'name')
      : 'email'
    faults.push({ field, message: 'a contact needs an email, a phone or a name', missing: current === undefined })
  }
  const parts = [named.firstName, named.lastName]
  if (parts.some((part) => typeof part === 'string' && [...part].length > longestPart)) {
    faults.push({ field: 'name', message: `its first and last part must have at most ${longestPart} characters each` })
  }
  const { email } = values
  if (email === undefined) return { values: named, faults }
  return { values: named, hidden: { email_key: typeof email === 'string' ? emailKey(email) : null }, faults }
}

/**
 * `name` follows `firstName` and `lastName` as long as it says what they say; a name that is set is split at its last
 * space. What the same request says outright always stands.
 */
function names(values: AnyRow, current: AnyRow | undefined): AnyRow {
  const given = (name: string) => (current ? name in values : values[name] !== null)
  const parts = given('firstName') || given('lastName')
  const firstName = values.firstName ?? (given('firstName') ? null : (current?.firstName ?? null))
  const lastName = values.lastName ?? (given('lastName') ? null : (current?.lastName ?? null))
  if (given('name') && values.name !== null) {
    const halves = split(String(values.name))
    return Object.fromEntries(Object.entries(halves).filter(([half]) => !given(half)))
  }
  if (given('name')) {
    // Cleared: it follows the parts again, and without parts it is gone; alone, it takes its parts with it.
    return parts ? { name: joined(firstName, lastName) } : { firstName: null, lastName: null }
  }
  if (!parts) return {}
  const follows = !current || current.name === null || current.name === joined(current.firstName, current.lastName)
  return follows ? { name: joined(firstName, lastName) } : {}
}

function joined(firstName: JsonValue | undefined, lastName: JsonValue | undefined): string | null {
  const text = [firstName, lastName].filter((part) => typeof part === 'string').join(' ')
  return text === '' ? null : text
}

function split(name: string): AnyRow {
  const trimmed = name.trim()
  const space = trimmed.lastIndexOf(' ')
  if (space < 0) return { firstName: trimmed, lastName: null }
  return { firstName: trimmed.slice(0, space).trim(), lastName: trimmed.slice(space + 1) }
}
