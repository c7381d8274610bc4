import type { Resource } from '../model/define.ts'
import { join, raw, type Sql, sql } from '../model/sql.ts'
import { type Condition, conditionSql, type IndexKind, indexKindOf } from './condition.ts'
import type { Target } from './target.ts'

/** The filter of a list. URL parameters are the flat case: `and` of conditions. */
export type Filter = Condition | { and: readonly Filter[] } | { or: readonly Filter[] } | { not: Filter }

/** The parts that must all match; nested `and`s are flattened. */
export const conjunctsOf = (filter: Filter): readonly Filter[] =>
  'and' in filter ? filter.and.flatMap(conjunctsOf) : [filter]

/** The conditions of a flat filter; undefined if it contains `or` or `not`. */
export function conditionsOf(filter: Filter): readonly Condition[] | undefined {
  const parts = conjunctsOf(filter)
  const conditions = parts.filter(isCondition)
  return conditions.length === parts.length ? conditions : undefined
}

const isCondition = (filter: Filter): filter is Condition => 'target' in filter

export function targetsOf(filter: Filter): readonly Target[] {
  if (isCondition(filter)) return [filter.target]
  if ('not' in filter) return targetsOf(filter.not)
  return ('and' in filter ? filter.and : filter.or).flatMap(targetsOf)
}

/** Expressions that must all be true, never null. `orderedBy`: the sort field, if only the beginning is read. */
export const filterSql = (resource: Resource, filter: Filter, orderedBy?: string): Sql[] =>
  conjunctsOf(filter).map((part) => partSql(resource, part, orderedBy))

function partSql(resource: Resource, filter: Filter, orderedBy?: string): Sql {
  if (isCondition(filter)) return conditionSql(resource, filter, orderedBy)
  if ('not' in filter) return sql`(not ${partSql(resource, filter.not)})`
  const [parts, separator, none] =
    'and' in filter ? ([filter.and, ' and ', 'true'] as const) : ([filter.or, ' or ', 'false'] as const)
  const all = parts.map((part) => partSql(resource, part))
  return all.length === 0 ? raw(none) : sql`(${join(all, separator)})`
}

/** The index that serves a filter. `or` needs one for every alternative, and its result has no order. */
export function filterIndexKind(filter: Filter): IndexKind | undefined {
  if (isCondition(filter)) return indexKindOf(filter)
  if ('not' in filter) return undefined
  if ('and' in filter) return best(filter.and.map(filterIndexKind))
  const [only, ...others] = filter.or
  if (only && others.length === 0) return filterIndexKind(only)
  return filter.or.every((part) => filterIndexKind(part) !== undefined) ? 'inverted' : undefined
}

const best = (found: readonly (IndexKind | undefined)[]): IndexKind | undefined =>
  found.includes('sorted') ? 'sorted' : found.find((one) => one !== undefined)
