import type { Parameter } from '../../model/sql.ts'
import { type FieldError, invalidParameters, maxDetails } from '../../model/errors.ts'
import type { QueryParameter } from '../request/query-string.ts'
import { displayNoun, type Resource } from '../declare/define.ts'
import { hasIdForm, decodeId } from '../../model/ids.ts'
import { type CursorScope, isCursor, type Position, parseCursor } from './cursor.ts'
import {
  isEmptyAfterFolding,
  parseOperand,
  type WrittenValue,
  writtenInUrl,
  type Condition,
} from '../filter/operand.ts'
import { isOperator, type Operator, operatorsFor } from '../filter/operators.ts'
import { cursorOrder, type Order, orderBy } from './order.ts'
import type { Filter } from '../filter/filter.ts'
import { errorOf, parseSelection, type Selection } from './select.ts'
import { findTarget, type Target } from '../filter/target.ts'
import { Suggestions } from '../../model/suggestions.ts'
import { anyFilter, unknownParameter } from '../request/unknown-parameter.ts'

/** Where a page starts: after or before a record, or the position of an opaque cursor. */
export interface Cursor {
  direction: 'after' | 'before'
  parameter: 'startingAfter' | 'endingBefore'
  at: { id: string | Parameter } | { position: Position | Position<Parameter> }
}

export interface Filters {
  filter: Filter
  /** The words of `query`: each must occur somewhere. */
  words: readonly string[]
  /** True for the deleted records that can be restored, instead of the others. */
  deleted: boolean
}

export interface ChangeRequest extends Filters {
  /** If true, only counts the records and changes none. */
  dryRun: boolean
}

export interface ListRequest extends Filters {
  limit: number
  order: Order
  cursor: Cursor | undefined
  selection: Selection | undefined
}

/** The nil UUID (RFC 9562), which no record has. */
const nilUuid = '00000000-0000-0000-0000-000000000000'
/** Records of a page, unless `limit` says otherwise. */
export const defaultLimit = 25
const maxFilters = 25
const maxSelected = 100
const maxWords = 20
export const listScalars = ['limit', 'startingAfter', 'endingBefore', 'orderBy', 'sort', 'query']

/** The known parameters, with `deleted` if deleted records can be restored. */
export const withDeleted = ({ isRestorable }: Resource, known: readonly string[]): readonly string[] =>
  isRestorable ? [...known, 'deleted'] : known

/** Collects the errors of a query or a search, so that all are reported at once. */
export class QueryReader {
  readonly errors: FieldError[] = []
  readonly scalars = new Map<string, string>()
  readonly selected: string[] = []
  readonly conditions: Condition[] = []
  readonly suggestions = new Suggestions()
  readonly selectName: string

  constructor(selectName = 'select[]') {
    this.selectName = selectName
  }

  /** Checking stops: the response has enough errors. */
  get isFull(): boolean {
    return this.errors.length >= maxDetails
  }

  addError(field: string, message: string): undefined {
    this.errors.push({ field: field.slice(0, 200), message })
  }
}

/** Reads the parameters of a list. Throws 400 `invalid_parameters` with every error. */
export function parseList(
  resource: Resource,
  parameters: readonly QueryParameter[],
  scopeOf: (orderBy: string, deleted: boolean) => CursorScope,
): ListRequest {
  const reader = read(resource, parameters, withDeleted(resource, listScalars))
  const deleted = parseFlag(reader, 'deleted')
  const page = parsePage(reader, resource, (orderBy) => scopeOf(orderBy, deleted))
  if (reader.errors.length > 0 || !page) throw invalidParameters(reader.errors)
  return { ...page, filter: { and: reader.conditions }, deleted }
}

/** What a list and a search share besides their filter; undefined if the order is invalid. */
export function parsePage(
  reader: QueryReader,
  resource: Resource,
  scopeOf: (orderBy: string) => CursorScope,
): Omit<ListRequest, 'filter' | 'deleted'> | undefined {
  const limit = parseLimit(reader)
  const order = parseOrder(reader, resource)
  const cursor = parseCursors(reader, resource, scopeOf(order ? cursorOrder(order) : ''))
  const words = parseWords(reader)
  const selection = parseSelected(reader, resource)
  return order && { limit, order, cursor, words, selection }
}

/** Reads the parameters of a count: filters and `query`. Throws 400 `invalid_parameters` with every error. */
export function parseFilters(resource: Resource, parameters: readonly QueryParameter[]): Filters {
  const reader = read(resource, parameters, withDeleted(resource, ['query']))
  return filtersOf(reader, 'a count')
}

