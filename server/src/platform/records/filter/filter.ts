import type { Resource } from '../declare/define.ts'
import { identifier, join, raw, type Sql, sql } from '../../model/sql.ts'
import { always, conditionSql, type IndexKind, indexKindOf, never } from './condition.ts'
import type { Relation } from '../declare/relations.ts'
import { andWithinReach, organizationOf, reachConditions, type Scope } from './scope.ts'
import { isJoined as needsJoin, joins, linkAlias, type Target } from './target.ts'
import type { Condition } from './operand.ts'

/** The filter of a list. URL parameters are the flat case: `and` of conditions. */
export type Filter =
  | Condition
  | RelatedFilter
  | { and: readonly Filter[] }
  | { or: readonly Filter[] }
  | { not: Filter }

/** Is there a related record that matches the filter? */
export interface RelatedFilter {
  relation: Relation
  /** The aliases of the record and of the related one, to which the filter's targets belong. */
  alias: string
  relatedAlias: string
  filter: Filter
}

/** The parts that must all match; nested `and`s are flattened. */
export const conjunctsOf = (filter: Filter): readonly Filter[] =>
  'and' in filter ? filter.and.flatMap(conjunctsOf) : [filter]

/** The conditions of a flat filter; undefined if it contains `or`, `not` or a relation. */
export function conditionsOf(filter: Filter): readonly Condition[] | undefined {
  const parts = conjunctsOf(filter)
  const conditions = parts.filter(isCondition)
  return conditions.length === parts.length ? conditions : undefined
}

const isCondition = (filter: Filter): filter is Condition => 'target' in filter

/** The fields of the record and of its embedded records, without those of related records. */
export function targetsOf(filter: Filter): readonly Target[] {
  if (isCondition(filter)) return [filter.target]
  return 'relation' in filter ? [] : partsOf(filter).flatMap(targetsOf)
}

/** Every relation that the filter uses, also within related records. */
export function relationsIn(filter: Filter): readonly Relation[] {
  if (isCondition(filter)) return []
  if ('relation' in filter) return [filter.relation, ...relationsIn(filter.filter)]
  return partsOf(filter).flatMap(relationsIn)
}

/** Every condition of the filter, also within related records. */
export function allConditionsOf(filter: Filter): readonly Condition[] {
  if (isCondition(filter)) return [filter]
  return 'relation' in filter ? allConditionsOf(filter.filter) : partsOf(filter).flatMap(allConditionsOf)
}

/** The same filter with other conditions. */
export function withConditions(filter: Filter, change: (condition: Condition) => Condition): Filter {
  if (isCondition(filter)) return change(filter)
  if ('relation' in filter) return { ...filter, filter: withConditions(filter.filter, change) }
  if ('not' in filter) return { not: withConditions(filter.not, change) }
  const parts = partsOf(filter).map((part) => withConditions(part, change))
  return 'and' in filter ? { and: parts } : { or: parts }
}

type Combined = Exclude<Filter, Condition | RelatedFilter>

const partsOf = (filter: Combined): readonly Filter[] =>
  'not' in filter ? [filter.not] : 'and' in filter ? filter.and : filter.or

/** Expressions that must all be true, never null. `orderedBy`: the sort field, if only the beginning is read. */
export const filterSql = (resource: Resource, filter: Filter, scope: Scope, orderedBy?: string): Sql[] =>
  conjunctsOf(filter).map((part) => partSql(resource, part, scope, orderedBy))

function partSql(resource: Resource, filter: Filter, scope: Scope, orderedBy?: string): Sql {
  if (isCondition(filter)) return conditionSql(resource, filter, scope, orderedBy)
  if ('relation' in filter) return relatedSql(filter, scope)
  if ('not' in filter) return negated(partSql(resource, filter.not, scope))
  const [separator, deciding] = 'and' in filter ? ([' and ', never] as const) : ([' or ', always] as const)
  const all = partsOf(filter).map((part) => partSql(resource, part, scope))
  if (all.includes(deciding)) return deciding
  const others = all.filter((part) => part !== negated(deciding))
  return others.length === 0 ? negated(deciding) : sql`(${join(others, separator)})`
}

function negated(condition: Sql): Sql {
  if (condition === never) return always
  return condition === always ? never : sql`(not ${condition})`
}

/** Is there a record of the same organization that its own list shows, belongs to this one, and matches? */
function relatedSql(related: RelatedFilter, scope: Scope): Sql {
  const { relation, alias, relatedAlias, filter } = related
  const { resource, by } = relation
  const [here, there] = [raw(alias), raw(relatedAlias)]
  const organization = organizationOf(scope, sql`${here}.organization_id`)
  const inner = { ...scope, organization }
  const isJoined = targetsOf(filter).some((target) => needsJoin(resource, target))
  // An outer join that names the outer record could only run once for each of them.
  const own = { ...scope, organization: organizationOf(scope, sql`${there}.organization_id`) }
  const embedded = isJoined ? joins(resource, own, relatedAlias) : raw('')
  const conditions = filterSql(resource, filter, scope)
  // Not every planner accepts a related record that cannot exist.
  if (conditions.includes(never)) return never
  const { from, on } = connectionSql(by, { here, there, organization })
  const parents = (resource.requiredParents ?? []).filter(({ column }) => column !== by.there)
  const parts = [
    sql`${there}.organization_id = ${organization} and ${on}`,
    ...(resource.softDelete ? [sql`${there}.deleted_at is null`] : []),
    ...parents.map(({ resource: parent, column }) => {
      const id = sql`${there}.${identifier(column)}`
      return sql`(${id} is null or exists (select from ${identifier(parent.table)} parent
        where parent.organization_id = ${organization} and parent.id = ${id} and parent.deleted_at is null${andWithinReach(parent, inner, raw('parent'))}))`
    }),
    ...reachConditions(resource, inner, there),
    ...conditions,
  ]
  return sql`(exists (select from ${identifier(resource.table)} ${there}${embedded}${from} where ${join(parts, ' and ')}))`
}

function connectionSql(
  by: Relation['by'],
  { here, there, organization }: Record<'here' | 'there' | 'organization', Sql>,
): { from: Sql; on: Sql } {
  if (!('linkTable' in by)) {
    return { from: raw(''), on: sql`${there}.${identifier(by.there)} = ${here}.${identifier(by.here)}` }
  }
  const link = raw(linkAlias)
  return {
    from: sql`, ${identifier(by.linkTable)} ${link}`,
    on: sql`${link}.organization_id = ${organization} and ${link}.${identifier(by.here)} = ${here}.id
      and ${link}.${identifier(by.there)} = ${there}.id and ${link}.deleted_at is null`,
  }
}

/** The index that serves a filter. `or` needs one for every alternative, and its result has no order. */
export function filterIndexKind(filter: Filter): IndexKind | undefined {
  if (isCondition(filter)) return indexKindOf(filter)
  // The matches of one index would first be looked up through another, for each related record.
  if ('not' in filter || 'relation' in filter) return undefined
  if ('and' in filter) return best(filter.and.map(filterIndexKind))
  const [only, ...others] = filter.or
  if (only && others.length === 0) return filterIndexKind(only)
  return filter.or.every((part) => filterIndexKind(part) !== undefined) ? 'inverted' : undefined
}

const best = (found: readonly (IndexKind | undefined)[]): IndexKind | undefined =>
  found.includes('sorted') ? 'sorted' : found.find((one) => one !== undefined)
