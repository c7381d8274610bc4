import { type Operator, operatorsFor, operatorsOf } from '../src/platform/records/filter/operators.ts'
import type { Resource } from '../src/platform/records/declare/define.ts'
import type { FieldType } from '../src/platform/records/declare/field-types.ts'
import { fieldOf } from './samples.ts'
import type { JsonValue, JsonObject, Schema } from '../src/platform/model/json.ts'
import type { FilterType } from '../src/platform/records/declare/field.ts'

/** A path by which a list can be filtered or ordered, as documented. */
export interface Path {
  name: string
  type: FilterType
  /** What the field holds; a filter refuses what it never could. */
  holds: FieldType
  nullable: boolean
  operators: readonly Operator[]
  /** The possible values of an enum. */
  choices: readonly string[]
  /** Its order is that of the choices. */
  isRanked: boolean
  /** Decimals are sent as strings. */
  isDecimal: boolean
  /** The prefix of ids at this path. */
  prefix: string
}

/** Every path of a resource: its fields, those of embedded records and documents, and these keys of custom properties. */
export function pathsOf(resource: Resource, keys: readonly string[]): Path[] {
  return resource.propertyNames.flatMap((member): Path[] => {
    const embedded = resource.embedded[member]
    if (embedded) {
      const inner = embedded.show.map((name) => pathOf(embedded.resource, name, `${member}.${name}`, true))
      return [pathOf(embedded.resource, embedded.orderBy, member, true), ...inner]
    }
    const field = fieldOf(resource, member)
    const isRead = Object.values(resource.embedded).some(({ through }) => through === member)
    const own = pathOf(resource, member, member, field.nullable || isRead)
    if (field.filter === 'none')
      return [own, ...leavesOf(member, field.schema).map((name) => ({ ...inDocument, name }))]
    if (field.filter !== 'properties') return [own]
    const isFree = field.schema.additionalProperties === true
    return (isFree ? keys : ['billing']).map((key) => ({ ...own, name: `${member}.${key}`, nullable: true }))
  })
}

/** A value in a document is compared like a custom property without a definition. */
const inDocument = {
  type: 'properties' as const,
  holds: 'document' as const,
  nullable: true,
  operators: operatorsOf.properties,
  choices: [],
  isRanked: false,
  isDecimal: false,
  prefix: '',
}

/** The paths of a schema's values, at any depth, except lists, whose order is not documented. */
function leavesOf(parent: string, schema: Schema): string[] {
  return Object.entries((schema.properties ?? {}) as Record<string, Schema>).flatMap(([key, inner]) => {
    if (inner.type === 'array') return []
    return inner.properties === undefined ? [`${parent}.${key}`] : leavesOf(`${parent}.${key}`, inner)
  })
}

function pathOf(resource: Resource, fieldName: string, name: string, nullable: boolean): Path {
  const field = fieldOf(resource, fieldName)
  const { filter, databaseType, idPrefix = '', schema } = field
  return {
    name,
    type: filter,
    holds: field.type,
    nullable,
    operators: filter === 'none' && nullable ? ['equals', 'not'] : operatorsFor(field),
    choices: Array.isArray(schema.enum) ? schema.enum.map(String) : [],
    isRanked: field.ranks !== undefined,
    isDecimal: databaseType === 'numeric',
    prefix: idPrefix,
  }
}

/** The value at a path of a record in a response; the value of an embedded record is the field that it is ordered by. */
export function valueAt(resource: Resource, row: JsonObject, name: string): JsonValue {
  const embedded = resource.embedded[name]
  const path = embedded ? `${name}.${embedded.orderBy}` : name
  return path
    .split('.')
    .reduce<JsonValue>(
      (value, key) =>
        typeof value === 'object' && value !== null && !Array.isArray(value) ? (value[key] ?? null) : null,
      row,
    )
}

/** Removes case and accents, for the Latin letters in the samples. */
export const fold = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()

const toText = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value))
const toList = (value: JsonValue): JsonValue[] => (Array.isArray(value) ? value : [])
const isBlank = (value: JsonValue): boolean => ['null', '""', '[]', '{}'].includes(JSON.stringify(value))

