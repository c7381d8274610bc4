/**
 * A second implementation of the rules of lists, without a database, which the property tests compare the service with.
 * It shares no code with the service and reads the records from responses.
 */

export type ModelType = 'id' | 'string' | 'number' | 'date' | 'array' | 'boolean' | 'properties'

type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue }
export type ModelRecord = { id: string } & { [name: string]: JsonValue }

/** A resource, as far as the model needs it. */
export interface ModelResource {
  /** The type of each property; paths into `properties` have that type too. */
  types: Record<string, ModelType>
  /** The properties that `query` searches. */
  searched: readonly string[]
  /** For an object in `orderBy`, the property of it to sort by. */
  standsFor: Record<string, string>
}

export interface ModelFilter {
  field: string
  operator: string
  /** The value before it is encoded; for lists, the items. */
  value: string | readonly string[]
}

export interface ModelRequest {
  filters: readonly ModelFilter[]
  query?: string | undefined
  orderBy?: string | undefined
  sort?: 'asc' | 'desc' | undefined
}

/** All records that match the request, in its order. */
export function modelList(
  resource: ModelResource,
  records: readonly ModelRecord[],
  request: ModelRequest,
): ModelRecord[] {
  const { filters, query, orderBy = 'createdAt', sort = 'desc' } = request
  const words = query === undefined ? [] : query.split(/\s+/u).filter((word) => word !== '')
  const found = records.filter(
    (record) =>
      filters.every((filter) => matches(resource, record, filter)) &&
      words.every((word) => resource.searched.some((path) => isIn(word, at(record, path)))),
  )
  const path = resource.standsFor[orderBy] ?? orderBy
  const type = typeOf(resource, path)
  const keyed = found.map((record) => ({ record, key: sortKey(type, at(record, path)) }))
  keyed.sort((a, b) => {
    if (!a.key || !b.key) {
      if (a.key || b.key) return a.key ? -1 : 1
      return applySort(sort, compareText(a.record.id, b.record.id))
    }
    return applySort(sort, compareKeys(a.key, b.key) || compareText(a.record.id, b.record.id))
  })
  return keyed.map(({ record }) => record)
}

/** The record with only these paths; a missing key of an object is null. */
export function modelSelect(record: ModelRecord, paths: readonly string[]): JsonValue {
  const selected: { [name: string]: JsonValue } = {}
  for (const name of Object.keys(record)) {
    const inner = paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1))
    if (paths.includes(name)) selected[name] = record[name] ?? null
    else if (inner.length > 0) selected[name] = selectPaths(record[name] ?? null, inner)
  }
  return selected
}

function selectPaths(value: JsonValue, paths: readonly string[]): JsonValue {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  const selected: [string, JsonValue][] = []
  for (const head of new Set(paths.map((path) => path.split('.')[0] ?? ''))) {
    const inner = paths.filter((path) => path.startsWith(`${head}.`)).map((path) => path.slice(head.length + 1))
    const member = Object.hasOwn(value, head) ? (value[head] ?? null) : null
    selected.push([head, paths.includes(head) ? member : selectPaths(member, inner)])
  }
  // An assignment to `__proto__` would set the prototype.
  return Object.fromEntries(selected)
}

/** The type that decides a path's operators and order. */
export function typeOf(resource: ModelResource, path: string): ModelType {
  const type = resource.types[path] ?? resource.types[path.split('.')[0] ?? '']
  if (!type) throw new Error(`the model has no type for ${path}`)
  return type
}

/** The value at a dotted path, which leads through objects but not into lists. */
export function at(record: JsonValue, path: string): JsonValue {
  let value: JsonValue = record
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, key)) return null
    value = value[key] ?? null
  }
  return value
}

