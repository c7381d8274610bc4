import { identifier, join, Parameter, raw, type Sql, sql } from '../database/sql.ts'
import { columnOf, type Resource } from '../resource/define.ts'
import { conditionSql, hasTrigram, isNarrow } from './condition.ts'
import type { Position } from './cursor.ts'
import { beyond, type Boundary, boundaryFromText, orderClause } from './order.ts'
import type { Filters, ListRequest } from './parse.ts'
import { documentSql } from './select.ts'
import { joins, root } from './target.ts'

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

/** The statement of one page, and the name under which a fixed shape may be prepared. */
export interface PagePlan {
  statement: Sql
  name: string | undefined
  costly: boolean
}

const rootId = sql`${raw(root)}.id`
const highest = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const lowest = '00000000-0000-0000-0000-000000000000'

/** Plans a page: keyset only, so that a page deep in a million records costs what the first one does. */
export function planPage(resource: Resource, request: ListRequest, scope: Scope): PagePlan {
  const { order, cursor, limit } = request
  const backwards = cursor?.direction === 'before'
  const keyNames = order.keys.map((_, index) => raw(`key_${index}`))
  const inOrder = raw(backwards ? 'position desc' : 'position')
  const turned = raw(backwards ? 'position' : 'position desc')
  const statement = sql`with ${boundarySql(resource, request, scope)}${pageSql(resource, request, scope, keyNames)},
    shown as (
      select position, ${documentSql(resource, request.selection)} as document, ${placeSql(keyNames)} as place
      from page ${raw(root)}${joins(resource, scope.organization)}
      where position <= ${new Parameter(limit)}
    )
    select '[' || coalesce(string_agg(document, ',' order by ${inOrder}), '') || ']' as text,
      (select count(*) from page) > ${new Parameter(limit)} as more,
      ${cursor && 'id' in cursor.at ? raw('exists (select from boundary)') : raw('true')} as cursor_found,
      ${parentFound(resource, scope)} as parent_found,
      (array_agg(place order by ${inOrder}))[1] as first,
      (array_agg(place order by ${turned}))[1] as last
    from shown`
  const unfiltered = request.conditions.length === 0 && request.words.length === 0
  const fixed = unfiltered && !request.selection && order.target.name === 'createdAt' && (!cursor || 'id' in cursor.at)
  return {
    statement,
    name: fixed ? `${resource.component} page ${order.descending} ${cursor?.direction ?? 'first'}` : undefined,
    costly: !isNarrowed(resource, request) && !(unfiltered && order.indexed),
  }
}

/** `page`: one record more than asked for, numbered in the direction of reading. */
function pageSql(resource: Resource, request: ListRequest, scope: Scope, keyNames: readonly Sql[]): Sql {
  const { order, cursor, limit } = request
  const backwards = cursor?.direction === 'before'
  const descending = order.descending !== backwards
  const take = new Parameter(limit + 1)
  const keys = order.keys.map(({ value }, index) => sql`${value} as ${keyNames[index]}`)
  const absent = order.absent ?? raw('false')
  const columns = sql`select ${raw(root)}.*, ${join(keys, ', ')}, ${absent} as absent
    from ${identifier(resource.table)} ${raw(root)}${joins(resource, scope.organization)}
    where ${whereSql(resource, request, scope)}`
  const names: Sql[] = []
  const scans = scansOf(request, boundaryOf(request, keyNames), descending).map(({ condition, hasValue }, index) => {
    const clause = orderClause(hasValue ? order.keys.map(({ value }) => value) : [], rootId, descending)
    const scan = sql`${columns} and ${condition} order by ${clause} limit ${take}`
    const full = join([raw('0'), ...names.map((name) => sql`(select count(*) from ${name})`)], ' + ')
    const name = raw(`scan_${index}`)
    names.push(name)
    // A scan that is not needed any more is not run: the count is known before it starts.
    return index === 0
      ? sql`${name} as materialized (${scan})`
      : sql`${name} as materialized (select * from (${scan}) rest where ${full} < ${take})`
  })
  const place = sql`order by absent ${raw(backwards ? 'desc' : 'asc')}, ${orderClause(keyNames, raw('id'), descending)}`
  const all = join(
    names.map((name) => sql`select * from ${name}`),
    ' union all ',
  )
  return sql`${join(scans, ', ')}, page as materialized (select *, row_number() over (${place}) as position from (${all}) found)`
}

/** The sort keys and the id of a shown record, as text that casts back to the same values. */
const placeSql = (keyNames: readonly Sql[]): Sql =>
  sql`jsonb_build_array(
    case when not absent then jsonb_build_array(${join(
      keyNames.map((name) => sql`${name}::text`),
      ', ',
    )}) end,
    ${rootId})::text`

/** The place that `first` and `last` of a page's row tell. */
export function readPlace(place: string): Position {
  const [keys, id] = JSON.parse(place) as [string[] | null, string]
  return { keys, id }
}

