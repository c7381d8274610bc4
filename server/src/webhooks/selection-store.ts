import type { Connection } from '../platform/database/database.ts'
import { serviceActor, type Actor } from '../platform/model/caller.ts'
import type { BodyError } from '../platform/model/errors.ts'
import { identifier, join, raw, type Sql, sql } from '../platform/model/sql.ts'
import { listedAcrossParents, type Resource } from '../platform/records/declare/define.ts'
import type { Relations } from '../platform/records/declare/relations.ts'
import { type Filter, filterSql, relationsIn } from '../platform/records/filter/filter.ts'
import { findTarget, joins, root } from '../platform/records/filter/target.ts'
import { withinReach } from '../platform/records/page/page.ts'
import { QueryReader } from '../platform/records/page/parse.ts'
import { readRelativeSpans, scopeOf } from '../platform/records/page/read.ts'
import { parseTree } from '../platform/records/page/tree.ts'
import { withDefinitions } from '../platform/records/properties/resources.ts'
import { covers } from '../platform/model/scopes.ts'
import { decodeId } from '../platform/model/ids.ts'
import { readTimeZone } from '../identity/organizations/store.ts'
import { isSeen } from '../feed/page-store.ts'
import type { JsonObject } from '../platform/model/json.ts'
import { eventScope, followedBy } from './types.ts'

/** The settings of a webhook that decide which events it sends. */
export interface Selecting {
  events: readonly string[]
  scopes: readonly string[]
  filter: JsonObject
  changedFields: readonly string[]
}

interface Readable {
  followed: readonly Resource[]
  relations: Relations
}

/** Reads as an API key would that has no creator: what is personal stays out. */
export const webhookActor = (organizationId: string): Actor => ({
  ...serviceActor('maintenance', organizationId),
  kind: 'key',
})

const isSelective = ({ filter, changedFields }: Selecting): boolean =>
  Object.keys(filter).length > 0 || changedFields.length > 0

/** Errors in `filter` and `changedFields`, which need one resource whose fields they name. */
export async function errorsOfSelection(
  db: Connection,
  readable: Readable,
  selecting: Selecting,
): Promise<readonly BodyError[]> {
  if (!isSelective(selecting)) return []
  const [resource, ...others] = followedBy(selecting.events, selecting.scopes, readable.followed)
  if (!resource || others.length > 0) {
    const message = 'requires that the events are those of one resource, such as contact.*'
    const names = (['filter', 'changedFields'] as const).filter((name) => Object.keys(selecting[name]).length > 0)
    return names.map((field) => ({ field, message }))
  }
  const reader = new QueryReader()
  const { filter, listed } = await readFilter(db, readable, { resource, selecting, reader })
  for (const relation of relationsIn(filter))
    if (!covers(selecting.scopes, eventScope(relation.resource)))
      reader.addError('filter', `${relation.name} requires the scope ${eventScope(relation.resource)}`)
  for (const path of selecting.changedFields) {
    const target = findTarget(listed, path, reader.suggestions)
    if ('error' in target) reader.addError('changedFields', `"${path}": ${target.error}`)
    else if (!target.isOwn) reader.addError('changedFields', `"${path}": expected a field of the record itself`)
  }
  return reader.errors
}

async function readFilter(
  db: Connection,
  { relations }: Readable,
  { resource, selecting, reader }: { resource: Resource; selecting: Selecting; reader: QueryReader },
): Promise<{ filter: Filter; listed: Resource }> {
  const text = JSON.stringify([selecting.filter, selecting.changedFields])
  const defined = await withDefinitions(db, { resource: listedAcrossParents(resource), relations }, text)
  return { filter: parseTree(reader, defined.resource, defined.relations, selecting.filter), listed: defined.resource }
}

/** Which of the rows `event` of the feed the webhook sends. */
export async function selectionOf(db: Connection, readable: Readable, selecting: Selecting): Promise<Sql> {
  const resources = followedBy(selecting.events, selecting.scopes, readable.followed)
  const [resource] = resources
  const hasFilter = resource && Object.keys(selecting.filter).length > 0
  const conditions = [
    isSeen(db, resources),
    hasType(selecting.events),
    ...(selecting.changedFields.length > 0 ? [changesAny(selecting.changedFields)] : []),
    ...(hasFilter ? [await matchesFilter(db, readable, { resource, selecting })] : []),
  ]
  return join(conditions, ' and ')
}

/** Does a pattern (`*`, `contact.*`, `contact.created`) include its type? */
const hasType = (patterns: readonly string[]): Sql =>
  patterns.includes('*')
    ? raw('true')
    : sql`array[event.resource || '.' || event.kind, event.resource || '.*'] && ${patterns}::text[]`

/** Other kinds than updates are not about single fields. */
function changesAny(wanted: readonly string[]): Sql {
  const conditions = wanted.map((path) => {
    const isWhole = path.includes('.') ? raw('false') : sql`event."values" -> ${path}::text is not null`
    return sql`${isWhole} or exists (select from jsonb_array_elements(event.changes) change
      where change ->> 'field' = ${path}::text or starts_with(change ->> 'field', ${`${path}.`}::text))`
  })
  return sql`(event.kind <> 'updated' or ${join(conditions, ' or ')})`
}

/** Is it about a record that matches, also a deleted one, or about one that is gone? Receivers must learn of those, to delete copies. */
async function matchesFilter(
  db: Connection,
  readable: Readable,
  { resource, selecting }: { resource: Resource; selecting: Selecting },
): Promise<Sql> {
  const reader = new QueryReader()
  const { filter, listed } = await readFilter(db, readable, { resource, selecting, reader })
  // Something that the filter names was deleted since: it cannot be evaluated, and sends too much rather than too little.
  if (reader.errors.length > 0) return raw('true')
  const scope = scopeOf(db, undefined)
  const dated = await readRelativeSpans(db, filter, () => readTimeZone(db))
  const conditions: Sql[] = filterSql(listed, dated, scope)
  return sql`(event.kind in ('purged', 'erased') or exists (
    select from ${identifier(listed.table)} ${raw(root)}${joins(listed, scope)}
    where ${raw(root)}.organization_id = ${db.organization} and ${raw(root)}.id = event.record_id
      and ${join([raw('true'), ...conditions], ' and ')}))`
}

/** The bounds of what webhooks read, for records that exist. */
export const isReadable = (resource: Resource, db: Connection): Sql =>
  join([raw('true'), ...withinReach(resource, scopeOf(db, undefined))], ' and ')

/** The uuid in an id such as `con_…` of any resource. */
export const uuidOf = (shown: string): string => decodeId(shown.slice(0, shown.indexOf('_')), shown) ?? ''
