import type { FixedStatement } from '../database/database.ts'
import { identifier, join, Parameter, raw, type Sql, sql } from '../database/sql.ts'
import { columnOf, type Resource } from '../resource/define.ts'
import { conditionSql, hasTrigram, type Narrowing, narrowingOf } from './condition.ts'
import type { Position } from './cursor.ts'
import type { Order } from './order.ts'
import { type Filters, type ListRequest, usualLimit } from './parse.ts'
import { boundarySql, keyNamesOf, pageSql } from './scans.ts'
import { documentSql } from './select.ts'
import { isJoined, joins, lookups, root, type Target } from './target.ts'

/** Whose records: the organization as a parameter and, where the route has one, the parent. */
export interface Scope {
  organization: Sql
  parentId?: string
}

/** The one row that a page's statement gives. */
export interface PageRow {
  /** The JSON array, as it is sent. */
  text: string
  /** Whether records follow in the direction of reading. */
  more: boolean
  /** False when the cursor names no record. */
  cursor_found: boolean
  /** False when the parent of the route's path does not exist. */
  parent_found: boolean
  first: string | null
  last: string | null
}

/** How a page is read. */
export interface PagePlan {
  statement: Sql | FixedStatement
  /** True when no index bounds the work. */
  costly: boolean
}

/** Plans a page: keyset only, so that a page deep in a million records costs what the first one does. */
export function planPage(resource: Resource, request: ListRequest, scope: Scope): PagePlan {
  const costly = isCostly(resource, request)
  const { order, cursor, limit } = request
  const plain = request.conditions.length === 0 && request.words.length === 0 && !request.selection
  const usual = plain && limit === usualLimit && order.target.name === 'createdAt' && scope.parentId === undefined
  if (!usual || (cursor && !('id' in cursor.at))) return { statement: pageStatement(resource, request, scope), costly }
  const build = (id: Parameter) =>
    pageStatement(resource, cursor ? { ...request, cursor: { ...cursor, at: { id } } } : request, scope)
  const name = `${resource.component} page ${order.descending} ${cursor?.direction ?? 'first'}`
  const value = cursor && 'id' in cursor.at ? String(cursor.at.id) : ''
  return { statement: { name, value, build }, costly }
}

function pageStatement(resource: Resource, request: ListRequest, scope: Scope): Sql {
  const { order, cursor, limit } = request
  const backwards = cursor?.direction === 'before'
  const source = {
    table: sql`${identifier(resource.table)} ${raw(root)}`,
    joins: joinsFor(resource, request, scope, order.target),
    within: withinScope(resource, scope),
    filters: filtersSql(resource, request, scope, order.target.name),
    walkFirst: order.indexed && narrowedBy(resource, request) === 'inverted',
  }
  const inOrder = raw(backwards ? 'position desc' : 'position')
  const [nearest, farthest] = [
    raw('max(place) filter (where position = 1)'),
    raw('(array_agg(place order by position desc))[1]'),
  ]
  // The limit stands in the text: as a parameter it would hide from the planner how little is asked for.
  const most = raw(String(limit))
  return sql`with ${boundarySql(source, request)}${pageSql(source, request)},
    shown as (
      select position, ${documentSql(resource, request.selection)} as document,
        case when position = 1 or position = (select least(count(*), ${most}) from page) then ${placeSql(order)} end as place
      from page ${raw(root)}${lookups(resource, scope.organization)}
      where position <= ${most}
    )
    select '[' || coalesce(string_agg(document, ',' order by ${inOrder}), '') || ']' as text,
      (select count(*) from page) > ${most} as more,
      ${cursor && 'id' in cursor.at ? raw('exists (select from boundary)') : raw('true')} as cursor_found,
      ${parentFound(resource, scope)} as parent_found,
      ${backwards ? farthest : nearest} as first,
      ${backwards ? nearest : farthest} as last
    from shown`
}

/** The sort keys and the id of a shown record, as text that casts back to the same values. */
function placeSql(order: Order): Sql {
  const keys = keyNamesOf(order).map((name) => sql`${name}::text`)
  return sql`jsonb_build_array(
    case when not absent then jsonb_build_array(${join(keys, ', ')}) end, ${raw(root)}.id)::text`
}

/** The place that `first` and `last` of a page's row tell. */
export function readPlace(place: string): Position {
  const [keys, id] = JSON.parse(place) as [string[] | null, string]
  return { keys, id }
}

