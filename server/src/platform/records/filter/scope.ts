import { columnOf, isElsewhere, type Resource, type Followed, type Reach } from '../declare/define.ts'
import { identifier, isPlannerVisible, join, raw, type Sql, sql } from '../../model/sql.ts'
import type { Reader } from '../../model/caller.ts'

/** The organization as a parameter, on whose behalf the statement runs and, if the route has one, the parent. */
export interface Scope {
  organization: Sql
  actor: Reader
  parentId?: string
}

/** Where a record is read from: `and`, and the bounds of the reader's reach; empty if the reader sees all records. */
export const andWithinReach = (resource: Resource, scope: Scope, record: Sql): Sql => {
  const parts = reachConditions(resource, scope, record)
  return parts.length === 0 ? raw('') : sql` and ${join(parts, ' and ')}`
}

/**
 * What a record in the table `record` must meet to be within the reader's reach, apart from its parents. The text
 * depends only on the kind of the reader and the level of their reach, because prepared statements have one text each.
 */
export function reachConditions(
  { reach, singular }: Pick<Resource, 'reach' | 'singular'>,
  scope: Scope,
  record: Sql,
): Sql[] {
  if (!reach) return []
  const seen = reach.sees?.(scope.actor, record)
  return [
    ...(seen ? [seen] : []),
    ...ownership(reach, scope.actor.reach?.levels[singular] ?? 'all', scope.actor, record),
    ...(reach.follows ?? []).flatMap((followed) => followedCondition(followed, scope, record)),
  ]
}

/** Does the reader see only some of the records? */
export const isRestricted = (resource: Resource, scope: Scope): boolean =>
  reachConditions(resource, scope, raw('record')).length > 0

/** Does the reader see only some of the records, also because of their parents? */
export const isBounded = (resource: Resource, scope: Scope): boolean =>
  isRestricted(resource, scope) ||
  (resource.requiredParents ?? []).some((parent) => isRestricted(parent.resource, scope))

function ownership({ ownerField, teamField }: Reach, level: string, { reach }: Reader, record: Sql): Sql[] {
  if (ownerField === undefined || !reach || level === 'all') return []
  const owner = sql`${record}.${identifier(columnOf(ownerField))}`
  const isOwn = sql`${owner} = ${reach.userId}::uuid`
  if (level === 'own') return [isOwn]
  const isColleagues = sql`${owner} = any(${reach.colleagueIds}::uuid[])`
  if (teamField === undefined) return [isColleagues]
  const team = sql`${record}.${identifier(columnOf(teamField))}`
  return [
    sql`(${isOwn} or ${team} = any(${reach.teamIds}::uuid[])
      or (${team} = ${reach.defaultTeamId}::uuid and ${isColleagues}))`,
  ]
}

/** A record that names another one is within reach only if that is. */
function followedCondition({ resource, column, isRequired, when }: Followed, scope: Scope, record: Sql): Sql[] {
  const bounds = reachConditions(resource, scope, raw('followed'))
  if (bounds.length === 0) return []
  const id = sql`${record}.${identifier(column)}`
  const isReached = sql`exists (select from ${identifier(resource.table)} followed
    where followed.organization_id = ${scope.organization} and followed.id = ${id} and ${join(bounds, ' and ')})`
  if (when) return [sql`(${record}.${identifier(when.column)} <> ${raw(`'${when.equals}'`)} or ${isReached})`]
  return [isRequired ? isReached : sql`(${id} is null or ${isReached})`]
}

/**
 * Bounds that include the reader's reach and that indexes serve, to fetch everything within it; empty if the reader sees
 * all records. Other records are read only if `isNeeded`, a boolean expression, is true.
 */
export function indexableReach(resource: Resource, scope: Scope, record: Sql, isNeeded: Sql = raw('true')): Sql[] {
  const { reach, requiredParents = [], singular } = resource
  const level = scope.actor.reach?.levels[singular] ?? 'all'
  const isReachBounded = ({ resource: other }: Pick<Followed, 'resource'>) => isRestricted(other, scope)
  // An array, because an index needs one.
  const isAmongReached = ({ resource: other, column }: Pick<Followed, 'resource' | 'column'>) =>
    sql`${record}.${identifier(column)} = any(array(select reached.id from ${identifier(other.table)} reached
      where reached.organization_id = ${scope.organization} and reached.deleted_at is null
        and ${isNeeded}${andWithinReach(other, scope, raw('reached'))}))`
  const parents = requiredParents.map((one) =>
    isReachBounded(one) ? isAmongReached(one) : sql`${record}.${identifier(one.column)} is not null`,
  )
  return [
    ...(reach ? ownership(reach, level, scope.actor, record) : []),
    ...(requiredParents.some(isReachBounded) ? [sql`(${join(parents, ' or ')})`] : []),
    ...(reach?.follows ?? [])
      .filter((followed) => followed.isRequired && isReachBounded(followed))
      .map((followed) => isAmongReached(followed)),
  ]
}

/** A boolean: does the parent in the path exist? True for a resource without one, or with one in the other place. */
export function parentFound(resource: Resource, scope: Scope): Sql {
  const { parent } = resource
  return parent && !isElsewhere(parent, resource)
    ? existsSql(parent.resource, scope, sql`${scope.parentId}::uuid`)
    : raw('true')
}

const parentAlias = raw('parent')

/** Looked up by key only, whatever the planner assumes about how many there are and how many are deleted. */
export const existsSql = (resource: Resource, scope: Scope, id: Sql): Sql =>
  sql`coalesce((select ${raw(resource.softDelete ? 'parent.deleted_at is null' : 'true')}${andWithinReach(resource, scope, parentAlias)} from ${identifier(resource.table)} parent
    where parent.organization_id = ${scope.organization} and parent.id = ${id}), false)`

/** The same for a set, which can be joined: for a million records, single lookups take five times as long. */
export const existsInSetSql = (resource: Resource, scope: Scope, id: Sql): Sql =>
  sql`exists (select from ${identifier(resource.table)} parent where parent.organization_id = ${scope.organization}
    and parent.id = ${id}${raw(resource.softDelete ? ' and parent.deleted_at is null' : '')}${andWithinReach(resource, scope, parentAlias)})`

/** The reader of a record, as far as that changes how it is read. */
export interface ReadFor {
  /** See `visibleOrganization`. */
  organization?: Sql | undefined
  /** The reader, if they do not see all records, and values of the record depend on that. */
  reader?: Reader | undefined
}

export const readFor = (
  resource: Resource,
  { actor, organization }: Pick<Scope, 'actor' | 'organization'>,
): ReadFor => ({
  organization: visibleOrganization({ organization }),
  reader: actor.reach && Object.values(resource.fields).some((one) => one.dependsOnReader) ? actor : undefined,
})

/** The organization, if the planner needs it wherever a statement reads a table, even one that is joined by its column. */
export const visibleOrganization = ({ organization }: Pick<Scope, 'organization'>): Sql | undefined =>
  isPlannerVisible(organization) ? organization : undefined

/** The organization of rows that belong to it: their column, unless the planner needs more (`visibleOrganization`). */
export const organizationOf = (scope: Pick<Scope, 'organization'>, column: Sql): Sql =>
  visibleOrganization(scope) ?? column
