import { join, plannerVisible, raw, type Sql, sql } from '../../model/sql.ts'
import type { Resource } from '../declare/define.ts'
import { conjunctsOf, filterSql } from '../filter/filter.ts'
import type { Filters, ListRequest } from './parse.ts'
import { type Entries, entriesFor, entryOrder, withRecords } from '../properties/entries.ts'
import type { EntrySource, PageSource } from './scans.ts'
import { reachConditions, type Scope } from '../filter/scope.ts'
import { root } from '../filter/target.ts'

export interface PageEntries extends Pick<PageSource, 'scanned' | 'inOrder' | 'found'> {
  /** The indexes (uuids), which must be ready. */
  indexes: readonly string[]
}

const recordId = raw('entry.record_id')
const created = { keys: [raw('entry.created_at')], id: recordId, keysOf: (keys: readonly Sql[]) => keys }

/** The entries that serve the filters of a list or a count; undefined if other indexes do, or none. */
export const servingEntries = (
  { filter, words, deleted }: Filters,
  scope: Scope,
  orderedBy?: string,
): Entries | undefined => (deleted || words.length > 0 ? undefined : entriesFor(conjunctsOf(filter), scope, orderedBy))

export function pageEntries(resource: Resource, request: ListRequest, scope: Scope): PageEntries {
  const { order, deleted } = request
  const ordering = deleted ? undefined : entryOrder(order.target)
  const entries = servingEntries(request, scope, ordering?.index)
  if (ordering) {
    const columns = { keys: [raw('entry.number'), raw('entry.text')], id: recordId, keysOf: ordering.keysOf }
    if (entries) return { indexes: entries.indexes, inOrder: { ...sourceOf(resource, entries, scope), ...columns } }
    const organization = plannerVisible(scope.organization)
    const all = {
      table: withRecords(raw('property_entries entry'), resource, scope),
      within: sql`entry.organization_id = ${organization} and entry.index_id = ${ordering.index}::uuid`,
    }
    return { indexes: [ordering.index], inOrder: { ...all, ...columns } }
  }
  if (!entries) return { indexes: [] }
  const { indexes } = entries
  const source = sourceOf(resource, entries, scope)
  const isByCreation = order.target.name === 'createdAt'
  if (entries.isSingleValue)
    return isByCreation ? { indexes, inOrder: { ...source, ...created } } : { indexes, scanned: source }
  if (!order.indexed) return { indexes, scanned: source }
  const isComplete = entries.others.length === 0 && !hasBounds(resource, scope)
  return {
    indexes,
    found: { ...source, ...(isByCreation && isComplete && { first: firstOf(resource, entries, scope) }) },
  }
}

function sourceOf(resource: Resource, { tables, within, others }: Entries, scope: Scope): EntrySource {
  const filters = filterSql(resource, { and: others }, scope)
  return {
    table: withRecords(tables, resource, scope),
    within,
    filters: filters.length > 0 ? join(filters, ' and ') : undefined,
  }
}

/** The first entries of a page, found without reading their records. */
const firstOf = (resource: Resource, { tables, within }: Entries, scope: Scope) => ({
  ...created,
  table: (condition: Sql, clause: Sql, take: Sql): Sql =>
    withRecords(
      sql`(select entry.record_id from ${tables} where ${within} and ${condition} order by ${clause} limit ${take}) entry`,
      resource,
      scope,
    ),
})

/** Do other tables or columns decide which of the records that are not deleted belong to the list? */
export const hasBounds = (resource: Resource, scope: Scope): boolean =>
  resource.parent !== undefined ||
  (resource.requiredParents ?? []).length > 0 ||
  reachConditions(resource, scope, raw(root)).length > 0