/** The statement that counts; exact, whatever it costs. */
export function planCount(resource: Resource, request: Filters, scope: Scope): { statement: Sql; costly: boolean } {
  const statement = sql`select count(*)::text as count, ${parentFound(resource, scope)} as parent_found
    from ${identifier(resource.table)} ${raw(root)}${joinsFor(resource, request, scope)}
    where ${matching(resource, request, scope)}`
  return { statement, costly: narrowedBy(resource, request) === undefined }
}

/** A boolean: is it one of the records that a count of this request counts? */
export function matching(resource: Resource, request: Filters, scope: Scope): Sql {
  const filters = filtersSql(resource, request, scope)
  const within = withinScope(resource, scope)
  return filters ? sql`${within} and ${filters}` : within
}

/** The organization, the parent, not deleted: what bounds every statement of the kernel. */
export function withinScope({ parent, livesIn, softDelete }: Resource, scope: Scope, alias = root): Sql {
  const table = raw(alias)
  const parts = [sql`${table}.organization_id = ${scope.organization}`]
  if (parent) parts.push(sql`${table}.${identifier(parent.column)} = ${scope.parentId}::uuid`)
  if (softDelete) parts.push(sql`${table}.deleted_at is null`)
  if (livesIn) parts.push(isThere(livesIn.resource, scope, sql`${table}.${identifier(livesIn.column)}`))
  return join(parts, ' and ')
}

/** A boolean: is the parent of the path there? True for a resource without one. */
export function parentFound(resource: Resource, scope: Scope): Sql {
  return resource.parent ? isThere(resource.parent.resource, scope, sql`${scope.parentId}::uuid`) : raw('true')
}

const isThere = ({ table, softDelete }: Resource, { organization }: Scope, id: Sql): Sql =>
  sql`exists (select from ${identifier(table)} parent where parent.organization_id = ${organization}
    and parent.id = ${id}${raw(softDelete ? ' and parent.deleted_at is null' : '')})`

/** The joins of a list: only where a filter or the order looks into an embedded record. */
function joinsFor(resource: Resource, { conditions }: Filters, scope: Scope, ordered?: Target): Sql {
  const targets = [...conditions.map(({ target }) => target), ...(ordered ? [ordered] : [])]
  return targets.some((target) => isJoined(resource, target)) ? joins(resource, scope.organization) : raw('')
}

/** Every filter and word as one condition; undefined when there are none. */
function filtersSql(
  resource: Resource,
  { conditions, words }: Filters,
  scope: Scope,
  orderedBy?: string,
): Sql | undefined {
  const parts = [
    ...conditions.map((condition) => conditionSql(resource, condition, orderedBy)),
    ...words.map((word) => wordSql(resource, word, scope)),
  ]
  return parts.length > 0 ? join(parts, ' and ') : undefined
}

/** A word of `query` is part of the record's search column or of an embedded record's field. */
function wordSql(resource: Resource, word: string, scope: Scope): Sql {
  const pattern = sql`'%' || like_literal(${new Parameter(word)}::text) || '%'`
  const own = sql`${raw(root)}.search like ${pattern}`
  const through = resource.searchThrough.map((path) => {
    const [name = '', fieldName = ''] = path.split('.')
    const embedded = resource.embedded[name]
    if (!embedded) throw new Error(`${resource.name} embeds no ${name}`)
    const column = columnOf(embedded.through)
    return sql`${raw(root)}.${identifier(column)} = any(array(select other.id from ${identifier(embedded.resource.table)} other
      where other.organization_id = ${scope.organization} and other.deleted_at is null
        and other.search like ${pattern} and fold(other.${identifier(fieldName)}) like ${pattern}))`
  })
  return through.length === 0 ? own : sql`(${join([own, ...through], ' or ')})`
}

/** The best index that bounds the work, so that it follows the hits and not the size of the organization. */
function narrowedBy(resource: Resource, { conditions, words }: Filters): Narrowing | undefined {
  const found = conditions.map(narrowingOf)
  if (resource.parent?.few || found.includes('sorted')) return 'sorted'
  return found.includes('inverted') || words.some(hasTrigram) ? 'inverted' : undefined
}

/** A page is cheap when an index finds the matches, or gives the order and nothing else narrows it. */
function isCostly(resource: Resource, request: ListRequest): boolean {
  if (narrowedBy(resource, request)) return false
  return !request.order.indexed || request.conditions.length > 0 || request.words.length > 0
}
