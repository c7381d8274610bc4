import { identifier, join, plannerVisible, raw, type Sql, sql } from '../../model/sql.ts'
import type { Resource } from '../declare/define.ts'
import { spanCondition } from '../filter/condition.ts'
import { type Filter, filterIndexKind } from '../filter/filter.ts'
import { textsOf, type Condition } from '../filter/operand.ts'
import type { Scope } from '../filter/scope.ts'
import { root, type Target } from '../filter/target.ts'
import type { DeclaredProperty, PropertyIndex } from '../declare/field.ts'

// The entries of an index of custom properties are read instead of the values in the records: a filter by such a property
// is a join with its entries, in which PostgreSQL chooses the order. The answers are the same.

/** A filter in terms of the entries of an index, of which a record that matches has exactly one. */
interface EntryCondition {
  index: PropertyIndex
  /** Do its entries have one value, so that they are in the order of their records' creation? */
  isSingleValue: boolean
  matches: (entry: Sql) => Sql
}

/** The entries that serve some of a list's filters. */
export interface Entries {
  /** The indexes (uuids), which must be ready when the statement runs. */
  indexes: readonly string[]
  /** The tables of the entries; the first one is `entry`. */
  tables: Sql
  within: Sql
  isSingleValue: boolean
  /** The filters that they do not serve. */
  others: readonly Filter[]
}

export const firstEntry = raw('entry')

/** A property's index, if filters and orders can use it. */
function readyIndex({ declared, alias, isOwn, keys }: Target): PropertyIndex | undefined {
  if (!declared?.index?.isReady || !isOwn || alias !== root) return undefined
  return declared.type !== 'money' || keys[1] === 'amount' ? declared.index : undefined
}

/**
 * The entries of the filters (which must all match) that indexes of properties serve, or undefined.
 * `orderedBy`: the index to which the first entries must belong.
 */
export function entriesFor(conjuncts: readonly Filter[], scope: Scope, orderedBy?: string): Entries | undefined {
  const served: EntryCondition[] = []
  const others: Filter[] = []
  for (const filter of conjuncts) {
    const condition = 'target' in filter ? entryCondition(filter) : undefined
    if (condition) served.push(condition)
    else others.push(filter)
  }
  // Another index is the better one, or cannot be combined.
  if (served.length === 0 || others.some((filter) => filterIndexKind(filter) !== undefined)) return undefined
  const groups = grouped(orderedBy === undefined ? served : [ofIndexOnly(orderedBy), ...served], orderedBy)
  const organization = plannerVisible(scope.organization)
  const aliases = groups.map((_, number) => (number === 0 ? firstEntry : raw(`entry_${number}`)))
  const bounds = groups.map((group, number) => {
    const entry = aliases[number] ?? firstEntry
    return join(
      [sql`${entry}.organization_id = ${organization}`, ...group.map(({ matches }) => matches(entry))],
      ' and ',
    )
  })
  const joined = aliases
    .slice(1)
    .map((entry) => sql` join property_entries ${entry} on ${entry}.record_id = ${firstEntry}.record_id`)
  return {
    indexes: [...new Set(groups.flat().map(({ index }) => index.id))],
    tables: sql`property_entries entry${join(joined, '')}`,
    within: join(bounds, ' and '),
    isSingleValue: groups[0]?.some((condition) => condition.isSingleValue) ?? false,
    others,
  }
}

const ofIndexOnly = (id: string): EntryCondition => ({
  index: { id, isReady: true },
  isSingleValue: false,
  matches: (entry) => sql`${entry}.index_id = ${id}::uuid`,
})

/** Bounds of the same property belong to the same entry. The ordered index comes first, or a single value. */
function grouped(conditions: readonly EntryCondition[], orderedBy: string | undefined): EntryCondition[][] {
  const groups = new Map<string, EntryCondition[]>()
  conditions.forEach((condition, number) => {
    const key = condition.isSingleValue ? String(number) : condition.index.id
    groups.set(key, [...(groups.get(key) ?? []), condition])
  })
  const isFirst = ([condition]: EntryCondition[]): boolean =>
    orderedBy === undefined
      ? condition?.isSingleValue === true
      : condition?.index.id === orderedBy && !condition.isSingleValue
  const all = [...groups.values()]
  return [...all.filter(isFirst), ...all.filter((group) => !isFirst(group))]
}

