import type { BodyError } from '../../platform/model/errors.ts'
import type { Prepared } from '../../platform/records/declare/define.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { trimmed } from '../../platform/model/text.ts'
import { prepareAddresses } from './addresses.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** Maximum number of characters of a first or last name. */
export const maxNamePartLength = 250

/** Rules of contacts that the declaration cannot express: name parts, the email key, and the required fields. */
export function prepareContact(sent: JsonObject, current: JsonObject | undefined): Prepared {
  const addresses = prepareAddresses(sent, current)
  const { values } = addresses
  const withNames: JsonObject = { ...values, ...deriveNames(values, current) }
  const result: JsonObject = { ...current, ...withNames }
  const errors: BodyError[] = [...addresses.errors]
  if (result.email === null && result.phone === null && result.name === null) {
    const field = current
      ? (Object.keys(values).find((name) => name === 'email' || name === 'phone') ?? 'name')
      : 'email'
    errors.push({ field, message: 'a contact requires an email, a phone or a name', missing: current === undefined })
  }
  const parts = [withNames.firstName, withNames.lastName]
  if (parts.some((part) => typeof part === 'string' && [...part].length > maxNamePartLength)) {
    errors.push({
      field: 'name',
      message: `expected at most ${maxNamePartLength} characters each in its first and last part`,
    })
  }
  const { hidden } = addresses
  const { email } = values
  // An unchanged address keeps its root contact; a contact without an address would get a new one.
  if (email === undefined || (current && email === current.email)) return { values: withNames, hidden, errors }
  const key = typeof email === 'string' ? emailKey(email) : null
  return { values: withNames, hidden: { ...hidden, email_key: key }, errors }
}

/** Whether the request changes the field. In a new record, null means that the field was not sent. */
const isChange = (name: string, values: JsonObject, current: JsonObject | undefined): boolean =>
  current ? name in values && values[name] !== current[name] : values[name] !== null

/**
 * `name` follows `firstName` and `lastName` as long as it equals them joined. A new name is split where the last name
 * began before if that is still in it, otherwise at its last space; a null name clears only the name. A value that is sent back unchanged changes nothing. Values are stored as sent,
 * except that a null name follows the parts if the same request changes one of them.
 */
function deriveNames(values: JsonObject, current: JsonObject | undefined): JsonObject {
  const isChanged = (name: string) => isChange(name, values, current)
  if (typeof values.name === 'string') {
    if (!isChanged('name')) return {}
    const isSent = (part: string) => (current ? part in values : values[part] !== null)
    const parts = current ? keepBoundary(values.name, current) : undefined
    return Object.fromEntries(Object.entries(parts ?? splitName(values.name)).filter(([part]) => !isSent(part)))
  }
  if (!isChanged('firstName') && !isChanged('lastName')) return {}
  const followsParts = !current || current.name === null || 'name' in values || current.name === joinNames(current)
  return followsParts ? { name: joinNames({ ...current, ...values }) } : {}
}

function joinNames({ firstName, lastName }: JsonObject): string | null {
  const text = [firstName, lastName].filter((part) => typeof part === 'string').join(' ')
  return text === '' ? null : text
}

/** Every space separates, also the ideographic one (U+3000). */
function splitName(name: string): JsonObject {
  const text = trimmed(name)
  const [last = ''] = /[^\s\u0085\u2800]+$/u.exec(text) ?? []
  const first = trimmed(text.slice(0, text.length - last.length))
  return first === '' ? { firstName: text, lastName: null } : { firstName: first, lastName: last }
}

/** The parts of a corrected name that still ends with the last name, or begins with the first one. */
function keepBoundary(name: string, { firstName, lastName }: JsonObject): JsonObject | undefined {
  if (typeof firstName !== 'string' || typeof lastName !== 'string') return undefined
  const words = wordsOf(name)
  const [first, last] = [wordsOf(firstName), wordsOf(lastName)]
  const splitAt = (index: number): JsonObject | undefined =>
    index > 0 && index < words.length
      ? { firstName: textOf(name, words.slice(0, index)), lastName: textOf(name, words.slice(index)) }
      : undefined
  if (sameWords(words.slice(-last.length), last)) return splitAt(words.length - last.length)
  return sameWords(words.slice(0, first.length), first) ? splitAt(first.length) : undefined
}

interface Word {
  text: string
  start: number
}

const wordsOf = (text: string): Word[] =>
  [...text.matchAll(/[^\s\u0085\u2800]+/gu)].map(({ 0: word, index }) => ({ text: word, start: index }))

const textOf = (name: string, words: readonly Word[]): string => {
  const [from, to] = [words[0], words.at(-1)]
  return from && to ? name.slice(from.start, to.start + to.text.length) : ''
}

const sameWords = (some: readonly Word[], others: readonly Word[]): boolean =>
  some.length === others.length && some.every(({ text }, index) => folded(text) === folded(others[index]?.text ?? ''))

/** Close to the folding of searches: a corrected accent or capital does not move the boundary. */
const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replace(/[‘’ʼ`´′]/g, "'")
    .replace(/[‐‑–—−]/g, '-')
