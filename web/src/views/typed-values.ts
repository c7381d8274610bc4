import { Unreadable, type NumberRules, useNumbers } from '../ui/use-numbers.ts'
import { itemsOfText, textOfItems } from './lists-as-text.ts'
import type { Property } from './property.ts'

/** The text of an input for a value. */
export function textOfValue(value: unknown): string {
  if (Array.isArray(value)) return textOfItems(value.map(String))
  return value === null || value === undefined ? '' : String(value)
}

/** The type of the browser's input for a value; days and times have their own. */
export const inputTypeOf = ({ type }: Property): 'date' | 'datetime-local' | 'text' =>
  type === 'date' ? 'date' : type === 'timestamp' ? 'datetime-local' : 'text'

const numberTypes: readonly string[] = ['number', 'integer', 'decimal']

export const isNumber = ({ type }: Property): boolean => numberTypes.includes(type)

const numberOr = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

/** The rules for a property's numbers. `currency`: from its record. */
export function rulesOf({ type, field }: Property, currency?: string): NumberRules {
  const { minimum, maximum } = field?.limits ?? {}
  return { isWhole: type === 'integer', minimum: numberOr(minimum), maximum: numberOr(maximum), currency }
}

/** Converts between values and text in the page's language; an empty text clears a value. */
export function useTypedValues(property: Property, currency?: string) {
  const numbers = useNumbers()
  return {
    textOf(value: unknown): string {
      if (value instanceof Unreadable) return String(value.entered)
      return isNumber(property) ? numbers.write(value) : textForInput(property, value)
    },
    /** `Unreadable` if the text is invalid. */
    valueOf(text: string): unknown {
      if (!isNumber(property) || text.trim() === '') return valueOfText(property, text)
      const rules = rulesOf(property, currency)
      if (property.type !== 'decimal') return numbers.readJson(text, rules)
      const read = numbers.read(text, rules)
      return read instanceof Unreadable ? read : read.decimal
    },
  }
}

/** The text of the input for a value: for an instant, day and time in this browser's zone. */
function textForInput(property: Property, value: unknown): string {
  const text = textOfValue(value)
  const time = inputTypeOf(property) === 'datetime-local' ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) return text
  const local = new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString()
  return local.slice(0, local.slice(17, 19) === '00' ? 16 : 19)
}

/** The value of a text, for all types except numbers. */
export function valueOfText({ type, field }: Property, text: string): unknown {
  const trimmed = text.trim()
  if (type === 'timestamp' && trimmed !== '') return new Date(trimmed).toISOString()
  if (type === 'list') return itemsOfText(trimmed)
  if (trimmed === '') return field?.clearable === false && type === 'text' ? '' : null
  return trimmed
}