function entryCondition(condition: Condition): EntryCondition | undefined {
  const { target, operator, operand } = condition
  const index = readyIndex(target)
  if (!index) return undefined
  const ofIndex = (entry: Sql) => sql`${entry}.index_id = ${index.id}::uuid`
  if (operand.kind === 'span' || (operand.kind === 'number' && operator !== 'equals')) {
    if (!isBound(operator)) return undefined
    return { index, isSingleValue: false, matches: (entry) => sql`${ofIndex(entry)} and ${boundSql(condition, entry)}` }
  }
  const hashes = valuesOf(condition)?.map((value) => sql`property_value_hash(${index.id}::uuid, ${value})`)
  if (!hashes) return undefined
  const [only, ...others] = hashes
  const isSingleValue = only !== undefined && others.length === 0
  return {
    index,
    isSingleValue,
    matches: (entry) =>
      isSingleValue
        ? sql`${entry}.value_hash = ${only}`
        : sql`${entry}.value_hash = any(array[${join(hashes, ', ')}]::uuid[])`,
  }
}

const bounds = { equals: raw('='), gt: raw('>'), gte: raw('>='), lt: raw('<'), lte: raw('<=') }
const isBound = (operator: string): operator is keyof typeof bounds => operator in bounds

function boundSql({ operator, operand }: Condition, entry: Sql): Sql {
  const value = sql`${entry}.number`
  if (operand.kind === 'span') return spanCondition(value, operator, operand.span, epoch)
  const text = operand.kind === 'number' ? operand.value : ''
  return sql`${value} ${bounds[operator as keyof typeof bounds]} ${text}::numeric`
}

const epoch = (instant: string): Sql => sql`extract(epoch from ${instant}::timestamptz)`

/** The values of which a matching record has exactly one, as `property_value_hash` takes them. */
function valuesOf({ operator, operand }: Condition): Sql[] | undefined {
  const given = (values: readonly string[]) => values.map((value) => sql`${value}::text`)
  switch (operator) {
    case 'equals':
    case 'in':
      if (operand.kind === 'ids') return given(operand.values)
      if (operand.kind === 'boolean') return given([operand.value ? '1' : '0'])
      if (operand.kind === 'number') return [numberText(operand.value)]
      if (operand.kind === 'numbers') return operand.values.map(numberText)
      return operand.kind === 'text' || operand.kind === 'texts' ? given(textsOf(operand)) : undefined
    case 'has':
    case 'hasEvery':
    case 'hasSome':
      // With several items, a record could have several of the entries.
      return textsOf(operand).length === 1 ? given(textsOf(operand)) : undefined
    default:
      return undefined
  }
}

const numberText = (value: string): Sql => sql`trim_scale(${value}::numeric)::text`

/** The entries joined with their records. */
export const withRecords = (entries: Sql, resource: Resource, scope: Scope): Sql =>
  sql`${entries} join ${identifier(resource.table)} ${raw(root)}
    on ${raw(root)}.organization_id = ${plannerVisible(scope.organization)} and ${raw(root)}.id = entry.record_id`

/** How the entries of a property's index are ordered, if a list can be read in this order. */
export function entryOrder(
  target: Target,
): { index: string; keysOf: (keys: readonly Sql[]) => readonly Sql[] } | undefined {
  const index = readyIndex(target)
  const { declared } = target
  if (!index || !declared || declared.type === 'multiChoice') return undefined
  return { index: index.id, keysOf: (keys) => keys.flatMap((key) => sortKeys(declared, key)) }
}

/** The number and the text of an entry, from the sort key of its record. */
function sortKeys({ type }: DeclaredProperty, key: Sql): readonly Sql[] {
  switch (type) {
    case 'number':
    case 'money':
      return [key, raw(`''`)]
    case 'boolean':
      return [sql`${key}::integer::numeric`, raw(`''`)]
    case 'date':
    case 'instant':
      return [sql`extract(epoch from ${key})`, raw(`''`)]
    default:
      return [raw('0::numeric'), sql`${key}::text`]
  }
}

/** A boolean: are these indexes still ready? Otherwise their entries may be incomplete. */
export const areReady = (indexes: readonly string[], { organization }: Scope): Sql =>
  indexes.length === 0
    ? raw('true')
    : sql`(select count(*) = ${raw(String(new Set(indexes).size))} from property_indexes
        where organization_id = ${organization} and id = any(${[...new Set(indexes)]}::uuid[]) and state = 'ready')`
