import type { StoredEvent } from '../feed/event.ts'
import type { Connection } from '../platform/database/database.ts'
import { identifier, raw, sql } from '../platform/model/sql.ts'
import { listedAcrossParents, type Resource } from '../platform/records/declare/define.ts'
import { readFor } from '../platform/records/filter/scope.ts'
import { root } from '../platform/records/filter/target.ts'
import { withinScope } from '../platform/records/page/page.ts'
import { scopeOf } from '../platform/records/page/read.ts'
import { documentJoins, documentSql } from '../platform/records/page/select.ts'
import type { ClaimedDelivery } from './dispatch-store.ts'
import { uuidOf } from './selection-store.ts'

export interface SentEvents {
  /** The epoch of the feed, which positions contain. */
  epoch: string
  /** Those that are still stored, by id (uuid). */
  events: ReadonlyMap<string, StoredEvent>
}

/** The events of deliveries. */
export async function readEvents(
  { organization, query }: Connection,
  deliveries: readonly ClaimedDelivery[],
): Promise<SentEvents> {
  const given = deliveries.flatMap(({ eventId, position }) => (position === null ? [] : { id: eventId, position }))
  const [found] = await query<{ epoch: string | null; events: StoredEvent[] }>(sql`
      select (select epoch from event_feeds where organization_id = ${organization}) as epoch, (
        select coalesce(json_agg(json_build_object('id', event.id, 'position', event."position", 'resource', event.resource,
          'kind', event.kind, 'recordId', event.record_id, 'revision', event.revision, 'source', event.source,
          'authorId', event.author_id, 'keyId', event.key_id, 'importId', event.import_id,
          'importRowId', event.import_row_id, 'changes', event.changes, 'values', event."values",
          'createdAt', to_char(event.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))), '[]')
        from events event
        where event.organization_id = ${organization} and event."position" > 0
          and event."position" = any(${given.map(({ position }) => position)}::bigint[])
          and event.id = any(${given.map(({ id }) => id)}::uuid[])) as events`)
  return { epoch: found?.epoch ?? '', events: new Map(found?.events.map((event) => [event.id, event])) }
}

/** Events (uuids) of these deliveries that have no values: some kinds never had any, and others have lost them. */
export async function findEmptied(
  { organization, query }: Connection,
  deliveries: readonly Pick<ClaimedDelivery, 'position'>[],
): Promise<ReadonlySet<string>> {
  const positions = deliveries.flatMap(({ position }) => position ?? [])
  const found = await query<{ id: string }>(sql`
    select event.id from events event
    where event.organization_id = ${organization} and event."position" > 0
      and event."position" = any(${positions}::bigint[]) and event."values" is null and event.changes = '[]'`)
  return new Set(found.map(({ id }) => id))
}

/** The records as the API shows them, by uuid; those that webhooks do not read are missing. */
export async function readObjects(
  db: Connection,
  resource: Resource,
  recordIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const listed = listedAcrossParents(resource)
  const scope = scopeOf(db, undefined)
  const rows = await db.query<{ id: string; text: string }>(sql`
    select ${raw(root)}.id, ${documentSql(listed, readFor(listed, scope))} as text
    from ${identifier(listed.table)} ${raw(root)}${documentJoins(listed, scope)}
    where ${withinScope(listed, scope)} and ${raw(root)}.id = any(${recordIds.map(uuidOf)}::uuid[])`)
  return new Map(rows.map(({ id, text }) => [id, text]))
}