/** The statement that counts; exact, whatever it costs. */
export function planCount(resource: Resource, filters: Filters, scope: Scope): { statement: Sql; costly: boolean } {
  const statement = sql`select count(*)::text as count, ${parentFound(resource, scope)} as parent_found
    from ${identifier(resource.table)} ${raw(root)}${joins(resource, scope.organization)}
    where ${whereSql(resource, filters, scope)}`
  return { statement, costly: !isNarrowed(resource, filters) }
}

/** The organization, the parent, not deleted: what bounds every statement of the kernel. */
export function withinScope(resource: Resource, scope: Scope, alias = root): Sql {
  const table = raw(alias)
  const parts = [sql`${table}.organization_id = ${scope.organization}`]
  if (resource.parent) parts.push(sql`${table}.${identifier(resource.parent.column)} = ${scope.parentId}::uuid`)
  if (resource.softDelete) parts.push(sql`${table}.deleted_at is null`)
  return join(parts, ' and ')
}

/** A boolean: is the parent of the path there? True for a resource without one. */
export function parentFound(resource: Resource, scope: Scope): Sql {
  if (!resource.parent) return raw('true')
  const { resource: parent } = resource.parent
  return sql`exists (select from ${identifier(parent.table)} parent where parent.organization_id = ${scope.organization}
    and parent.id = ${scope.parentId}::uuid${raw(parent.softDelete ? ' and parent.deleted_at is null' : '')})`
}

function whereSql(resource: Resource, filters: Filters, scope: Scope): Sql {
  const conditions = filters.conditions.map((condition) => conditionSql(resource, condition))
  const words = filters.words.map((word) => wordSql(resource, word, scope))
  return join([withinScope(resource, scope), ...conditions, ...words], ' and ')
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

/** Does an index bound the work, so that it follows the hits and not the size of the organization? */
const isNarrowed = (resource: Resource, filters: Filters): boolean =>
  resource.parent?.few === true || filters.conditions.some(isNarrow) || filters.words.some(hasTrigram)

/** `boundary`: the sort keys of the record that the cursor names, read in the same statement. */
function boundarySql(resource: Resource, { order, cursor }: ListRequest, scope: Scope): Sql {
  if (!cursor || !('id' in cursor.at)) return raw('')
  const keys = order.keys.map(({ value }, index) => sql`${value} as ${raw(`key_${index}`)}`)
  return sql`boundary as materialized (
    select ${join(keys, ', ')}, ${order.absent ?? raw('false')} as absent, ${rootId} as id
    from ${identifier(resource.table)} ${raw(root)}${joins(resource, scope.organization)}
    where ${withinScope(resource, scope)} and ${rootId} = ${cursor.at.id}::uuid), `
}

function boundaryOf({ order, cursor }: ListRequest, keyNames: readonly Sql[]): Boundary | undefined {
  if (!cursor) return undefined
  if ('position' in cursor.at) {
    const { keys, id } = cursor.at.position
    return boundaryFromText(
      order,
      keys?.map((key) => new Parameter(key)),
      new Parameter(id),
    )
  }
  return {
    keys: keyNames.map((name) => sql`(select ${name} from boundary)`),
    id: sql`(select id from boundary)`,
    absent: sql`(select absent from boundary)`,
  }
}

interface Scan {
  condition: Sql
  hasValue: boolean
}

/**
 * The bounded scans of a page, in the direction of reading: records with a value, then those without (nulls last), each
 * behind the boundary. Apart, because one index then serves each of them: `nulls last` on a descending index would not.
 */
function scansOf({ order, cursor }: ListRequest, bound: Boundary | undefined, descending: boolean): Scan[] {
  const { absent } = order
  const beyondBound = bound ? beyond(order, rootId, bound, descending) : raw('true')
  if (!absent) return [{ condition: beyondBound, hasValue: true }]
  const present = sql`not ${absent}`
  if (!bound) {
    return [
      { condition: present, hasValue: true },
      { condition: absent, hasValue: false },
    ]
  }
  const symbol = raw(descending ? '<' : '>')
  if (cursor?.direction !== 'before') {
    const edge = raw(`'${descending ? highest : lowest}'::uuid`)
    const start = sql`(case when ${bound.absent} then ${bound.id} else ${edge} end)`
    return [
      { condition: sql`${present} and not ${bound.absent} and ${beyondBound}`, hasValue: true },
      { condition: sql`${absent} and ${rootId} ${symbol} ${start}`, hasValue: false },
    ]
  }
  return [
    { condition: sql`${absent} and ${bound.absent} and ${rootId} ${symbol} ${bound.id}`, hasValue: false },
    { condition: sql`${present} and not ${bound.absent} and ${beyondBound}`, hasValue: true },
    { condition: sql`${present} and ${bound.absent}`, hasValue: true },
  ]
}
