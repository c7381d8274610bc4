import { decodeId } from '../../model/ids.ts'
import { withoutFoldedMarks } from './folded-marks.ts'
import { fragmentForm, propertyForm, toStoredForm } from './stored-form.ts'
import { ListError, splitList } from '../request/query-string.ts'
import { type Operator, takesList } from './operators.ts'
import { parseRelativeDate, type RelativeDate } from './relative-dates.ts'
import type { Target } from './target.ts'
import type { JsonObject, JsonValue, Schema } from '../../model/json.ts'
import type { FilterType } from '../declare/field.ts'

/** An instant, or a whole UTC day. `end` is exclusive; an instant has none. */
export interface TimeSpan {
  start: string
  end?: string
}

/** The value of a filter, parsed for its field's type. Invalid ids match nothing and are dropped. */
export type Operand =
  | { kind: 'null' }
  | { kind: 'text'; value: string }
  | { kind: 'texts'; values: readonly string[] }
  | { kind: 'ids'; values: readonly string[] }
  | { kind: 'number'; value: string }
  | { kind: 'numbers'; values: readonly string[] }
  | { kind: 'boolean'; value: boolean }
  | { kind: 'span'; span: TimeSpan }
  /** Replaced by its span before the filter becomes SQL. */
  | { kind: 'relative'; date: RelativeDate }

const comparisons: readonly Operator[] = ['gt', 'gte', 'lt', 'lte']
const maxValues = 100

/** A filter's value as a URL or a body writes it: nothing, one value, a list or a relative date. */
export type WrittenValue =
  | { kind: 'null' }
  | { kind: 'one'; text: string }
  | { kind: 'list'; texts: readonly string[] }
  | { kind: 'relative'; date: RelativeDate }

type Read<Value> = Value | { error: string }

/** The value of a URL parameter, in which everything is text. */
export function writtenInUrl(target: Target, operator: Operator, text: string): Read<WrittenValue> {
  if (text === 'null' && takesNull(target, operator)) return { kind: 'null' }
  if (!takesList(operator) || text === '') return { kind: 'one', text }
  try {
    return { kind: 'list', texts: splitList(text) }
  } catch (error) {
    if (error instanceof ListError) return { error: error.message }
    throw error
  }
}

/** The value in a body, which has the JSON type of the field; a decimal may be text, as in responses. */
export function writtenInJson(target: Target, operator: Operator, value: JsonValue): Read<WrittenValue> {
  if (value === null) return takesNull(target, operator) ? { kind: 'null' } : { error: 'must not be null' }
  const isDate = target.field.filter === 'date' || target.field.filter === 'properties'
  if (isDate && isObject(value) && (operator === 'equals' || comparisons.includes(operator))) {
    const date = parseRelativeDate(value)
    return 'error' in date ? date : { kind: 'relative', date }
  }
  if (!takesList(operator)) {
    const read = scalarText(target, operator, value)
    return typeof read === 'string' ? { kind: 'one', text: read } : read
  }
  if (!Array.isArray(value) || value.length === 0) return { error: 'expected a list of at least one value' }
  if (value.length > maxValues) return tooManyValues
  const texts = value.map((item) => scalarText(target, operator, item))
  const bad = texts.find((text) => typeof text !== 'string')
  if (bad !== undefined) return bad
  if (texts.includes('')) return { error: 'the list contains an empty value' }
  return { kind: 'list', texts: texts.filter((text) => typeof text === 'string') }
}

const tooManyValues = { error: `expected at most ${maxValues} values` }

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A value as it would be written in a URL, if it has a type that the filter compares with. */
function scalarText({ field: { filter } }: Target, operator: Operator, value: JsonValue): Read<string> {
  const types =
    operator === 'isEmpty' || filter === 'boolean'
      ? ['boolean']
      : filter === 'number'
        ? ['number', 'string']
        : filter === 'properties' && !isPattern(operator)
          ? ['string', 'number', 'boolean']
          : ['string']
  if (types.includes(typeof value)) return String(value)
  return { error: `expected ${types.map((type) => typeNames[type]).join(' or ')}` }
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
}

/** Only a nullable choice can be compared with null; for other fields, the filter then matches no record. */
const takesNull = (target: Target, operator: Operator): boolean =>
  isExact(operator) && (!choicesOf(target) || target.nullable)

export function parseOperand(target: Target, operator: Operator, written: WrittenValue): Read<Operand> {
  if (written.kind === 'null' || written.kind === 'relative') return written
  const texts = written.kind === 'list' ? written.texts : [written.text]
  const [value = ''] = texts
  if (value === '') return { error: 'expected a value' }
  const type = target.field.filter
  if (isPattern(operator) && isEmptyAfterFolding(value))
    return { error: 'expected a search term with at least one letter, digit or sign besides accents' }
  if (operator === 'isEmpty') return parseBoolean(value)
  const operand = written.kind === 'list' ? parseList(target, type, texts) : parseOne(target, type, operator, value)
  const choices = choicesOf(target)
  return choices && !isPattern(operator) ? amongChoices(choices, operand) : operand
}

/** Ignores case unless two choices differ by it only. */
function amongChoices(choices: readonly unknown[], operand: Read<Operand>): Read<Operand> {
  const formOf = (text: string): string | undefined => {
    if (choices.includes(text)) return text
    const same = choices.filter((choice) => String(choice).toLowerCase() === text.toLowerCase())
    return same.length === 1 ? String(same[0]) : undefined
  }
  if ('error' in operand) return operand
  const bad = textsOf(operand).find((text) => formOf(text) === undefined)
  if (bad !== undefined) return { error: `expected one of ${choices.join(', ')}; found "${bad.slice(0, 40)}"` }
  if (operand.kind === 'text') return { kind: 'text', value: formOf(operand.value) ?? operand.value }
  return operand.kind === 'texts'
    ? { kind: 'texts', values: operand.values.map((text) => formOf(text) ?? text) }
    : operand
}

