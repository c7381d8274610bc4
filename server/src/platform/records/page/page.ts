import type { FixedStatement } from '../../database/fixed-statements.ts'
import { identifier, join, Parameter, raw, type Sql, sql, plannerVisible } from '../../model/sql.ts'
import { columnOf, type Resource } from '../declare/define.ts'
import { furtherText } from '../declare/address-lists.ts'
import { phoneFragment } from '../../model/phone.ts'
import { hasTrigram, lookupSql, lookupValues, type IndexKind } from '../filter/condition.ts'
import type { Position } from './cursor.ts'
import { conditionsOf, conjunctsOf, filterIndexKind, filterSql, targetsOf } from '../filter/filter.ts'
import { hasBounds, pageEntries, servingEntries } from './entry-sources.ts'
import type { Order } from './order.ts'
import { areReady, type Entries, withRecords } from '../properties/entries.ts'
import { type Cursor, type Filters, type ListRequest, defaultLimit } from './parse.ts'
import {
  andWithinReach,
  visibleOrganization,
  readFor,
  existsInSetSql,
  existsSql,
  indexableReach,
  parentFound,
  reachConditions,
  type Scope,
} from '../filter/scope.ts'
import { boundarySql, isIndexUsed, keyNamesOf, type PageSource, pageSql } from './scans.ts'
import { pageColumns, documentJoins, documentSql } from './select.ts'
import { findTarget, isJoined, joins, root, type Target } from '../filter/target.ts'

/** The single row that a page's statement returns. */
export interface PageRow {
  /** The JSON array, as it is sent. */
  text: string
  more: boolean
  /** False if the cursor's record does not exist. */
  cursor_found: boolean
  /** False if the parent in the path does not exist. */
  parent_found: boolean
  /** False if an index that the statement uses is no longer ready: the page may be incomplete. */
  indexes_ready: boolean
  first: string | null
  last: string | null
}

export interface PagePlan {
  statement: Sql | FixedStatement
  isExpensive: boolean
}

/** Keyset pagination only, so that a page deep in a million records costs the same as the first one. */
export const planPage = (resource: Resource, request: ListRequest, scope: Scope): PagePlan => ({
  statement: fixedPage(resource, request, scope) ?? pageStatement(resource, request, scope),
  isExpensive: isExpensivePage(resource, request, scope),
})

