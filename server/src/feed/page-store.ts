import type { Connection } from '../platform/database/database.ts'
import { identifier, join, raw, type Sql, sql } from '../platform/model/sql.ts'
import type { EventKind } from '../platform/records/declare/event-kinds.ts'
import { listedAcrossParents, type Resource } from '../platform/records/declare/define.ts'
import { isBounded, type Scope } from '../platform/records/filter/scope.ts'
import { root } from '../platform/records/filter/target.ts'
import { withinReach } from '../platform/records/page/page.ts'
import { scopeOf } from '../platform/records/page/read.ts'
import type { StoredEvent } from './event.ts'

/** Positions that one request looks at, so that a rare kind of event costs no more than a page of all. */
const window = 10_000
/** Bytes of values and changes of a page, beyond which it ends early: a record can have many of them. */
const maxPageBytes = 4_000_000

export interface FeedRequest {
  /** The number of the last event that the reader knows. */
  after: number
  limit: number
  /** Those whose events the caller may see and wants. */
  resources: readonly Resource[]
  kinds: readonly EventKind[] | undefined
  /** Uuids. */
  recordIds: readonly string[] | undefined
}

export interface FeedPage {
  epoch: string | undefined
  events: readonly StoredEvent[]
  /** The number of the last event that was looked at. */
  reached: number
  lastPosition: number
  /** True if events after `after` are missing. */
  isExpired: boolean
  /** True if there are events without a position, which may be the next ones. */
  isWaiting: boolean
}

interface Row {
  epoch: string | null
  last: string | null
  cleared: string | null
  next: string | null
  isOld: boolean | null
  isWaiting: boolean
  found: number
  events: StoredEvent[]
}

/** The events after a position, in the order of the feed. `days`: how far it reaches back. */
export async function readFeed(db: Connection, request: FeedRequest, days: number): Promise<FeedPage> {
  const { organization } = db
  const { after, limit } = request
  const isAfter = sql`organization_id = ${organization} and "position" > 0 and "position" > ${after}::bigint`
  const [row] = await db.query<Row>(sql`
    with feed as (select epoch, last_position, cleared_position from event_feeds where organization_id = ${organization}),
    next as (select "position", created_at from events where ${isAfter} order by "position" limit 1),
    page as (
      select ${raw(columns)} from events event
      where ${isAfter} and "position" <= ${after + window}::bigint and ${conditionOf(db, request)}
      order by "position" limit ${limit + 1}),
    measured as (select page.*, sum(bytes) over (order by "position") - bytes as "bytesBefore" from page)
    select (select epoch from feed) as epoch, (select last_position from feed) as last,
      (select cleared_position from feed) as cleared,
      (select "position" from next) as next,
      (select created_at <= now() - make_interval(days => ${days}::integer) from next) as "isOld",
      exists (select from events where organization_id = ${organization} and "position" is null) as "isWaiting",
      (select count(*)::integer from page) as found,
      (select coalesce(json_agg(to_json(shown) order by "position"), '[]')
        from (select ${raw(names)} from measured
          where "bytesBefore" < ${maxPageBytes} order by "position" limit ${limit}) shown) as events`)
  if (!row) throw new Error('the statement returns one row')
  const last = Number(row.last ?? 0)
  const { events } = row
  return {
    epoch: row.epoch ?? undefined,
    events,
    reached: row.found > events.length ? (events.at(-1)?.position ?? after) : Math.min(last, after + window),
    lastPosition: last,
    // Also if the feed reaches back further than when the values of events were cleared.
    isExpired:
      after > last ||
      after < Number(row.cleared ?? 0) ||
      (after < last && (Number(row.next ?? 0) !== after + 1 || row.isOld === true)),
    isWaiting: row.isWaiting,
  }
}

const columns = `id, "position", resource, kind, record_id as "recordId", revision, source, author_id as "authorId",
  key_id as "keyId", import_id as "importId", import_row_id as "importRowId", changes, "values",
  to_char(created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
  octet_length(changes::text) + coalesce(octet_length("values"::text), 0) as bytes`
const names = `id, "position", resource, kind, "recordId", revision, source, "authorId", "keyId", "importId", "importRowId",
  changes, "values", "createdAt"`

/** Which events the caller wants and may see. */
function conditionOf(db: Connection, { resources, kinds, recordIds }: FeedRequest): Sql {
  const parts = [
    isSeen(db, resources),
    ...(kinds ? [sql`event.kind = any(${kinds}::text[])`] : []),
    ...(recordIds ? [sql`event.record_id = any(${recordIds}::uuid[])`] : []),
  ]
  return join(parts, ' and ')
}

/** Those of the rows `event` that are about the resources and that the caller may see. */
export function isSeen(db: Connection, resources: readonly Resource[]): Sql {
  const scope = scopeOf(db, undefined)
  const listed = resources.map((resource) => listedAcrossParents(resource))
  const open = listed.filter((resource) => !isBounded(resource, scope)).map(({ singular }) => singular)
  const bounded = listed
    .filter((resource) => isBounded(resource, scope))
    .map((resource) => withinBounds(resource, scope))
  return sql`(${join([sql`event.resource = any(${open}::text[])`, ...bounded], ' or ')})`
}

/** Of a record that is within the reader's reach today, also if it is deleted. */
const withinBounds = (resource: Resource, scope: Scope): Sql => sql`(
  event.resource = ${resource.singular} and exists (
    select from ${identifier(resource.table)} ${raw(root)}
    where ${raw(root)}.organization_id = ${scope.organization} and ${raw(root)}.id = event.record_id
      and ${join(withinReach(resource, scope), ' and ')}))`