/** Whether a value matches a filter. Implemented from the documentation, independent of the service. */
export function matchesFilter(path: Path, operator: string, text: string, value: JsonValue): boolean {
  const { type, isDecimal } = path
  const list = text.split(',')
  if (text === 'null' && operator === 'equals') return value === null
  if (text === 'null' && operator === 'not') return value !== null
  if (operator === 'not') return !matchesFilter(path, 'equals', text, value)
  if (operator === 'notIn') return !list.some((item) => isSame(type, value, item))
  switch (operator) {
    case 'equals':
      return isSame(type, value, text)
    case 'equalsIgnoreCase':
      return typeof value === 'string' && value.toLowerCase() === text.toLowerCase()
    case 'in':
      return list.some((item) => isSame(type, value, item))
    case 'contains':
      return typeof value === 'string' && fold(value).includes(fold(text))
    case 'startsWith':
      return typeof value === 'string' && fold(value).startsWith(fold(text))
    case 'endsWith':
      return typeof value === 'string' && fold(value).endsWith(fold(text))
    case 'has':
      return toList(value).some((item) => toText(item) === text)
    case 'hasEvery':
      return Array.isArray(value) && list.every((item) => value.some((one) => toText(one) === item))
    case 'hasSome':
      return toList(value).some((item) => list.includes(toText(item)))
    case 'isEmpty':
      return isBlank(value) === (text === 'true')
    default:
      return comparisonHolds(type, operator, text, isDecimal && value !== null ? Number(value) : value)
  }
}

function isSame(type: FilterType, value: JsonValue, text: string): boolean {
  if (value === null) return false
  if (type === 'number') return Number(value) === Number(text)
  if (type === 'date') {
    const [start, end] = dateRange(text)
    const at = Date.parse(String(value))
    return end === start ? at === start : at >= start && at < end
  }
  return toText(value) === text && typeof value !== 'object'
}

const isDateText = (value: JsonValue): boolean => typeof value === 'string' && /^\d{4}-/.test(value)

function comparisonHolds(type: FilterType, operator: string, text: string, value: JsonValue): boolean {
  if (value === null) return false
  const isDate = type === 'date' || (type === 'properties' && isDateText(text))
  if (type === 'properties' && !(isDate ? isDateText(value) : typeof value === 'number')) return false
  const [start, end] = isDate ? dateRange(text) : [Number(text), Number(text)]
  const at = isDate ? Date.parse(String(value)) : Number(value)
  const isDay = end > start
  if (operator === 'gt') return isDay ? at >= end : at > start
  if (operator === 'gte') return at >= start
  if (operator === 'lt') return at < start
  return isDay ? at < end : at <= start
}

/** The start and end of a date or, for a timestamp, twice the same moment. */
function dateRange(text: string): [number, number] {
  const start = Date.parse(text)
  return [start, text.length === 10 ? start + 86_400_000 : start]
}

/** The value of a filter in the body of a search, which the URL writes as text. */
export function jsonOperand({ type }: Path, operator: string, text: string): JsonValue {
  if (text === 'null' && (operator === 'equals' || operator === 'not')) return null
  if (operator === 'isEmpty' || type === 'boolean') return text === 'true'
  return ['in', 'notIn', 'hasSome', 'hasEvery'].includes(operator) ? text.split(',') : text
}

/** Operators and values for filters of a path: values that records have, one that none has, and null if supported. */
export function filtersFor(path: Path, values: readonly JsonValue[]): [operator: string, text: string][] {
  const present = values.filter((value) => !isBlank(value)).flatMap((value) => (Array.isArray(value) ? value : [value]))
  const known = [...new Set(present.filter((value) => typeof value !== 'object').map(toText))]
  const [first = absentValue(path), second = absentValue(path)] = [known[0], known.at(-1)]
  return path.operators.flatMap((operator) =>
    textsFor(path, operator, first, second).map((text): [string, string] => [operator, text]),
  )
}

