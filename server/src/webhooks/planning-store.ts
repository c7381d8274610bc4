import type { Database, Transaction } from '../platform/database/database.ts'
import { encodeId, newId } from '../platform/model/ids.ts'
import { raw, sql, type Sql } from '../platform/model/sql.ts'
import type { Queue } from '../platform/queue/queue.ts'
import type { StoredEvent } from '../feed/event.ts'
import { placeEvents } from '../feed/positions-store.ts'
import { priorities } from './delivery-store.ts'
import { isDue } from './dispatch-store.ts'
import { selectionOf, type Selecting, webhookActor } from './selection-store.ts'
import type { EventSources } from './store.ts'

/** Deliveries that one transaction stores for a webhook. */
const pageSize = 500
/** Positions that it looks at: with a filter, each of them costs more. */
const windows = { plain: 10_000, filtered: 2000 }
/** Webhooks that are planned after one look for new events. */
const webhooksAtOnce = 20
/** A webhook with so many waiting deliveries gets no more: its place in the feed waits instead. */
const maxWaiting = 10_000

interface Following extends Selecting {
  webhookId: string
  createdAt: string
  position: number
  /** That of the feed. */
  lastPosition: number
  /** Events up to this position have no values: the feed no longer reaches back to them. */
  clearedPosition: number
  replayAfter: number | null
  replayUntil: number | null
}

/**
 * Stores the deliveries of the next events of some webhooks of the organization (uuid), and moves each one's place in the
 * feed, in one transaction: no event is lost. Resolves to false if there was nothing to do.
 */
export async function planDeliveries(
  database: Database,
  organizationId: string,
  sources: EventSources,
): Promise<boolean> {
  await placeEvents(database, organizationId)
  for (let count = 0; count < webhooksAtOnce; count++) {
    const isPlanned = await database.transaction(webhookActor(organizationId), (transaction) =>
      planNext(transaction, sources),
    )
    if (!isPlanned) return count > 0
  }
  return true
}

async function planNext(transaction: Transaction, sources: EventSources): Promise<boolean> {
  const webhook = await lockNext(transaction)
  if (!webhook) return false
  const { position, lastPosition, clearedPosition, replayAfter, replayUntil } = webhook
  const selection = await selectionOf(transaction, { ...sources, followed: sources.followed() }, webhook)
  const plan = (range: Range) => store(transaction, sources, webhook, { selection, ...range })
  const live = await plan({
    after: Math.max(position, clearedPosition),
    until: lastPosition,
    priority: priorities.live,
  })
  const isReplay = replayAfter !== null && replayUntil !== null && replayAfter < replayUntil
  const replayed =
    isReplay && live === lastPosition
      ? await plan({ after: Math.max(replayAfter, clearedPosition), until: replayUntil, priority: priorities.replay })
      : undefined
  await move(transaction, webhook, { live, replayed })
  return true
}

/** The webhook that has waited longest among those with events to look at. */
async function lockNext(transaction: Transaction): Promise<Following | undefined> {
  const { organization } = transaction
  const [found] = await transaction.query<
    Omit<Following, 'position' | 'lastPosition' | 'clearedPosition' | 'replayAfter' | 'replayUntil'> &
      Record<'position' | 'lastPosition' | 'clearedPosition', string> &
      Record<'replayAfter' | 'replayUntil', string | null>
  >(sql`
    select state.webhook_id as "webhookId", state."position", feed.last_position as "lastPosition",
      feed.cleared_position as "clearedPosition",
      state.replay_after as "replayAfter", state.replay_until as "replayUntil", webhook.events, webhook.scopes,
      webhook.filter, webhook.changed_fields as "changedFields",
      to_char(webhook.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt"
    from webhook_states state
    join webhooks webhook on webhook.organization_id = ${organization} and webhook.id = state.webhook_id
    join event_feeds feed on feed.organization_id = ${organization}
    where state.organization_id = ${organization} and ${isBehind} and not exists (
      select from webhook_deliveries waiting where waiting.organization_id = ${organization}
        and waiting.webhook_id = state.webhook_id and waiting.next_attempt_at is not null offset ${maxWaiting})
    order by state.planned_at nulls first limit 1 for no key update of state skip locked`)
  if (!found) return undefined
  const { replayAfter, replayUntil, position, lastPosition, clearedPosition, ...others } = found
  const numberOf = (text: string | null) => (text === null ? null : Number(text))
  return {
    ...others,
    position: Number(position),
    lastPosition: Number(lastPosition),
    clearedPosition: Number(clearedPosition),
    replayAfter: numberOf(replayAfter),
    replayUntil: numberOf(replayUntil),
  }
}

const isBehind = sql`webhook.status = 'enabled' and webhook.deleted_at is null and (
  state."position" < feed.last_position or state.replay_after < state.replay_until)`

