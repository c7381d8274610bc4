import { ApiError, type FieldError, invalidParameters } from '../../model/errors.ts'
import { Suggestions } from '../../model/suggestions.ts'
import type { QueryParameter } from './query-string.ts'
import { unknownParameter } from './unknown-parameter.ts'
import type { JsonObject, JsonValue, Schema } from '../../model/json.ts'

/** The parameters of an array that a route has in memory. */
export const arrayParameters = ['limit', 'startingAfter', 'endingBefore', 'orderBy', 'sort'] as const

const defaultLimit = 25
const maxLimit = 100

export interface ArrayPage {
  limit: number
  /** Undefined for the array's own order. */
  orderBy: string | undefined
  isDescending: boolean
  cursor: { direction: 'after' | 'before'; parameter: string; text: string } | undefined
}

/** The paths of the single values and the lists of texts in an item. */
export function sortablePaths({ properties = {} }: Schema, parent = ''): string[] {
  return Object.entries(properties as Record<string, Schema>).flatMap(([name, schema]) =>
    schema.properties === undefined ? [`${parent}${name}`] : sortablePaths(schema, `${parent}${name}.`),
  )
}

/** Throws 400 `invalid_parameters` with every error. */
export function parseArrayPage(item: Schema, parameters: readonly QueryParameter[]): ArrayPage {
  const errors: FieldError[] = []
  const given = new Map<string, string>()
  for (const { name, value } of parameters) {
    const known: readonly string[] = arrayParameters
    if (!known.includes(name))
      errors.push({ field: name.slice(0, 200), message: unknownParameter(new Suggestions(1), name, known) })
    else if (value === '') errors.push({ field: name, message: 'expected a value' })
    else if (given.has(name)) errors.push({ field: name, message: 'is given twice; send it once' })
    else given.set(name, value)
  }
  const limit = Number(/^\d{1,3}$/.exec(given.get('limit') ?? String(defaultLimit))?.[0] ?? 0)
  if (limit < 1 || limit > maxLimit) errors.push({ field: 'limit', message: 'expected a whole number from 1 to 100' })
  const sort = given.get('sort')
  if (sort !== undefined && sort !== 'asc' && sort !== 'desc')
    errors.push({ field: 'sort', message: 'expected asc or desc' })
  const orderBy = given.get('orderBy')
  const paths = sortablePaths(item)
  if (orderBy !== undefined && !paths.includes(orderBy))
    errors.push({ field: 'orderBy', message: `expected one of ${paths.join(', ')}` })
  const [after, before] = [given.get('startingAfter'), given.get('endingBefore')]
  if (after !== undefined && before !== undefined) {
    const message = 'startingAfter and endingBefore cannot be combined; send one of them'
    errors.push({ field: 'endingBefore', message })
  }
  if (errors.length > 0) throw invalidParameters(errors)
  return {
    limit,
    orderBy,
    isDescending: sort === undefined ? orderBy !== undefined : sort === 'desc',
    cursor: cursorOf(after, before),
  }
}

function cursorOf(after: string | undefined, before: string | undefined): ArrayPage['cursor'] {
  if (after !== undefined) return { direction: 'after', parameter: 'startingAfter', text: after }
  return before === undefined ? undefined : { direction: 'before', parameter: 'endingBefore', text: before }
}

interface PageOfArray {
  items: JsonObject[]
  /** Cursors of the neighbouring pages, where there are any. */
  next: string | undefined
  previous: string | undefined
}

/** One page of the items, each of which has an `id`. Throws 404 if the cursor names none of them. */
export function pageOfArray(all: readonly JsonObject[], page: ArrayPage): PageOfArray {
  const sorted = sortItems(all, page)
  const { limit, cursor } = page
  const [first, end] = boundsOf(sorted, limit, cursor)
  return {
    items: sorted.slice(first, end),
    next: end < sorted.length && end > 0 ? writeCursor(sorted, end - 1) : undefined,
    previous: first > 0 && first < sorted.length ? writeCursor(sorted, first) : undefined,
  }
}

function boundsOf(sorted: readonly JsonObject[], limit: number, cursor: ArrayPage['cursor']): [number, number] {
  if (!cursor) return [0, limit]
  const { index, isPresent } = positionOf(sorted, cursor)
  if (cursor.direction === 'before') return [Math.max(0, index - limit), index]
  const first = isPresent ? index + 1 : index
  return [first, first + limit]
}

/** An id, or a position from `Link` that holds even if its item has gone: the next one has moved there. */
function positionOf(
  sorted: readonly JsonObject[],
  { parameter, text }: NonNullable<ArrayPage['cursor']>,
): { index: number; isPresent: boolean } {
  const written = /^cur_([\w-]+)$/.exec(text)?.[1]
  const [, at, id = text] =
    written === undefined ? [] : (/^(\d{1,7}) (.+)$/su.exec(Buffer.from(written, 'base64url').toString()) ?? [])
  const index = sorted.findIndex((item) => item.id === id)
  if (index >= 0) return { index, isPresent: true }
  if (at === undefined) throw new ApiError('not_found', `${parameter}: this list has no record with this id.`)
  return { index: Math.min(Number(at), sorted.length), isPresent: false }
}

const writeCursor = (sorted: readonly JsonObject[], index: number): string =>
  `cur_${Buffer.from(`${index} ${String(sorted[index]?.id)}`).toString('base64url')}`

/** Records without a value come last in both directions; ties are broken by id, in the direction of the order. */
function sortItems(all: readonly JsonObject[], { orderBy, isDescending }: ArrayPage): readonly JsonObject[] {
  if (orderBy === undefined) return isDescending ? all.toReversed() : all
  const direction = isDescending ? -1 : 1
  const keyed = all.map((item) => ({ item, key: keyOf(valueAt(item, orderBy)) }))
  keyed.sort((one, other) => {
    if (one.key === null || other.key === null) {
      if (one.key !== other.key) return one.key === null ? 1 : -1
      return direction * compare(String(one.item.id), String(other.item.id))
    }
    return direction * (compare(one.key, other.key) || compare(String(one.item.id), String(other.item.id)))
  })
  return keyed.map(({ item }) => item)
}

const valueAt = (item: JsonObject, path: string): JsonValue =>
  path
    .split('.')
    .reduce<JsonValue>(
      (value, key) =>
        typeof value === 'object' && value !== null && !Array.isArray(value) ? (value[key] ?? null) : null,
      item,
    )

const decimal = /^-?\d+(\.\d+)?$/

/** Sums are decimals in strings. A list sorts by its sorted, comma-joined text, like `tags`. */
function keyOf(value: JsonValue): string | number | null {
  if (value === null || typeof value === 'number') return value
  if (typeof value === 'boolean') return Number(value)
  if (Array.isArray(value)) return folded(value.map(String).sort().join())
  const text = String(value)
  return decimal.test(text) ? Number(text) : folded(text)
}

const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()

const compare = <Key extends string | number>(one: Key, other: Key): number => (one < other ? -1 : one > other ? 1 : 0)
