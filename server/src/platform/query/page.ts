import type { FixedStatement } from '../database/database.ts'
import { identifier, join, Parameter, raw, type Sql, sql, plannerVisible } from '../model/sql.ts'
import { columnOf, type Resource } from '../model/define.ts'
import { hasTrigram, lookupSql, lookupValues, type IndexKind } from './condition.ts'
import type { Position } from './cursor.ts'
import { conditionsOf, conjunctsOf, filterIndexKind, filterSql, targetsOf } from './filter.ts'
import type { Order } from './order.ts'
import { type Cursor, type Filters, type ListRequest, defaultLimit } from './parse.ts'
import { boundarySql, keyNamesOf, pageSql } from './scans.ts'
import { pageColumns, documentJoins, documentSql } from './select.ts'
import { isJoined, joins, root, type Target } from './target.ts'

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
  isExpensive: boolean
}

/** Plans a page: keyset only, so that a page deep in a million records costs what the first one does. */
export const planPage = (resource: Resource, request: ListRequest, scope: Scope): PagePlan => ({
  statement: fixedPage(resource, request, scope) ?? pageStatement(resource, request, scope),
  isExpensive: isExpensivePage(resource, request),
})

/** The pages that are asked for most, and whose plan no value decides: prepared once, planned once. */
function fixedPage(resource: Resource, request: ListRequest, scope: Scope): FixedStatement | undefined {
  const { order, cursor, limit, filter, words, selection } = request
  const isDefaultPage = limit === defaultLimit && order.target.name === 'createdAt' && words.length === 0
  if (!isDefaultPage || selection || scope.parentId !== undefined) return undefined
  const name = `${resource.component} page ${order.descending}`
  const conditions = conditionsOf(filter)
  if (!conditions) return undefined
  const [condition, ...others] = conditions
  if (condition) {
    const values = lookupValues(condition)
    if (!values || others.length > 0 || cursor) return undefined
    const build = (given: readonly Parameter[]) =>
      pageStatement(resource, request, scope, lookupSql(condition.target, given))
    return { name: `${name} by ${condition.target.name}`, values, build }
  }
  if (!cursor) return { name: `${name} first`, values: [], build: () => pageStatement(resource, request, scope) }
  const at = (place: Cursor['at']) => pageStatement(resource, { ...request, cursor: { ...cursor, at: place } }, scope)
  const from = `${name} ${cursor.direction}`
  if ('id' in cursor.at) {
    return { name: `${from} record`, values: [String(cursor.at.id)], build: ([id]) => at({ id: requireParameter(id) }) }
  }
  const { keys, id: last } = cursor.at.position
  if (!keys) return undefined
  return {
    name: `${from} place`,
    values: [...keys, last].map(String),
    build: (given) => at({ position: { keys: given.slice(0, -1), id: requireParameter(given.at(-1)) } }),
  }
}

function requireParameter(parameter: Parameter | undefined): Parameter {
  if (!parameter) throw new Error('a fixed statement needs exactly as many values as it names')
  return parameter
}

function pageStatement(
  resource: Resource,
  request: ListRequest,
  scope: Scope,
  filters = filtersSql(resource, request, scope, request.order.target.name),
): Sql {
  const { order, cursor, limit } = request
  const backwards = cursor?.direction === 'before'
  const source = {
    table: sql`${identifier(resource.table)} ${raw(root)}`,
    joins: joinsFor(resource, request, scope, order.target),
    carried: pageColumns(resource, request.selection),
    within: withinScope(resource, scope, { isListed: true }),
    // Those that are found through another record are found by the organization as well.
    matched: withinScope(resource, scope, {
      isListed: true,
      isIndexed: request.words.length > 0 && resource.searchEmbedded.length > 0,
    }),
    filters,
    scanInOrderFirst: order.indexed && indexKindFor(resource, request) === 'inverted',
    extendScan: targetsOf(request.filter).some(({ field }) => field.filter !== 'string'),
  }
  const inOrder = raw(backwards ? 'page_position desc' : 'page_position')
  const [nearest, farthest] = [
    raw('max(place) filter (where page_position = 1)'),
    raw('(array_agg(place order by page_position desc))[1]'),
  ]
  // The limit stands in the text: as a parameter it would hide from the planner how little is asked for.
  const limitSql = raw(String(limit))
  return sql`with ${boundarySql(source, request)}${pageSql(source, request)},
    shown as (
      select page_position, page_total, ${documentSql(resource, { selection: request.selection, source: 'carried' })} as document,
        case when page_position in (1, least(page_total, ${limitSql})) then ${positionSql(order)} end as place
      from page ${raw(root)}${documentJoins(resource, scope.organization)}
      where page_position <= ${limitSql}
    )
    select '[' || coalesce(string_agg(document, ',' order by ${inOrder}), '') || ']' as text,
      coalesce(max(page_total), 0) > ${limitSql} as more,
      ${cursor && 'id' in cursor.at ? raw('exists (select from boundary)') : raw('true')} as cursor_found,
      ${parentFound(resource, scope)} as parent_found,
      ${backwards ? farthest : nearest} as first,
      ${backwards ? nearest : farthest} as last
    from shown`
}

