import type { Resource } from '../declare/define.ts'
import { invalidBody } from '../../model/errors.ts'
import type { CursorScope } from './cursor.ts'
import {
  type Filters,
  type ListRequest,
  listScalars,
  QueryReader,
  parsePage,
  parseWords,
  withDeleted,
} from './parse.ts'
import type { QueryParameter } from '../request/query-string.ts'
import type { Relations } from '../declare/relations.ts'
import { parseTree } from './tree.ts'
import type { JsonValue } from '../../model/json.ts'

/** A search as it was sent: its body, and the cursor that a `Link` adds to its URL. */
interface SentSearch {
  resource: Resource
  relations: Relations
  body: JsonValue
  query: readonly QueryParameter[]
}

/** Reads a search: a list whose filter is a tree. Throws 422 with every error. */
export function parseSearchRequest(
  sent: SentSearch,
  scopeOf: (orderBy: string, deleted: boolean) => CursorScope,
): ListRequest {
  const { reader, filter } = read(sent, [...listScalars, 'filter', 'select'])
  const deleted = readDeleted(reader)
  const page = parsePage(reader, sent.resource, (orderBy) => scopeOf(orderBy, deleted))
  if (reader.errors.length > 0 || !page) throw invalidBody(reader.errors)
  return { ...page, filter, deleted }
}

/** Reads the count of a search, which has no page. Throws 422 with every error. */
export function parseSearchCount(sent: SentSearch): Filters {
  const { reader, filter } = read(sent, ['filter', 'query'])
  const words = parseWords(reader)
  if (reader.errors.length > 0) throw invalidBody(reader.errors)
  return { filter, words, deleted: readDeleted(reader) }
}

const readDeleted = (reader: QueryReader): boolean => reader.scalars.get('deleted') === 'true'

function read({ resource, relations, body, query }: SentSearch, others: readonly string[]) {
  const reader = new QueryReader('select')
  const known = withDeleted(resource, others)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidBody([{ field: 'body', message: 'expected an object' }])
  }
  // Not the entries: most of thousands of unknown names are not looked at.
  for (const name of Object.keys(body)) {
    if (reader.isFull) break
    if (!known.includes(name)) reader.addError(name, unknownProperty(reader, name, known))
    else if (name !== 'filter') parseProperty(reader, name, body[name] ?? null)
  }
  for (const { name, value } of query) {
    if (reader.scalars.has(name)) reader.addError(name, 'is given twice; send it in the URL or in the body')
    else reader.scalars.set(name, value)
  }
  const filter = parseTree(reader, resource, relations, body.filter === undefined ? {} : body.filter)
  return { reader, filter }
}

function unknownProperty({ suggestions }: QueryReader, name: string, known: readonly string[]): string {
  const suggestion = suggestions.for(name, known)
  return suggestion ? `unknown property; did you mean ${suggestion}?` : 'unknown property'
}

function parseProperty(reader: QueryReader, name: string, value: JsonValue): void {
  if (name === 'select') return parseSelect(reader, value)
  if (name === 'deleted') return parseFlag(reader, value)
  const isNumber = name === 'limit'
  if (typeof value !== (isNumber ? 'number' : 'string')) {
    reader.addError(name, isNumber ? 'expected a whole number from 1 to 100' : 'expected text')
  } else if (value === '') reader.addError(name, 'expected a value')
  else reader.scalars.set(name, String(value))
}

function parseFlag(reader: QueryReader, value: JsonValue): void {
  if (typeof value === 'boolean') reader.scalars.set('deleted', String(value))
  else reader.addError('deleted', 'expected true or false')
}

function parseSelect(reader: QueryReader, value: JsonValue): void {
  const paths = Array.isArray(value) ? value : []
  const names = paths.filter((path) => typeof path === 'string' && path !== '')
  if (names.length === 0 || names.length < paths.length)
    reader.addError('select', 'expected a list of at least one field, such as ["id","name"]')
  else reader.selected.push(...names.map(String))
}
