import type { Database, Transaction } from '../platform/database/database.ts'
import { encodeId, newId } from '../platform/model/ids.ts'
import { sql, type Sql } from '../platform/model/sql.ts'
import type { Queue } from '../platform/queue/queue.ts'
import { readFeed } from '../feed/page-store.ts'
import type { StoredEvent } from '../feed/event.ts'
import { placeEvents } from '../feed/positions-store.ts'
import { priorities } from './delivery-store.ts'
import { selectEvents, type Selecting, webhookActor } from './selection-store.ts'
import type { EventSources } from './store.ts'
import { followedBy } from './types.ts'

/** Events that one transaction looks at for a webhook. */
const pageSize = 500
/** A webhook with so many waiting deliveries gets no more: its place in the feed waits instead. */
const maxWaiting = 10_000

interface Following extends Selecting {
  webhookId: string
  createdAt: string
  position: number
  replayAfter: number | null
  replayUntil: number | null
}

/**
 * Stores the deliveries of the next events of one webhook of the organization (uuid), and moves its place in the feed, in
 * one transaction: no event is lost. Resolves to false if there was nothing to do.
 */
export async function planDeliveries(
  database: Database,
  organizationId: string,
  sources: EventSources,
): Promise<boolean> {
  await placeEvents(database, organizationId)
  return database.transaction(webhookActor(organizationId), async (transaction) => {
    const webhook = await lockNext(transaction)
    if (!webhook) return false
    const isReplay = webhook.replayAfter !== null && webhook.replayAfter < (webhook.replayUntil ?? 0)
    const after = webhook.position
    const live = await plan(transaction, sources, webhook, { after, priority: priorities.live })
    const next =
      isReplay && live.isLast
        ? await plan(transaction, sources, webhook, {
            after: webhook.replayAfter ?? 0,
            until: webhook.replayUntil ?? 0,
            priority: priorities.replay,
          })
        : undefined
    await move(transaction, webhook, { live: live.reached, replayed: next?.reached })
    return true
  })
}

/** The webhook that has waited longest among those with events to look at. */
async function lockNext(transaction: Transaction): Promise<Following | undefined> {
  const { organization } = transaction
  const [found] = await transaction.query<
    Omit<Following, 'position' | 'replayAfter' | 'replayUntil'> &
      Record<'position', string> &
      Record<'replayAfter' | 'replayUntil', string | null>
  >(sql`
    select state.webhook_id as "webhookId", state."position", state.replay_after as "replayAfter",
      state.replay_until as "replayUntil", webhook.events, webhook.scopes, webhook.filter,
      webhook.changed_fields as "changedFields",
      to_char(webhook.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt"
    from webhook_states state
    join webhooks webhook on webhook.organization_id = ${organization} and webhook.id = state.webhook_id
    join event_feeds feed on feed.organization_id = ${organization}
    where state.organization_id = ${organization} and ${isBehind} and not exists (
      select from webhook_deliveries waiting where waiting.organization_id = ${organization}
        and waiting.webhook_id = state.webhook_id and waiting.next_attempt_at is not null offset ${maxWaiting})
    order by state.planned_at nulls first limit 1 for no key update of state skip locked`)
  if (!found) return undefined
  const { replayAfter, replayUntil, position, ...others } = found
  const numberOf = (text: string | null) => (text === null ? null : Number(text))
  return {
    ...others,
    position: Number(position),
    replayAfter: numberOf(replayAfter),
    replayUntil: numberOf(replayUntil),
  }
}

const isBehind = sql`webhook.status = 'enabled' and webhook.deleted_at is null and (
  state."position" < feed.last_position or state.replay_after < state.replay_until)`

interface Plan {
  after: number
  until?: number
  priority: number
}

async function plan(
  transaction: Transaction,
  sources: EventSources,
  webhook: Following,
  { after, until = Infinity, priority }: Plan,
): Promise<{ reached: number; isLast: boolean }> {
  const followed = sources.followed()
  const request = {
    after,
    limit: pageSize,
    resources: followedBy(webhook.events, webhook.scopes, followed),
    kinds: undefined,
    recordIds: undefined,
  }
  const page = await readFeed(transaction, request, 1)
  // What happened before it was created may get its position only afterwards.
  const isNew = ({ createdAt }: StoredEvent) => priority === priorities.replay || createdAt >= webhook.createdAt
  const events = page.events.filter((event) => event.position <= until && isNew(event))
  const selected = await selectEvents(transaction, { ...sources, followed }, webhook, events)
  await store(transaction, webhook.webhookId, { selected, priority, sources })
  return { reached: Math.min(page.reached, until), isLast: page.reached >= page.lastPosition }
}

async function store(
  { organization, query }: Transaction,
  webhookId: string,
  { selected, priority, sources }: { selected: readonly StoredEvent[]; priority: number; sources: EventSources },
): Promise<void> {
  if (selected.length === 0) return
  const prefixes = new Map(sources.followed().map(({ singular, idPrefix }) => [singular, idPrefix]))
  const rows = selected.map(({ id, resource, kind, recordId, position }) => ({
    id: newId(),
    event_id: id,
    type: `${resource}.${kind}`,
    record_id: encodeId(prefixes.get(resource) ?? '', recordId),
    position,
  }))
  await query(sql`
    insert into webhook_deliveries as delivery (organization_id, webhook_id, id, event_id, type, record_id, "position",
      priority, next_attempt_at)
    select ${organization}, ${webhookId}::uuid, id, event_id, type, record_id, "position", ${priority}, now()
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as planned(
      id uuid, event_id uuid, type text, record_id text, "position" bigint)
    on conflict (organization_id, webhook_id, event_id) do update set status = 'pending', tries = 0,
      priority = excluded.priority, next_attempt_at = now(), finished_at = null, updated_at = now(),
      revision = delivery.revision + 1
    where excluded.priority = ${priorities.replay} and delivery.status <> 'delivering' and delivery.status <> 'pending'`)
}

async function move(
  { organization, query }: Transaction,
  { webhookId }: Following,
  { live, replayed }: { live: number; replayed: number | undefined },
): Promise<void> {
  await query(sql`
    update webhook_states set "position" = ${live}::bigint, planned_at = clock_timestamp(),
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

/** Webhooks with events that they have not looked at. */
export const planningQueue: Queue = {
  kind: 'webhook-events',
  hasWork: following,
  findOrganization: async (database, after) => {
    const [found] = await database.crossTenantQuery<{ organizationId: string }>(
      'send webhooks',
      sql`select home.organization_id as "organizationId"
        from (select distinct organization_id from webhook_states where organization_id > ${after}::uuid) home
        where ${following(sql`home.organization_id`)} order by home.organization_id limit 1`,
      'find webhooks that are behind',
    )
    return found?.organizationId
  },
  secondsUntilDue: async (database, organizationId) => {
    const [found] = await database.crossTenantQuery<{ isBehind: boolean }>(
      'send webhooks',
      sql`select ${following(sql`${organizationId}::uuid`)} as "isBehind"`,
      'ask for webhooks that are behind',
    )
    return found?.isBehind ? 0 : undefined
  },
}