/** Whether the record matches the filter. */
export function matches(
  resource: ModelResource,
  record: ModelRecord,
  { field, operator, value }: ModelFilter,
): boolean {
  const actual = at(record, field)
  if (value === 'null' && operator === 'equals') return actual === null
  if (value === 'null' && operator === 'not') return actual !== null
  const type = typeOf(resource, field)
  const values = typeof value === 'string' ? [value] : value
  const [one = ''] = values
  switch (operator) {
    case 'equals':
    case 'in':
      return values.some((expected) => isEqual(type, actual, written(field, expected)))
    case 'not':
    case 'notIn':
      return !values.some((expected) => isEqual(type, actual, written(field, expected)))
    case 'contains':
      return typeof actual === 'string' && fold(actual).includes(fold(one))
    case 'startsWith':
      return typeof actual === 'string' && fold(actual).startsWith(fold(one))
    case 'endsWith':
      return typeof actual === 'string' && fold(actual).endsWith(fold(one))
    case 'has':
    case 'hasEvery':
      return (
        Array.isArray(actual) &&
        values.every((expected) => actual.some((item) => isItem(type, item, written(field, expected))))
      )
    case 'hasSome':
      return (
        Array.isArray(actual) &&
        values.some((expected) => actual.some((item) => isItem(type, item, written(field, expected))))
      )
    case 'isEmpty':
      return isEmpty(actual) === (one === 'true')
    default:
      return compares(type, actual, operator, one)
  }
}

/** A filter's value in the form that a write stores. */
function written(field: string, value: string): string {
  if (field === 'phone') return value.replaceAll(' ', '')
  if (field === 'company.domain') return value.toLowerCase().replace(/^https:\/\/www\.|\/$/g, '')
  const isTrimmed = field !== 'bio' && !field.startsWith('customProperties')
  return isTrimmed ? value.normalize('NFC').trim() : value.normalize('NFC')
}

function isEqual(type: ModelType, actual: JsonValue, expected: string): boolean {
  switch (type) {
    case 'number':
      return actual !== null && Number(actual) === Number(expected)
    case 'boolean':
      return actual === (expected === 'true')
    case 'date':
      return compares(type, actual, 'equals', expected)
    case 'properties':
      // A date means its whole day, a timestamp its text.
      if (readDate(expected) && !expected.includes('T')) return compares(type, actual, 'equals', expected)
      return isItem(type, actual, expected)
    default:
      return actual === expected
  }
}

/** A text means itself and the number or boolean that JSON writes the same way. */
function isItem(type: ModelType, item: JsonValue, expected: string): boolean {
  if (item === expected) return true
  if (type !== 'properties') return false
  if (typeof item === 'boolean') return String(item) === expected
  return (
    typeof item === 'number' && /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(expected) && Number(expected) === item
  )
}

const isEmpty = (value: JsonValue): boolean =>
  value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)

function compares(type: ModelType, actual: JsonValue, operator: string, expected: string): boolean {
  if (type === 'number' || (type === 'properties' && isNumeric(expected))) {
    if (actual === null || (type === 'properties' && typeof actual !== 'number')) return false
    return compareRange(operator, Number(actual), Number(expected), Number(expected))
  }
  const moment = typeof actual === 'string' ? readDate(actual) : undefined
  const span = readDate(expected)
  if (moment === undefined || span === undefined) return false
  return compareRange(operator, moment.start, span.start, span.last)
}

const isNumeric = (text: string): boolean => /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)

/** `first` and `last` are the start and end of the day for a date, and equal for a number or a timestamp. */
function compareRange(operator: string, actual: number, first: number, last: number): boolean {
  switch (operator) {
    case 'gt':
      return actual > last
    case 'gte':
      return actual >= first
    case 'lt':
      return actual < first
    case 'lte':
      return actual <= last
    default:
      return actual >= first && actual <= last
  }
}