/** The sort keys and the id of a shown record, as text that casts back to the same values. */
function positionSql(order: Order): Sql {
  const keys = keyNamesOf(order).map((name) => sql`${name}::text`)
  return sql`jsonb_build_array(
    case when not absent then jsonb_build_array(${join(keys, ', ')}) end, ${raw(root)}.id)::text`
}

/** The place that `first` and `last` of a page's row tell. */
export function parsePosition(place: string): Position {
  const [keys, id] = JSON.parse(place) as [string[] | null, string]
  return { keys, id }
}

/** The statement that counts; exact, whatever it costs. */
export function planCount(
  resource: Resource,
  request: Filters,
  scope: Scope,
): { statement: Sql; isExpensive: boolean } {
  const statement = sql`select count(*)::text as count, ${parentFound(resource, scope)} as parent_found
    from ${identifier(resource.table)} ${raw(root)}${joinsFor(resource, request, scope)}
    where ${matching(resource, request, scope)}`
  return { statement, isExpensive: indexKindFor(resource, request) === undefined }
}

/** A boolean: is it one of the records that a count of this request counts? */
export function matching(resource: Resource, request: Filters, scope: Scope): Sql {
  const filters = filtersSql(resource, request, scope)
  const within = withinScope(resource, scope, { isListed: true, ofMany: true })
  return filters ? sql`${within} and ${filters}` : within
}

/**
 * The organization, the parent, not deleted: what bounds every statement of the kernel. Unless it `isIndexed`, no index of
 * the organization is used: beside what another index found, the planner would read all that belongs to it. `isListed`:
 * many are looked through, not single ones looked up; `ofMany`: what they live in may be read as a whole.
 */
export function withinScope(
  { parent, requiredParents: livesIn = [], softDelete }: Resource,
  scope: Scope,
  { isIndexed = true, isListed = false, ofMany = false } = {},
): Sql {
  const table = raw(root)
  const organization = isListed ? plannerVisible(scope.organization) : scope.organization
  const owner = [sql`${table}.organization_id = ${organization}`]
  if (parent) owner.push(sql`${table}.${identifier(parent.column)} = ${scope.parentId}::uuid`)
  const parts = isIndexed ? owner : [sql`(${join(owner, ' and ')}) is true`]
  if (softDelete) parts.push(sql`${table}.deleted_at is null`)
  for (const { resource, column } of livesIn) {
    const id = sql`${table}.${identifier(column)}`
    const isLiving = ofMany ? existsInSetSql(resource, scope, id) : existsSql(resource, scope, id)
    parts.push(livesIn.length === 1 ? isLiving : sql`(${id} is null or ${isLiving})`)
  }
  return join(parts, ' and ')
}

/** A boolean: is the parent of the path there? True for a resource without one. */
export function parentFound(resource: Resource, scope: Scope): Sql {
  return resource.parent ? existsSql(resource.parent.resource, scope, sql`${scope.parentId}::uuid`) : raw('true')
}