/** The most frequent pages, whose plan does not depend on values: prepared and planned once. */
function fixedPage(resource: Resource, request: ListRequest, scope: Scope): FixedStatement | undefined {
  const { order, cursor, limit, filter, words, selection } = request
  const isDefaultPage = limit === defaultLimit && order.target.name === 'createdAt' && words.length === 0
  if (!isDefaultPage || request.deleted || selection || scope.parentId !== undefined) return undefined
  // The best plan depends on how many records are within reach.
  if (isReachScattered(resource, request, scope)) return undefined
  const name = `${resource.component} page ${order.descending}`
  // Otherwise, a page reads on past every record of a deleted parent.
  const isCheap = resource.requiredParents === undefined
  const conditions = conditionsOf(filter)
  if (!conditions) return undefined
  const [condition, ...others] = conditions
  if (condition) {
    const values = lookupValues(condition)
    if (!values || others.length > 0 || cursor) return undefined
    const build = (given: readonly Parameter[]) =>
      pageStatement(resource, request, scope, lookupSql(condition.target, given))
    return { name: `${name} by ${condition.target.name}`, isCheap, values, build }
  }
  if (!cursor)
    return { name: `${name} first`, isCheap, values: [], build: () => pageStatement(resource, request, scope) }
  const at = (position: Cursor['at']) =>
    pageStatement(resource, { ...request, cursor: { ...cursor, at: position } }, scope)
  const from = `${name} ${cursor.direction}`
  if ('id' in cursor.at) {
    return {
      name: `${from} record`,
      isCheap,
      values: [String(cursor.at.id)],
      build: ([id]) => at({ id: requireParameter(id) }),
    }
  }
  const { keys, id: last } = cursor.at.position
  if (!keys) return undefined
  return {
    name: `${from} position`,
    isCheap,
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
  const { order, cursor, limit, deleted } = request
  const backwards = cursor?.direction === 'before'
  const { indexes, ...entrySources } = pageEntries(resource, request, scope)
  const isScattered = indexes.length === 0 && isReachScattered(resource, request, scope)
  const within = withinScope(resource, scope, { isListed: true, deleted })
  const source: PageSource = {
    table: sql`${identifier(resource.table)} ${raw(root)}`,
    joins: joinsFor(resource, request, scope, order.target),
    carried: pageColumns(resource, request.selection),
    within: isScattered ? join(withinList(resource, scope, { isListed: true, deleted }), ' and ') : within,
    reached: within,
    matched: isScattered
      ? join(
          [...withinList(resource, scope, { deleted }), ...indexableReach(resource, scope, raw(root), isIndexUsed)],
          ' and ',
        )
      : withinScope(resource, scope, {
          isListed: true,
          deleted,
          // With a search through other records, the organization's index may be used too.
          isIndexed: request.words.length > 0 && resource.searchEmbedded.length > 0,
        }),
    filters: isScattered ? join([...withinReach(resource, scope), ...(filters ? [filters] : [])], ' and ') : filters,
    scanInOrderFirst:
      isScattered ||
      entrySources.found !== undefined ||
      (order.indexed && !servingEntries(request, scope) && indexKindFor(resource, request) === 'inverted'),
    extendScan:
      !entrySources.found &&
      (filters ? targetsOf(request.filter).some(({ field }) => field.filter !== 'string') : isScattered),
    ...entrySources,
  }
  const inOrder = raw(backwards ? 'page_position desc' : 'page_position')
  const [nearest, farthest] = [
    raw('max(cursor_position) filter (where page_position = 1)'),
    raw('(array_agg(cursor_position order by page_position desc))[1]'),
  ]
  // The limit is part of the text: as a parameter, the planner would not know how few rows are needed.
  const limitSql = raw(String(limit))
  return sql`with ${boundarySql(source, request)}${pageSql(source, request)},
    shown as (
      select page_position, page_total, ${documentSql(resource, { selection: request.selection, source: 'carried', ...readFor(resource, scope) })} as document,
        case when page_position in (1, least(page_total, ${limitSql})) then ${positionSql(order)} end as cursor_position
      from page ${raw(root)}${documentJoins(resource, scope)}
      where page_position <= ${limitSql}
    )
    select '[' || coalesce(string_agg(document, ',' order by ${inOrder}), '') || ']' as text,
      coalesce(max(page_total), 0) > ${limitSql} as more,
      ${cursor && 'id' in cursor.at ? raw('exists (select from boundary)') : raw('true')} as cursor_found,
      ${parentFound(resource, scope)} as parent_found,
      ${areReady(indexes, scope)} as indexes_ready,
      ${backwards ? farthest : nearest} as first,
      ${backwards ? nearest : farthest} as last
    from shown`
}

/** A record's sort keys and id as text that casts back to the same values. */
function positionSql(order: Order): Sql {
  const keys = keyNamesOf(order).map((name) => sql`${name}::text`)
  return sql`jsonb_build_array(
    case when not absent then jsonb_build_array(${join(keys, ', ')}) end, ${raw(root)}.id)::text`
}

export function parsePosition(text: string): Position {
  const [keys, id] = JSON.parse(text) as [string[] | null, string]
  return { keys, id }
}

export function planCount(
  resource: Resource,
  request: Filters,
  scope: Scope,
): { statement: Sql; isExpensive: boolean } {
  const entries = servingEntries(request, scope)
  const statement = sql`select count(*)::text as count, ${parentFound(resource, scope)} as parent_found,
      ${areReady(entries?.indexes ?? [], scope)} as indexes_ready
    from ${entries ? countedEntries(resource, entries, scope) : matchingRecords(resource, request, scope)}`
  return { statement, isExpensive: !entries && indexKindFor(resource, request) === undefined }
}

/** Without their records if nothing else decides which of them count. */
function countedEntries(resource: Resource, { tables, within, others }: Entries, scope: Scope): Sql {
  if (others.length === 0 && !hasBounds(resource, scope)) return sql`${tables} where ${within}`
  const filter = { and: others }
  const parts = [within, matching(resource, { filter, words: [], deleted: false }, scope)]
  const records = sql`${withRecords(tables, resource, scope)}${joinsFor(resource, { filter, words: [], deleted: false }, scope)}`
  return sql`${records} where ${join(parts, ' and ')}`
}

/** The records that match the filters, as `record`, from the table on: for counts and sums. */
export const matchingRecords = (resource: Resource, request: Filters, scope: Scope, more: Sql = raw('')): Sql =>
  sql`${identifier(resource.table)} ${raw(root)}${joinsFor(resource, request, scope)}${more}
    where ${matching(resource, request, scope)}`

export function matching(resource: Resource, request: Filters, scope: Scope): Sql {
  const filters = filtersSql(resource, request, scope)
  const within = withinScope(resource, scope, { isListed: true, ofMany: true, deleted: request.deleted })
  return filters ? sql`${within} and ${filters}` : within
}

/**
 * The bounds of every statement: organization, parent, not deleted, within reach. Without `isIndexed` no index on the organization is
 * used, because the planner would read everything of the organization next to another index's matches. `isListed`: many
 * records are scanned. `ofMany`: their parents may be read as a whole. `deleted`: only deleted records that can be restored.
 */
export function withinScope(
  resource: Resource,
  scope: Scope,
  { isIndexed = true, isListed = false, ofMany = false, deleted = false } = {},
): Sql {
  return join(
    [...withinList(resource, scope, { isIndexed, isListed, deleted }), ...withinReach(resource, scope, ofMany)],
    ' and ',
  )
}

/** The bounds that are the same for every reader. */
function withinList(resource: Resource, scope: Scope, { isIndexed = true, isListed = false, deleted = false }): Sql[] {
  const { parent, softDelete, restorableDays } = resource
  const table = raw(root)
  const organization = isListed ? plannerVisible(scope.organization) : scope.organization
  const owner = [sql`${table}.organization_id = ${organization}`]
  if (parent) owner.push(sql`${table}.${identifier(parent.column)} = ${scope.parentId}::uuid`)
  // Otherwise hidden from the planner, unless it needs it.
  const isVisible = isIndexed || visibleOrganization(scope) !== undefined
  const parts = isVisible ? owner : [sql`(${join(owner, ' and ')}) is true`]
  if (deleted) parts.push(restorable(restorableDays))
  else if (softDelete) parts.push(sql`${table}.deleted_at is null`)
  return parts
}

/** The bounds of the reader's reach, and the parents that must exist and be within it. */
export function withinReach(resource: Resource, scope: Scope, ofMany = false): Sql[] {
  const { requiredParents = [] } = resource
  const parents = requiredParents.map(({ resource: required, column }) => {
    const id = sql`${raw(root)}.${identifier(column)}`
    const isLiving = ofMany ? existsInSetSql(required, scope, id) : existsSql(required, scope, id)
    return requiredParents.length === 1 ? isLiving : sql`(${id} is null or ${isLiving})`
  })
  return [...reachConditions(resource, scope, raw(root)), ...parents]
}

/**
 * May the reader's records be far apart in the order, so that reading on until a page is full could read the whole
 * organization? Not in the default order of the own records, which has an index.
 */
function isReachScattered(resource: Resource, { order, deleted, ...filters }: ListRequest, scope: Scope): boolean {
  if (deleted || !order.indexed || indexKindFor(resource, { ...filters, deleted }) === 'sorted') return false
  const isOwnInOrder = scope.actor.reach?.levels[resource.singular] === 'own' && order.target.name === 'createdAt'
  const hasFilters = indexKindFor(resource, { ...filters, deleted }) === 'inverted'
  return indexableReach(resource, scope, raw(root)).length > 0 && (!isOwnInOrder || hasFilters)
}

/** The planner sees only that they are deleted, so that it uses the index of the organization's deleted records. */
export const restorable = (days: number): Sql =>
  raw(`${root}.deleted_at is not null and (${root}.deleted_at > now() - interval '${days} days') is true`)

/** The joins of a list, only if a filter or the order uses an embedded record. */
function joinsFor(resource: Resource, { filter, words }: Filters, scope: Scope, ordered?: Target): Sql {
  const searched = words.length > 0 ? composedTargets(resource) : []
  const targets = [...targetsOf(filter), ...searched, ...(ordered ? [ordered] : [])]
  return targets.some((target) => isJoined(resource, target)) ? joins(resource, scope) : raw('')
}

/** The condition that a record meets if it matches every filter and every search word; undefined without any. */
function filtersSql(resource: Resource, { filter, words }: Filters, scope: Scope, orderedBy?: string): Sql | undefined {
  const parts = [
    ...filterSql(resource, filter, scope, orderedBy),
    ...(words.length > 0 ? [wordsSql(resource, words, scope)] : []),
  ]
  if (parts.length === 0) return undefined
  const all = join(parts, ' and ')
  // Never true, which the planner does not know: it would leave out tables in which the filters are false for all rows, and
  // with them the organization, which it needs.
  return resource.isUnion && visibleOrganization(scope) ? sql`(${all} or ${raw(root)}.organization_id is null)` : all
}

/** Records with all words in the search column are matched first, so that the index intersects the words. */
function wordsSql(resource: Resource, words: readonly string[], scope: Scope): Sql {
  const text = resource.search.length > 0 ? raw(`${root}.search`) : composedText(resource)
  const number = hasPhone(resource) ? phoneFragment(words.join(' ')) : undefined
  const conditions = words.map((word) => {
    if (resource.searchKey) return { own: beginsWith(resource.searchKey, word), through: [] }
    const pattern = containing(word)
    const matches = [pattern, ...(number === undefined || number === word ? [] : [containing(number)])]
    const own = matches.map((one) => sql`${text} like ${one}`)
    return {
      own: own.length === 1 ? join(own, '') : sql`(${join(own, ' or ')})`,
      through: [...embeddedSearchSql(resource, pattern, scope), ...furtherSearchSql(resource, matches, scope)],
    }
  })
  const own = join(
    conditions.map(({ own }) => own),
    ' and ',
  )
  const through = conditions.flatMap((one) => one.through)
  if (through.length === 0) return own
  // An index needs an array, which is scanned for each record; membership in a set is fast to test.
  const listed = through.map(({ column, found }) => sql`${column} = any(array(${found}))`)
  if (words.length === 1) return sql`(${join([own, ...listed], ' or ')})`
  const everywhere = conditions.map((one) => {
    const members = one.through.map(({ column, found }) => sql`${column} in (${found})`)
    return sql`(${join([one.own, ...members], ' or ')})`
  })
  return sql`(${own} or ${join(everywhere, ' and ')} and (${join(listed, ' or ')}))`
}

function beginsWith({ column, key }: NonNullable<Resource['searchKey']>, word: string): Sql {
  const [value, first] = [sql`${raw(root)}.${identifier(column)}`, key(word)]
  return sql`(${value} >= ${first}::text and ${value} < ${`${first}\u{10ffff}`}::text)`
}

/** What `query` searches in a resource without a search column. */
const composedTargets = (resource: Resource): Target[] =>
  resource.searchedWhenRead.map((path) => {
    const target = findTarget(resource, path)
    if ('error' in target) throw new Error(`${resource.name} search ${path}, which ${target.error}`)
    return target
  })

/** The searched text of a record, folded like that of a search column. */
function composedText(resource: Resource): Sql {
  const parts = composedTargets(resource).map(({ field, value }) => {
    if (field.filter === 'array') return sql`array_to_string(${value}, E'\\n')`
    return field.filter === 'properties' ? sql`(${value} #>> '{}')` : sql`${value}::text`
  })
  return sql`fold(concat_ws(E'\\n', ${join(parts, ', ')}))`
}

const containing = (text: string): Sql => sql`'%' || like_literal(${new Parameter(text)}::text) || '%'`

const hasPhone = ({ search, fields }: Resource): boolean => search.some((name) => fields[name]?.type === 'phone')

/** The records with the word in texts that the search column lacks: few of them, which a separate index finds. */
function furtherSearchSql(resource: Resource, patterns: readonly Sql[], scope: Scope): EmbeddedSearch[] {
  const { searchFurther, table } = resource.viewOf ?? resource
  if (!searchFurther) return []
  const { text, isThere } = furtherText(searchFurther, raw('other'))
  const matches = patterns.map((pattern) => sql`${text} like ${pattern}`)
  return [
    {
      column: sql`${raw(root)}.id`,
      found: sql`select other.id from ${identifier(table)} other
        where other.organization_id = ${plannerVisible(scope.organization)} and ${isThere} and (${join(matches, ' or ')})`,
    },
  ]
}

interface EmbeddedSearch {
  column: Sql
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
        where other.organization_id = ${plannerVisible(scope.organization)} and other.deleted_at is null${andWithinReach(embedded.resource, scope, raw('other'))}
          and other.search like ${pattern} and fold(other.${identifier(fieldName)}) like ${pattern}`,
    }
  })
}

/** The best index that bounds the work, so that its cost depends on the matches and not on the organization's size. */
function indexKindFor(resource: Resource, { filter, words, deleted }: Filters): IndexKind | undefined {
  if (deleted) return undefined
  const found = filterIndexKind(filter)
  if (resource.parent?.isSmall || found === 'sorted' || (resource.searchKey && words.length > 0)) return 'sorted'
  const isSearchIndexed = resource.search.length > 0 && words.some(hasTrigram)
  return found === 'inverted' || isSearchIndexed ? 'inverted' : undefined
}

/** A page is cheap if an index finds the matches, or if an index provides the order and there are no filters. */
function isExpensivePage(resource: Resource, request: ListRequest, scope: Scope): boolean {
  if (servingEntries(request, scope) || indexKindFor(resource, request)) return false
  // Deleted records have one index, in the default order.
  const isInOrder = request.deleted ? request.order.target.name === 'createdAt' : request.order.indexed
  return !isInOrder || conjunctsOf(request.filter).length > 0 || request.words.length > 0
}