/** The first and last millisecond of a date or a timestamp. */
function readDate(text: string): { start: number; last: number } | undefined {
  const parts = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d(?:\.\d+)?))?(Z|[+-]\d\d:?\d\d)?)?$/.exec(text)
  if (!parts) return undefined
  const [, year = '', month = '', day = '', hours, minutes = '', seconds = '0', zone = 'Z'] = parts
  const midnight = Date.parse(`${year}-${month}-${day}T00:00:00Z`)
  // Date.parse accepts the 31st of every month; PostgreSQL has no year 0.
  if (Number.isNaN(midnight) || year === '0000' || new Date(midnight).getUTCDate() !== Number(day)) return undefined
  if (hours === undefined) return { start: midnight, last: midnight + 86_399_999 }
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) >= 60) return undefined
  const [, sign = '+', zoneHours = '0', zoneMinutes = '0'] = /^([+-])(\d\d):?(\d\d)$/.exec(zone) ?? []
  const offset = (Number(zoneHours) * 60 + Number(zoneMinutes)) * (sign === '+' ? 1 : -1)
  const start = midnight + ((Number(hours) * 60 + Number(minutes) - offset) * 60 + Number(seconds)) * 1000
  return { start, last: start }
}

function isIn(word: string, value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some((item) => isIn(word, item))
  return typeof value === 'string' && fold(value).includes(fold(word))
}

const applySort = (sort: 'asc' | 'desc', comparison: number): number => (sort === 'asc' ? comparison : -comparison)

/** Undefined if the record has no value to sort by. */
function sortKey(type: ModelType, value: JsonValue): (number | string)[] | undefined {
  if (value === null) return undefined
  switch (type) {
    case 'id':
      return [String(value)]
    case 'string':
      return [sortText(String(value))]
    case 'array':
      return [sortText([...(value as string[])].sort(compareText).join(','))]
    case 'number':
      return [Number(value)]
    case 'boolean':
      return [Number(value)]
    case 'date':
      return [Date.parse(String(value))]
    case 'properties':
      if (typeof value === 'number') return [1, value]
      if (typeof value === 'string') return [2, sortText(value)]
      return typeof value === 'boolean' ? [3, Number(value)] : [4, sortText(jsonText(value))]
  }
}

/** Lists sort by the first 200 characters of a text. */
const sortText = (text: string): string => [...fold(text)].slice(0, 200).join('')

function compareKeys(a: readonly (number | string)[], b: readonly (number | string)[]): number {
  for (const [index, left] of a.entries()) {
    const right = b[index] ?? 0
    const comparison = typeof left === 'number' ? left - Number(right) : compareText(left, String(right))
    if (comparison !== 0) return comparison
  }
  return 0
}

/** Compares by code points: UTF-8 preserves their order, UTF-16 does not. */
const compareText = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** A list or an object as jsonb prints it: shorter keys first, a space after each comma and colon. */
function jsonText(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(jsonText).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const keys = Object.keys(value).sort((a, b) => Buffer.byteLength(a) - Buffer.byteLength(b) || compareText(a, b))
  return `{${keys.map((key) => `${JSON.stringify(key)}: ${jsonText(value[key] ?? null)}`).join(', ')}}`
}

const ligatures: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
  ø: 'o',
  ð: 'd',
  đ: 'd',
  ł: 'l',
  ħ: 'h',
  ŧ: 't',
  ı: 'i',
  ς: 'σ',
}

const foldCache = new Map<string, string>()

/** Removes case and accents; cached, because the same texts recur. */
export function fold(text: string): string {
  const known = foldCache.get(text) ?? computeFold(text)
  foldCache.set(text, known)
  return known
}

const computeFold = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[’‘`]/g, "'")
    .replace(/[‐–—−]/g, '-')
    .replace(/(?=[\u0590-\u06ff])[\p{Mn}\u0640]/gu, (mark) => (/[\u0653-\u0655]/.test(mark) ? mark : ''))
    .replace(/\u0627[\u0653-\u0655]/g, '\u0627')
    .replace(/\u0629/g, '\u0647')
    .replace(/[ßæœþøðđłħŧıς]/g, (letter) => ligatures[letter] ?? letter)
    .normalize('NFC')