/** The parameters of a change by filter: a count's and `dryRun`. Throws `invalid_parameters` (400) with every error. */
export function parseChange(resource: Resource, parameters: readonly QueryParameter[]): ChangeRequest {
  const reader = read(resource, parameters, ['query', 'dryRun'])
  const dryRun = parseFlag(reader, 'dryRun')
  return { ...filtersOf(reader, 'a change by filter'), dryRun }
}

function filtersOf(reader: QueryReader, what: string): Filters {
  const words = parseWords(reader)
  const deleted = parseFlag(reader, 'deleted')
  if (reader.selected.length > 0) reader.addError('select', `${what} has no fields to select`)
  if (reader.errors.length > 0) throw invalidParameters(reader.errors)
  return { filter: { and: reader.conditions }, words, deleted }
}

function parseFlag(reader: QueryReader, name: string): boolean {
  const value = reader.scalars.get(name) ?? 'false'
  if (value !== 'true' && value !== 'false') reader.addError(name, 'expected true or false')
  return value === 'true'
}

/** Reads the parameters of a single record: only `select[]`. Throws 400 `invalid_parameters` with every error. */
export function parseOne(resource: Resource, parameters: readonly QueryParameter[]): Selection | undefined {
  const reader = new QueryReader()
  for (const { name, value } of parameters) {
    if (reader.isFull) break
    if (!parseSelectParameter(reader, name, value))
      reader.addError(name, unknownParameter(reader.suggestions, name, ['select[]']))
  }
  const selection = parseSelected(reader, resource)
  if (reader.errors.length > 0) throw invalidParameters(reader.errors)
  return selection
}

/** Rejects all parameters, on routes without any: a parameter is never ignored. */
export function parseNone(parameters: readonly QueryParameter[]): void {
  if (parameters.length === 0) return
  throw invalidParameters(
    parameters.slice(0, maxDetails).map(({ name }) => ({ field: name.slice(0, 200), message: 'unknown parameter' })),
  )
}

function read(resource: Resource, parameters: readonly QueryParameter[], known: readonly string[]): QueryReader {
  const reader = new QueryReader()
  for (const { name, value } of parameters) {
    if (reader.isFull) break
    if (known.includes(name)) parseScalar(reader, name, value)
    else if (parseSelectParameter(reader, name, value)) continue
    else if (name.startsWith('filter.')) parseFilter(reader, resource, name, value)
    else parseShorthand(reader, resource, name, value, known)
  }
  if (reader.conditions.length > maxFilters) reader.addError('filter', `at most ${maxFilters} filters are allowed`)
  return reader
}

function parseScalar(reader: QueryReader, name: string, value: string): void {
  if (value === '') reader.addError(name, 'expected a value')
  else if (reader.scalars.has(name)) reader.addError(name, 'is given twice; send it once')
  else reader.scalars.set(name, value)
}

function parseSelectParameter(reader: QueryReader, name: string, value: string): boolean {
  if (name !== 'select' && !/^select\[\d{0,3}\]$/.test(name)) return false
  const paths = name === 'select' ? value.split(',') : [value]
  if (paths.includes('')) reader.addError(name, 'expected the name of a field')
  else reader.selected.push(...paths)
  return true
}

/** `filter.<field>.<operator>=<value>`: the operator is the last segment. */
function parseFilter(reader: QueryReader, resource: Resource, name: string, value: string): void {
  const segments = name.split('.').slice(1)
  const operator = segments.pop() ?? ''
  const path = segments.join('.')
  const whole = findTarget(resource, name.slice('filter.'.length), new Suggestions(0))
  if (
    !isOperator(operator) &&
    !('error' in whole) &&
    (whole.field.filter !== 'properties' || whole.keys.length === 1)
  ) {
    reader.addError(name, `expected an operator, as in ${name.slice(0, 100)}.equals=`)
    return
  }
  const target = findTarget(resource, path, reader.suggestions)
  if ('error' in target) reader.addError(name, target.error)
  else addCondition(reader, name, target, operator, value)
}

/** `<field>=<value>`: `has` for a list, `equals` for everything else. */
function parseShorthand(
  reader: QueryReader,
  resource: Resource,
  name: string,
  value: string,
  known: readonly string[],
): void {
  const target = findTarget(resource, name, new Suggestions(0))
  if (!('error' in target)) {
    addCondition(reader, name, target, target.field.filter === 'array' ? 'has' : 'equals', value)
    return
  }
  const head = name.split('.')[0] ?? ''
  if (resource.propertyNames.includes(head)) reader.addError(name, target.error)
  else
    reader.addError(
      name,
      unknownParameter(reader.suggestions, name, [...parametersOf(known), ...resource.propertyNames]),
    )
}

/** The supported parameters: only lists have fields to select. */
const parametersOf = (known: readonly string[]): readonly string[] => [
  ...known,
  anyFilter,
  ...(known.includes('limit') ? ['select[]'] : []),
]