/** Looked up by its key alone, whatever the planner thinks of how many there are, and of how many are deleted. */
const existsSql = ({ table, softDelete }: Resource, { organization }: Scope, id: Sql): Sql =>
  sql`coalesce((select ${raw(softDelete ? 'parent.deleted_at is null' : 'true')} from ${identifier(table)} parent
    where parent.organization_id = ${organization} and parent.id = ${id}), false)`

/** The same for a set, which can be joined: at a million, looking up each one takes five times as long. */
const existsInSetSql = ({ table, softDelete }: Resource, { organization }: Scope, id: Sql): Sql =>
  sql`exists (select from ${identifier(table)} parent where parent.organization_id = ${organization}
    and parent.id = ${id}${raw(softDelete ? ' and parent.deleted_at is null' : '')})`

/** The joins of a list: only where a filter or the order looks into an embedded record. */
function joinsFor(resource: Resource, { filter }: Filters, scope: Scope, ordered?: Target): Sql {
  const targets = [...targetsOf(filter), ...(ordered ? [ordered] : [])]
  return targets.some((target) => isJoined(resource, target)) ? joins(resource, scope.organization) : raw('')
}

/** Every filter and word as one condition; undefined when there are none. */
function filtersSql(resource: Resource, { filter, words }: Filters, scope: Scope, orderedBy?: string): Sql | undefined {
  const parts = [
    ...filterSql(resource, filter, orderedBy),
    ...(words.length > 0 ? [wordsSql(resource, words, scope)] : []),
  ]
  return parts.length > 0 ? join(parts, ' and ') : undefined
}

/**
 * Each word of `query` is part of the record's search column or of an embedded record's field. Whoever has them all in
 * that column is asked for first, so that the index intersects the words; word by word it would fetch all that have one.
 */
function wordsSql(resource: Resource, words: readonly string[], scope: Scope): Sql {
  const places = words.map((word) => {
    const pattern = sql`'%' || like_literal(${new Parameter(word)}::text) || '%'`
    return { own: sql`${raw(root)}.search like ${pattern}`, through: embeddedSearchSql(resource, pattern, scope) }
  })
  const own = join(
    places.map((place) => place.own),
    ' and ',
  )
  const through = places.flatMap((place) => place.through)
  if (through.length === 0) return own
  // An index takes a list, which is gone through for each record; whether a record is in a set is quick to tell.
  const listed = through.map(({ column, found }) => sql`${column} = any(array(${found}))`)
  if (words.length === 1) return sql`(${join([own, ...listed], ' or ')})`
  const everywhere = places.map((place) => {
    const members = place.through.map(({ column, found }) => sql`${column} in (${found})`)
    return sql`(${join([place.own, ...members], ' or ')})`
  })
  return sql`(${own} or ${join(everywhere, ' and ')} and (${join(listed, ' or ')}))`
}

interface EmbeddedSearch {
  column: Sql
  /** The ids of the embedded records that have it. */
  found: Sql
}

function embeddedSearchSql(resource: Resource, pattern: Sql, scope: Scope): EmbeddedSearch[] {
  return resource.searchEmbedded.map((path) => {
    const [name = '', fieldName = ''] = path.split('.')
    const embedded = resource.embedded[name]
    if (!embedded) throw new Error(`${resource.name} embeds no ${name}`)
    return {
      column: sql`${raw(root)}.${identifier(columnOf(embedded.through))}`,
      found: sql`select other.id from ${identifier(embedded.resource.table)} other
        where other.organization_id = ${plannerVisible(scope.organization)} and other.deleted_at is null
          and other.search like ${pattern} and fold(other.${identifier(fieldName)}) like ${pattern}`,
    }
  })
}

/** The best index that bounds the work, so that it follows the hits and not the size of the organization. */
function indexKindFor(resource: Resource, { filter, words }: Filters): IndexKind | undefined {
  const found = filterIndexKind(filter)
  if (resource.parent?.isSmall || found === 'sorted') return 'sorted'
  return found === 'inverted' || words.some(hasTrigram) ? 'inverted' : undefined
}

/** A page is cheap when an index finds the matches, or gives the order and nothing else narrows it. */
function isExpensivePage(resource: Resource, request: ListRequest): boolean {
  if (indexKindFor(resource, request)) return false
  return !request.order.indexed || conjunctsOf(request.filter).length > 0 || request.words.length > 0
}