/** An event that is sent, with its uuids. */
interface Planned extends Pick<StoredEvent, 'id' | 'resource' | 'kind' | 'recordId'> {
  position: string
}

/** Positions in the feed, from behind the first to the last. */
interface Range {
  after: number
  until: number
  priority: number
}

/** Stores the deliveries of the first events in the range that are selected; resolves to the last position that it looked at. */
async function store(
  { organization, query }: Transaction,
  sources: EventSources,
  { webhookId, createdAt, filter }: Following,
  { selection, after, until, priority }: Range & { selection: Sql },
): Promise<number> {
  const window = Object.keys(filter).length > 0 ? windows.filtered : windows.plain
  const end = Math.min(after + window, until)
  if (end <= after) return after
  // What happened before it was created may get its position only afterwards.
  const isNew = priority === priorities.replay ? raw('true') : sql`event.created_at >= ${createdAt}::timestamptz`
  const page = await query<Planned>(sql`
    select event.id, event.resource, event.kind, event.record_id as "recordId", event."position" from events event
    where event.organization_id = ${organization} and event."position" > 0 and event."position" > ${after}::bigint
      and event."position" <= ${end}::bigint and ${isNew} and ${selection}
    order by event."position" limit ${pageSize}`)
  if (page.length === 0) return end
  const prefixes = new Map(sources.followed().map(({ singular, idPrefix }) => [singular, idPrefix]))
  const rows = page.map(({ id, resource, kind, recordId, position }) => ({
    id: newId(),
    event_id: id,
    type: `${resource}.${kind}`,
    record_id: encodeId(prefixes.get(resource) ?? '', recordId),
    position,
  }))
  // Not every engine passes on values behind `on conflict`.
  const replay = raw(String(priorities.replay))
  await query(sql`
    insert into webhook_deliveries as delivery (organization_id, webhook_id, id, event_id, type, record_id, "position",
      priority, next_attempt_at)
    select ${organization}, ${webhookId}::uuid, id, event_id, type, record_id, "position", ${priority}::smallint, now()
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as planned(
      id uuid, event_id uuid, type text, record_id text, "position" bigint)
    on conflict (organization_id, webhook_id, event_id) do update set status = 'pending', tries = 0,
      priority = excluded.priority, next_attempt_at = excluded.next_attempt_at, finished_at = null,
      updated_at = excluded.next_attempt_at, revision = delivery.revision + 1
    where excluded.priority = ${replay} and delivery.status <> 'delivering' and delivery.status <> 'pending'`)
  return page.length === pageSize ? Number(page.at(-1)?.position) : end
}

async function move(
  { organization, query }: Transaction,
  { webhookId }: Following,
  { live, replayed }: { live: number; replayed: number | undefined },
): Promise<void> {
  await query(sql`
    update webhook_states set "position" = ${live}::bigint, planned_at = now(),
      replay_after = coalesce(${replayed ?? null}::bigint, replay_after), due_at = least(due_at, now())
    where organization_id = ${organization} and webhook_id = ${webhookId}::uuid`)
}

const following = (organization: Sql): Sql => sql`exists (
  select from webhook_states state
  join webhooks webhook on webhook.organization_id = state.organization_id and webhook.id = state.webhook_id
  left join event_feeds feed on feed.organization_id = state.organization_id
  where state.organization_id = ${organization} and webhook.status = 'enabled' and webhook.deleted_at is null
    and (state."position" < feed.last_position or state.replay_after < state.replay_until
      or exists (select from events where events.organization_id = ${organization} and events."position" is null)))`

/** Webhooks with events that they have not looked at. `onDue` is called if any webhook has deliveries that are due. */
export const planningQueue = (onDue: () => void): Queue => ({
  kind: 'webhook-events',
  hasWork: following,
  findOrganization: async (database, after) => {
    const [found] = await database.crossTenantQuery<{ organizationId: string | null; isAnyDue: boolean }>(
      'send webhooks',
      sql`select (
          select home.organization_id
          from (select distinct organization_id from webhook_states where organization_id > ${after}::uuid) home
          where ${following(sql`home.organization_id`)} order by home.organization_id limit 1) as "organizationId",
        exists (select from webhook_states where ${isDue}) as "isAnyDue"`,
      'find webhooks that are behind',
    )
    if (found?.isAnyDue) onDue()
    return found?.organizationId ?? undefined
  },
  secondsUntilDue: async (database, organizationId) => {
    const [found] = await database.crossTenantQuery<{ isBehind: boolean }>(
      'send webhooks',
      sql`select ${following(sql`${organizationId}::uuid`)} as "isBehind"`,
      'ask for webhooks that are behind',
    )
    return found?.isBehind ? 0 : undefined
  },
})