function textsFor(path: Path, operator: string, first: string, second: string): string[] {
  const nulls = path.nullable ? ['null'] : []
  if (path.type === 'none') return nulls
  if (operator === 'isEmpty') return ['true', 'false']
  if (path.type === 'boolean') return ['true', 'false', ...nulls]
  if (['in', 'notIn', 'hasSome', 'hasEvery'].includes(operator)) return listsFor(path, first, second)
  if (['gt', 'gte', 'lt', 'lte'].includes(operator)) return comparandsFor(path, first, second)
  if (['contains', 'startsWith', 'endsWith'].includes(operator)) {
    return [first, first.slice(0, 2).toUpperCase(), second.slice(-3), second.slice(1, 4), '%', 'zzzz'].filter(Boolean)
  }
  if (operator === 'equalsIgnoreCase') return [first.toUpperCase(), second, absentValue(path)]
  if (path.type === 'date') return operator === 'not' ? nulls : [first, first.slice(0, 10), '1999-01-01', ...nulls]
  return [first, second, absentValue(path), ...nulls]
}

// Escaped commas are tested with the parser.
const listsFor = (path: Path, first: string, second: string): string[] =>
  [[first], [first, second], [absentValue(path), second], [absentValue(path)]]
    .filter((items) => items.every((item) => !item.includes(',')))
    .map((items) => items.join())

function comparandsFor(path: Path, first: string, second: string): string[] {
  if (path.type === 'properties') return ['12', '-4.5', '2026-03-01', '2026-02-28T00:00:00Z']
  return path.type === 'date' ? [first, second, first.slice(0, 10), '2999-12-31'] : [first, second, '0.5']
}

/** Values that fields of these types could have, and that no sample has. */
const absentValues: Partial<Record<FieldType, string>> = {
  email: 'nobody@nowhere.example',
  phone: '+12025550199',
  url: 'https://nowhere.example/nothing',
  domain: 'nowhere.example',
  country: 'AQ',
  timeZone: 'Antarctica/Troll',
  month: '1901-01',
  currency: 'XPF',
  handle: 'nothing_has_this',
}

function absentValue({ name, type, holds, prefix, choices }: Path): string {
  const [choice] = choices
  if (name === 'recurrence') return 'FREQ=YEARLY;INTERVAL=77'
  if (choice !== undefined) return choice
  const absent = type === 'array' ? undefined : absentValues[holds]
  if (absent !== undefined) return absent
  if (type === 'number') return '987654'
  if (type === 'id') return `${prefix}_00000000000000000000000000000000`
  return type === 'date' ? '1999-01-01' : 'nothing has this'
}

/** The rows in the documented order: nulls last in both directions, ties by id in the direction of `sort`. */
export function sortRows(
  resource: Resource,
  rows: readonly JsonObject[],
  path: Path,
  sort: 'asc' | 'desc',
): JsonObject[] {
  const direction = sort === 'asc' ? 1 : -1
  return [...rows].sort((left, right) => {
    const [one, two] = [valueAt(resource, left, path.name), valueAt(resource, right, path.name)]
    const tie = direction * compareAll([String(left.id)], [String(right.id)])
    if (one === null || two === null) return one === two ? tie : one === null ? 1 : -1
    return direction * compareAll(sortKeys(path, one), sortKeys(path, two)) || tie
  })
}

function sortKeys({ type, isDecimal, isRanked, choices }: Path, value: JsonValue): (string | number)[] {
  if (type === 'date' || type === 'id') return [String(value)]
  if (Array.isArray(value) && type === 'array') return [fold([...value].map(String).sort(byCodePoint).join())]
  if (type === 'properties') return propertyKeys(value)
  if (isRanked) return [choices.indexOf(String(value))]
  if (isDecimal || typeof value === 'number') return [Number(value)]
  return typeof value === 'boolean' ? [Number(value)] : [fold(String(value))]
}

/** Number, string, boolean, other; then the value. */
function propertyKeys(value: JsonValue): (string | number)[] {
  if (typeof value === 'number') return [1, value]
  if (typeof value === 'string') return [2, fold(value)]
  // The order of lists and objects is not documented; their JSON starts with [ and {.
  return typeof value === 'boolean' ? [3, Number(value)] : [4, Array.isArray(value) ? 0 : 1]
}

const byCodePoint = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

function compareAll(left: readonly (string | number)[], right: readonly (string | number)[]): number {
  for (const [index, one] of left.entries()) {
    const two = right[index]
    if (two === undefined || one === two) continue
    return one < two ? -1 : 1
  }
  return 0
}