function choicesOf({ field: { schema } }: Target): readonly unknown[] | undefined {
  const choices = schema.enum ?? (schema.items as Schema | undefined)?.enum
  return Array.isArray(choices) ? (choices as unknown[]) : undefined
}

export const textsOf = (operand: Operand): readonly string[] =>
  operand.kind === 'texts' ? operand.values : operand.kind === 'text' ? [operand.value] : []

export const isPattern = (operator: Operator): boolean => ['contains', 'startsWith', 'endsWith'].includes(operator)

export const isEmptyAfterFolding = (text: string): boolean => withoutFoldedMarks(text) === ''

function parseOne(target: Target, type: FilterType, operator: Operator, value: string): Read<Operand> {
  switch (type) {
    case 'id':
      if (operator !== 'equals' && operator !== 'not') return { kind: 'text', value }
      return { kind: 'ids', values: parseIds(target, [value]) }
    case 'number':
      return isNumber(value) ? { kind: 'number', value } : { error: 'expected a number' }
    case 'boolean':
      return parseBoolean(value)
    case 'date':
      if (operator === 'not') return { error: 'supports only null for a date' }
      return spanOperand(value)
    case 'properties':
      if (comparisons.includes(operator)) return parseComparable(value)
      return { kind: 'text', value: isPattern(operator) ? value : propertyForm(target.field, value) }
    default: {
      const form = isPattern(operator)
        ? { value: fragmentForm(target.field, value) }
        : toStoredForm(target.field, value)
      return 'error' in form ? form : { kind: 'text', value: form.value }
    }
  }
}

const isExact = (operator: Operator): boolean => operator === 'equals' || operator === 'not'

function parseList(target: Target, type: FilterType, values: readonly string[]): Read<Operand> {
  if (values.length > maxValues) return tooManyValues
  if (type === 'id') return { kind: 'ids', values: parseIds(target, values) }
  if (type === 'number') {
    const bad = values.find((item) => !isNumber(item))
    return bad === undefined ? { kind: 'numbers', values } : { error: `expected numbers; found "${bad.slice(0, 40)}"` }
  }
  if (type === 'properties') return { kind: 'texts', values: values.map((item) => propertyForm(target.field, item)) }
  const forms = values.map((item) => toStoredForm(target.field, item))
  const bad = forms.find((form) => 'error' in form)
  return bad && 'error' in bad
    ? bad
    : { kind: 'texts', values: forms.flatMap((form) => ('value' in form ? form.value : [])) }
}

/** The uuids of the ids; an invalid id matches nothing. */
const parseIds = (target: Target, values: readonly string[]): string[] =>
  values.flatMap((value) => decodeId(target.field.idPrefix ?? '', value) ?? [])

function parseBoolean(value: string): Read<Operand> {
  return value === 'true' || value === 'false'
    ? { kind: 'boolean', value: value === 'true' }
    : { error: 'expected true or false' }
}

function parseComparable(value: string): Read<Operand> {
  if (isNumber(value)) return { kind: 'number', value }
  const span = spanOperand(value)
  return 'error' in span ? { error: 'expected a number or an ISO 8601 date or timestamp' } : span
}

/** A decimal that PostgreSQL parses as we do, within a double's range so that no cast overflows. */
export const isNumber = (value: string): boolean =>
  value.length <= 40 && /^-?\d+(\.\d+)?([eE][+-]?\d{1,3})?$/.test(value) && Number.isFinite(Number(value))

const dateForm = /^(\d{4})-(\d{2})-(\d{2})$/
const timestampForm = /^(\d{4}-\d{2}-\d{2})T(\d{2}):(\d{2})(?::(\d{2})(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?$/
const day = 86_400_000

/** A date is its whole UTC day; a timestamp without a time zone is in UTC. */
export function parseSpan(value: string): TimeSpan | undefined {
  if (dateForm.test(value)) {
    const start = new Date(`${value}T00:00:00Z`)
    if (Number.isNaN(start.getTime()) || start.toISOString().slice(0, 10) !== value || value < '0001') return undefined
    return {
      start: start.toISOString(),
      end: new Date(start.getTime() + day).toISOString().replace(/^\+0*(\d{5})/, '$1'),
    }
  }
  const match = timestampForm.exec(value)
  if (!match) return undefined
  const [, date = '', hours = '', minutes = '', seconds = '00', fraction = '', zone = 'Z'] = match
  if (!parseSpan(date) || Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined
  const [, sign, zoneHours = '00', zoneMinutes = '00'] = /^([+-])(\d{2}):?(\d{2})$/.exec(zone) ?? []
  if (Number(zoneHours) > 15 || Number(zoneMinutes) > 59) return undefined
  return {
    start: `${date}T${hours}:${minutes}:${seconds}${fraction}${sign ? `${sign}${zoneHours}:${zoneMinutes}` : 'Z'}`,
  }
}

/** The UTC day of a date without a time. */
export function dayOf(value: string): TimeSpan | undefined {
  return dateForm.test(value) ? parseSpan(value) : undefined
}

function spanOperand(value: string): Read<Operand> {
  const span = parseSpan(value)
  if (span) return { kind: 'span', span }
  const hint = / \d{2}:?\d{2}$/.test(value) ? ' (write + as %2B in a URL)' : ''
  return { error: `expected an ISO 8601 date or timestamp, such as 2026-11-21 or 2026-11-21T09:30:00Z${hint}` }
}

/** One filter of a request: a field, an operator and a parsed value. */
export interface Condition {
  target: Target
  operator: Operator
  operand: Operand
}
