import type { Connection, Transaction } from '../platform/database/database.ts'
import type { JsonObject } from '../platform/model/json.ts'
import { sql } from '../platform/model/sql.ts'
import { selectionOf, type Selecting, webhookActor } from './selection-store.ts'
import type { EventSources } from './store.ts'

/** Seconds by which the times of two changes may differ in the other order than their positions. */
const skewSeconds = 60
/** Positions of the feed that are looked at to count events; of more, so many stretches at equal distances are. */
const maxCounted = 20_000
const stretches = 20

/** What is sent again: the events between two positions of the feed. */
export interface ReplayRange {
  after: number
  until: number
}

/** The events since this time that the webhook has passed in the feed, as far as the feed has them. */
export async function findReplayed(db: Connection, webhookId: string, since: Date): Promise<ReplayRange> {
  const from = new Date(since.getTime() - skewSeconds * 1000)
  const [found] = await db.query<{ last: string; cleared: string; until: string }>(sql`
    select feed.last_position as last, feed.cleared_position as cleared, least(state."position", feed.last_position) as until
    from webhook_states state join event_feeds feed on feed.organization_id = ${db.organization}
    where state.organization_id = ${db.organization} and state.webhook_id = ${webhookId}::uuid`)
  const before = await lastPositionBefore(db, from, Number(found?.last ?? 0))
  return { after: Math.max(before, Number(found?.cleared ?? 0)), until: Number(found?.until ?? 0) }
}

/** Sends the events in the range again. */
export async function replayRange(db: Transaction, webhookId: string, { after, until }: ReplayRange): Promise<void> {
  await db.query(sql`
    update webhook_states set replay_after = least(replay_after, ${after}::bigint),
      replay_until = greatest(replay_until, ${until}::bigint), due_at = least(due_at, now())
    where organization_id = ${db.organization} and webhook_id = ${webhookId}::uuid`)
}

export interface ReplayCount {
  count: number
  /** True if not all of the feed was looked at. */
  isEstimate: boolean
}

/** How many events in the range the webhook sends. */
export async function countReplayed(
  db: Connection,
  sources: EventSources,
  webhook: JsonObject,
  { after, until }: ReplayRange,
): Promise<ReplayCount> {
  const length = Math.max(0, until - after)
  const isEstimate = length > maxCounted
  const step = isEstimate ? length / stretches : length
  const size = isEstimate ? maxCounted / stretches : length
  const starts = Array.from({ length: isEstimate ? stretches : 1 }, (_, index) => after + Math.floor(index * step))
  // What it sends does not depend on what its caller sees.
  const own: Connection = { ...db, actor: webhookActor(db.organizationId) }
  const readable = { ...sources, followed: sources.followed() }
  const selection = await selectionOf(own, readable, webhook as unknown as Selecting)
  const [found] = await db.query<{ count: number }>(sql`
    select count(*)::integer as count from unnest(${starts}::bigint[]) as stretch (start)
    join events event on event.organization_id = ${db.organization} and event."position" > 0
      and event."position" > stretch.start and event."position" <= stretch.start + ${size}::bigint
    where ${selection}`)
  const count = found?.count ?? 0
  return { count: isEstimate ? Math.round((count * length) / maxCounted) : count, isEstimate }
}

/** Positions are nearly in the order of times, so a few look-ups find the place. */
async function lastPositionBefore(db: Connection, time: Date, last: number): Promise<number> {
  let [low, high] = [0, last]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const [event] = await db.query<{ isBefore: boolean; position: string }>(sql`
      select created_at < ${time}::timestamptz as "isBefore", "position" from events
      where organization_id = ${db.organization} and "position" > 0 and "position" > ${middle}::bigint order by "position" limit 1`)
    if (event?.isBefore) low = Number(event.position)
    else high = middle
  }
  return low
}
