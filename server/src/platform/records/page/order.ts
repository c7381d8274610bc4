import { join, type Parameter, raw, type Sql, sql } from '../../model/sql.ts'
import { entryOrder } from '../properties/entries.ts'
import type { Target } from '../filter/target.ts'

/** One sort key: the SQL value to compare, and its type for casting a boundary from text. */
export interface SortKey {
  value: Sql
  type: string
}

export interface Order {
  target: Target
  descending: boolean
  keys: readonly SortKey[]
  /** True for records without a value, which come last in both directions; undefined if there always is one. */
  absent: Sql | undefined
  indexed: boolean
}

/** The order that a cursor belongs to: the sort keys follow from the definition of a custom property and from ranks. */
export const cursorOrder = ({ target: { name, declared, field } }: Order): string => {
  if (declared) return `${name} (${declared.type})`
  return field.ranks ? `${name} (${field.ranks.join(', ')})` : name
}

/** The order of a list by `target`: nulls last in both directions, ties by id in the direction of `sort`. */
export function orderBy(target: Target, descending: boolean): Order | { error: string } {
  const { field, value } = target
  if (field.filter === 'none' || (field.filter === 'properties' && target.keys.length === 0)) {
    return { error: 'is an object, which cannot be sorted by; use one of its fields' }
  }
  if (target.link || target.list) return { error: 'has any number of values and cannot be ordered by' }
  const keys = keysOf(target, value)
  const absent = target.isMissing ?? (target.nullable ? absence(target, keys) : undefined)
  const indexed = (field.order === 'indexed' && target.isOwn) || entryOrder(target) !== undefined
  return { target, descending, keys, absent, indexed }
}

function keysOf({ field }: Target, value: Sql): SortKey[] {
  switch (field.filter) {
    case 'string':
      return [field.ranks ? ranked(value, field.ranks) : folded(value)]
    case 'array':
      return [folded(sql`tags_text(${value})`)]
    case 'properties':
      return propertyKeys(value)
    default:
      return [{ value, type: field.databaseType }]
  }
}

const folded = (value: Sql): SortKey => ({ value: sql`sort_key(${value}) collate "C"`, type: 'text' })

const ranked = (value: Sql, ranks: readonly string[]): SortKey => ({
  value: sql`array_position(array[${raw(ranks.map((rank) => `'${rank}'`).join(', '))}], ${value})`,
  type: 'integer',
})

/** Tests the sort key if possible, so that the index that provides the order skips these records. */
const absence = ({ field, value }: Target, [key]: readonly SortKey[]): Sql =>
  field.filter === 'properties' ? sql`coalesce(${value} = 'null'::jsonb, true)` : sql`${key?.value ?? value} is null`

/** Custom properties sort by type (number, string, boolean, other), then by value. */
function propertyKeys(value: Sql): SortKey[] {
  const type = sql`jsonb_typeof(${value})`
  return [
    {
      value: sql`(case ${type} when 'number' then 1 when 'string' then 2 when 'boolean' then 3 else 4 end)`,
      type: 'integer',
    },
    { value: sql`(case ${type} when 'number' then (${value})::numeric else 0 end)`, type: 'numeric' },
    { value: sql`(case ${type} when 'number' then '' else sort_key(${value} #>> '{}') end) collate "C"`, type: 'text' },
  ]
}

/** Where a page starts or ends: a record's sort keys (undefined if it has none) and its id. */
export interface Boundary {
  keys: readonly Sql[]
  id: Sql
  /** A boolean: does the boundary's record lack the sort value? */
  absent: Sql
}

export function orderClause(keys: readonly Sql[], id: Sql, descending: boolean): Sql {
  const direction = raw(descending ? ' desc' : ' asc')
  return join(
    [...keys, id].map((key) => sql`${key}${direction}`),
    ', ',
  )
}

/** The records after the boundary in the direction of the order, among those with a value. */
export function afterBoundary(
  keys: readonly Sql[],
  id: Sql,
  boundary: Pick<Boundary, 'keys' | 'id'>,
  descending: boolean,
): Sql {
  const symbol = raw(descending ? '<' : '>')
  return sql`(${join([...keys, id], ', ')}) ${symbol} (${join([...boundary.keys, boundary.id], ', ')})`
}

export function boundaryFromText(order: Order, keys: readonly Parameter[] | undefined, id: Parameter): Boundary {
  return {
    keys: order.keys.map(({ type }, index) => (keys ? sql`${keys[index]}::${raw(type)}` : sql`null::${raw(type)}`)),
    id: sql`${id}::uuid`,
    absent: keys ? raw('false') : raw('true'),
  }
}
