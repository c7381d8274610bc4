import { parseMonth, parseYear } from './months.ts'
import { plainNumber } from './numbers.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'
import type { Field } from '../../platform/records/declare/field.ts'

/** A value in the JSON type of its field; null if the sender's value is empty. */
export interface Converted {
  value: JsonValue
  /** What the value loses. */
  loss?: string
}

/** The converted value, why it has to be left out, or undefined if its type is wrong. */
export type Conversion = Converted | { leftOut: string } | undefined

/**
 * Converts what a sender means without loss or doubt: numbers and strings of each other, one value and a list of it,
 * words and booleans, dates and months. docs/guides/imports.md has the table.
 */
export function convert(field: Field, given: JsonValue): Conversion {
  if (field.type === 'list') return toList(given)
  const value = onlyItem(given)
  if (value === null || (typeof value === 'string' && value.trim() === '')) return { value: null }
  if (field.type === 'boolean') return toBoolean(value)
  if (field.type === 'properties') return toObject(value)
  if (value === false) return { leftOut: 'false stands for a missing value' }
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  switch (field.type) {
    case 'integer':
      return toInteger(value, field)
    case 'number':
      return toNumber(value)
    case 'decimal':
      return { value: plainNumber(String(value)) ?? String(value) }
    case 'month':
      return toMonth(value)
    default:
      return { value: typeof value === 'string' ? value : (plainNumber(String(value)) ?? String(value)) }
  }
}

/** The only item of a list; null for an empty list or object, as some languages write a missing value. */
export function onlyItem(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value)) return Object.keys(value).length === 0 ? null : value
  if (value.length > 1) return value
  const [first = null] = value
  return Array.isArray(first) ? value : onlyItem(first)
}

/** Maximum number of list items that are converted and validated; of the rest, only the type is checked. */
export const maxExaminedItems = 1000

/** Items keep their positions, for paths of warnings. Undefined items have a wrong type. */
export function toList(value: JsonValue): Conversion {
  if (Array.isArray(value)) return { value: value.map(itemText) }
  if (typeof value === 'number') return { value: [textOf(value)] }
  if (value === false) return { leftOut: 'false stands for a missing value' }
  if (typeof value !== 'string') return onlyItem(value) === null ? { value: null } : undefined
  if (value.trim() === '') return { value: null }
  // A comma may be part of the value, so only JSON is a list.
  const parsed = /^\s*\[/.test(value) ? parsedJson(value) : undefined
  return Array.isArray(parsed) ? toList(parsed) : { value: [value] }
}

const itemText = (item: JsonValue, index: number): JsonValue =>
  typeof item === 'number' && index < maxExaminedItems ? textOf(item) : item

const textOf = (value: number): string => plainNumber(String(value)) ?? String(value)

function toObject(value: JsonValue): Conversion {
  const parsed = typeof value === 'string' ? parsedJson(value) : value
  return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? { value: parsed } : undefined
}

function parsedJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}

const spellings: readonly (readonly [boolean, string])[] = [
  [true, 'true 1 yes y t on ja wahr oui si sí sim'],
  [false, 'false 0 no n f off nein falsch non não'],
]
const booleans = new Map(spellings.flatMap(([value, words]) => words.split(' ').map((word) => [word, value] as const)))

function toBoolean(value: JsonValue): Conversion {
  if (typeof value === 'boolean') return { value }
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const found = booleans.get(String(value).trim().toLowerCase())
  return found === undefined ? undefined : { value: found }
}

function toNumber(value: string | number): Conversion {
  const text = plainNumber(String(value))
  return text === undefined ? undefined : { value: Number(text) }
}

/** `51.0` is an integer. A year may be the year of a date. */
function toInteger(value: string | number, { schema }: Field): Conversion {
  if (typeof value === 'number') return Number.isInteger(value) ? { value } : undefined
  const text = plainNumber(value)?.replace(/\.0*$/, '')
  if (text !== undefined) return /^[+-]?\d+$/.test(text) ? { value: Number(text) } : undefined
  const read = schema.maximum === 9999 ? parseYear(value) : undefined
  return read && { value: read.year, loss: 'only the year was stored' }
}

function toMonth(value: string | number): Conversion {
  if (
    typeof value === 'string' &&
    /^(?:present|current|now|today|ongoing|heute|aktuell|actuel|actual)$/i.test(value.trim())
  )
    return { leftOut: 'is not a month' }
  const read = parseMonth(value)
  if (!read) return typeof value === 'string' ? { value } : undefined
  if ('unknown' in read) return { leftOut: read.unknown }
  return { value: read.month, ...(read.isShortened && { loss: 'only the month was stored' }) }
}

/** An object that is the only item of a list, or a text that stands for one of its properties; null if empty. */
export function toPart(given: JsonValue, textProperty: string | undefined): JsonObject | null | undefined {
  const value = onlyItem(given)
  if (value === null || value === false || (typeof value === 'string' && value.trim() === '')) return null
  if (typeof value === 'string' && textProperty !== undefined) return { [textProperty]: value }
  return typeof value === 'object' && !Array.isArray(value) ? value : undefined
}