function addCondition(reader: QueryReader, name: string, target: Target, operator: string, value: string): void {
  const condition = parseCondition(target, operator, (known) => writtenInUrl(target, known, value))
  if ('error' in condition) reader.addError(name, condition.error)
  else reader.conditions.push(condition)
}

/** One filter of a URL or a body. `written` reads its value, once the operator is known to suit the field. */
export function parseCondition(
  target: Target,
  operator: string,
  written: (operator: Operator) => WrittenValue | { error: string },
): Condition | { error: string } {
  if (target.field.filter === 'none') return parseObjectCondition(target, operator, written)
  const allowed = operatorsFor(target.field)
  if (target.field.filter === 'properties' && target.keys.length === 0) return { error: objectError(target) }
  if (!isOperator(operator) || !allowed.includes(operator))
    return { error: `${target.name} supports ${allowed.join(', ')}; found "${operator.slice(0, 40)}"` }
  const value = written(operator)
  const operand = 'error' in value ? value : parseOperand(target, operator, value)
  return 'error' in operand ? operand : { target, operator, operand }
}

/** A whole object that can be missing is compared with null only. */
function parseObjectCondition(
  target: Target,
  operator: string,
  written: (operator: Operator) => WrittenValue | { error: string },
): Condition | { error: string } {
  if (target.nullable && (operator === 'equals' || operator === 'not')) {
    const value = written(operator)
    if (!('error' in value) && value.kind === 'null') return { target, operator, operand: value }
  }
  return { error: objectError(target) }
}

const objectError = ({ name }: Target): string =>
  `${name} is an object, which cannot be filtered by; use one of its fields`

function parseLimit(reader: QueryReader): number {
  const text = reader.scalars.get('limit')
  if (text === undefined) return defaultLimit
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > 100) reader.addError('limit', 'expected a whole number from 1 to 100')
  return limit
}

export function parseOrder(reader: QueryReader, resource: Resource): Order | undefined {
  const sort = reader.scalars.get('sort') ?? 'desc'
  if (sort !== 'asc' && sort !== 'desc') reader.addError('sort', 'expected asc or desc')
  const path = reader.scalars.get('orderBy') ?? 'createdAt'
  // An embedded record is sorted by one of its fields.
  const target = findTarget(resource, path, reader.suggestions)
  const order = 'error' in target ? target : orderBy(target, sort === 'desc')
  return 'error' in order ? reader.addError('orderBy', errorOf(path, order.error)) : order
}

function parseCursors(reader: QueryReader, resource: Resource, scope: CursorScope): Cursor | undefined {
  const after = reader.scalars.get('startingAfter')
  const before = reader.scalars.get('endingBefore')
  if (after !== undefined && before !== undefined) {
    return reader.addError('endingBefore', 'startingAfter and endingBefore cannot be combined; send one of them')
  }
  const parameter = before === undefined ? 'startingAfter' : 'endingBefore'
  const text = before ?? after
  if (text === undefined) return undefined
  const direction = before === undefined ? 'after' : 'before'
  const id = decodeId(resource.idPrefix, text)
  if (id !== undefined) return { direction, parameter, at: { id } }
  if (hasIdForm(resource.idPrefix, text)) return { direction, parameter, at: { id: nilUuid } }
  if (!isCursor(text))
    return reader.addError(parameter, `expected the id of a ${displayNoun(resource.singular)} (${resource.idPrefix}_…)`)
  const read = parseCursor(scope, text)
  if ('position' in read) return { direction, parameter, at: { position: read.position } }
  if (read.error === 'otherOrder') {
    return reader.addError(parameter, `this cursor belongs to orderBy=${read.orderBy}`)
  }
  if (read.error === 'malformed') return reader.addError(parameter, 'is not a valid cursor of this list')
  // Well formed, but not a position in this list of this organization: treated like an id that does not exist.
  return { direction, parameter, at: { id: nilUuid } }
}

export function parseWords(reader: QueryReader): string[] {
  const text = reader.scalars.get('query')
  if (text === undefined) return []
  const words = text.split(/\s+/u).filter((word) => word !== '')
  if (words.length === 0) reader.addError('query', 'expected a word')
  else if (words.some(isEmptyAfterFolding))
    reader.addError('query', 'expected a search term with at least one letter, digit or sign besides accents')
  else if (words.length > maxWords) reader.addError('query', `expected at most ${maxWords} words`)
  return words
}

function parseSelected(reader: QueryReader, resource: Resource): Selection | undefined {
  if (reader.selected.length === 0) return undefined
  if (reader.selected.length > maxSelected) {
    return reader.addError(reader.selectName, `at most ${maxSelected} fields can be selected`)
  }
  const { selection, errors } = parseSelection(resource, reader.selected, reader.suggestions)
  for (const error of errors) reader.addError(reader.selectName, error)
  return selection
}
