import type { Database, Transaction } from '../platform/database/database.ts'
import { serviceActor } from '../platform/model/caller.ts'
import { newId } from '../platform/model/ids.ts'
import { raw, sql } from '../platform/model/sql.ts'
import type { Queue } from '../platform/queue/queue.ts'
import type { DeliveryStatus } from './delivery.ts'
import { shownAttempts } from './delivery.ts'
import { deleteAnswersOfErased, priorities } from './delivery-store.ts'
import type { Health } from './health.ts'
import type { SealedSecret } from './secrets-store.ts'

/** Longer than an attempt and its transaction can take. If a process dies, another one takes over after this time. */
export const leaseSeconds = 60

/** A webhook that this process sends for. */
export interface Lease {
  organizationId: string
  webhookId: string
  /** The fencing token: once the state has another one, results of this process are dropped. */
  lease: string
}

/** What an attempt left behind, as callers see it. */
export interface Attempt {
  at: string
  status: number | null
  milliseconds: number
  answer: string | null
  error: string | null
}

/** The end of a claimed delivery. */
export interface Result {
  id: string
  status: Extract<DeliveryStatus, 'delivered' | 'retrying' | 'failed' | 'skipped' | 'pending'>
  /** Those that were made: usually one. */
  attempts: readonly Attempt[]
  error: string | null
  /** Seconds until the next attempt; null after the last one. */
  delay: number | null
}

export interface ClaimedDelivery {
  id: string
  eventId: string
  type: string
  recordId: string
  isTest: boolean
  /** Attempts since it was stored or replayed, including this one. */
  tries: number
  /** All attempts, including this one. */
  attemptCount: number
  createdAt: string
  /** That of the event in the feed; null for a test. */
  position: string | null
}

/** The settings of a webhook, as they are now. */
export interface Target {
  url: string
  ordered: boolean
  isEnabled: boolean
  headersSealed: string | null
  secrets: readonly SealedSecret[]
  createdBy: string
}

/** Leases the webhook of the organization (uuid) that has been due for longest. */
export async function leaseNext(database: Database, organizationId: string): Promise<Lease | undefined> {
  const lease = newId()
  return database.transaction(serviceActor('maintenance', organizationId), async ({ organization, query }) => {
    const [found] = await query<{ webhookId: string }>(sql`
      update webhook_states set lease = ${lease}::uuid, leased_until = now() + make_interval(secs => ${leaseSeconds})
      where organization_id = ${organization} and webhook_id = (
        select webhook_id from webhook_states
        where organization_id = ${organization} and ${isDue} order by due_at limit 1 for no key update skip locked)
      returning webhook_id as "webhookId"`)
    if (!found) return undefined
    // Those of a process that died: their attempts may have been made.
    await query(sql`
      update webhook_deliveries set status = 'retrying', updated_at = now(), revision = revision + 1
      where organization_id = ${organization} and webhook_id = ${found.webhookId}::uuid and next_attempt_at is not null
        and status = 'delivering'`)
    return { organizationId, lease, webhookId: found.webhookId }
  })
}

export const isDue = raw(`due_at <= now() and (leased_until is null or leased_until <= now())
  and (blocked_until is null or blocked_until <= now())`)

export interface Exchange {
  target: Target
  health: Health
  /** Milliseconds since 1970, by the database. */
  now: number
}

/** Renews the lease and locks the state; undefined if another process has it. */
export async function renew(
  { organization, query }: Transaction,
  { webhookId, lease }: Lease,
): Promise<Exchange | undefined> {
  const [row] = await query<
    Omit<Target, 'secrets'> & {
      secrets: SealedSecret[]
      now: number
      failures: number
      since: number | null
      isReported: boolean
    }
  >(sql`
    with renewed as (
      update webhook_states set leased_until = now() + make_interval(secs => ${leaseSeconds})
      where organization_id = ${organization} and webhook_id = ${webhookId}::uuid and lease = ${lease}::uuid
      returning webhook_id, failures, failing_since, is_reported)
    select webhook.url, webhook.ordered, webhook.status = 'enabled' and webhook.deleted_at is null as "isEnabled",
      encode(webhook.headers_sealed, 'base64') as "headersSealed", webhook.created_by as "createdBy",
      (select coalesce(json_agg(json_build_object('id', secret.id, 'sealed', encode(secret.secret_sealed, 'base64'))
          order by secret.id desc), '[]')
        from webhook_secrets secret
        where secret.organization_id = ${organization} and secret.webhook_id = webhook.id and secret.ends_at > now()) as secrets,
      extract(epoch from now())::float8 * 1000 as now, renewed.failures,
      extract(epoch from renewed.failing_since)::float8 * 1000 as since, renewed.is_reported as "isReported"
    from renewed join webhooks webhook on webhook.organization_id = ${organization} and webhook.id = renewed.webhook_id`)
  if (!row) return undefined
  const { now, failures, since, isReported, ...target } = row
  return { target, now, health: { failures, failingSince: since, isReported } }
}

/**
 * Stores what became of claimed deliveries, of a webhook whose lease was renewed in this transaction. `now`: milliseconds since
 * 1970, by the database.
 */
export async function storeResults(
  transaction: Transaction,
  { webhookId }: Lease,
  { results, now }: { results: readonly Result[]; now: number },
): Promise<void> {
  if (results.length === 0) return
  const { organization, query } = transaction
  // One was counted when they were claimed.
  const rows = results.map(({ attempts, delay, ...others }) => ({
    ...others,
    made: attempts,
    uncounted: 1 - attempts.length,
    next: delay === null ? null : new Date(now + delay * 1000).toISOString(),
    finished: delay === null ? new Date(now).toISOString() : null,
  }))
  await query(sql`
    update webhook_deliveries delivery set status = result.status, error = result.error,
      next_attempt_at = result.next, finished_at = result.finished,
      attempt_count = attempt_count - result.uncounted, tries = tries - greatest(result.uncounted, 0),
      attempts = jsonb_path_query_array(delivery.attempts::jsonb || result.made, ${lastAttempts})::json,
      updated_at = now(), revision = delivery.revision + 1
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as result(
      id uuid, status text, error text, next timestamptz, finished timestamptz, made jsonb, uncounted integer)
    where delivery.organization_id = ${organization} and delivery.webhook_id = ${webhookId}::uuid
      and delivery.id = result.id and delivery.status = 'delivering'`)
  // Receivers may repeat what they got, and the person may have been erased while the attempt was in progress.
  const answered = results.filter(({ attempts }) => attempts.some(({ answer }) => answer))
  if (answered.length > 0)
    await deleteAnswersOfErased(
      transaction,
      answered.map(({ id }) => id),
    )
}

const lastAttempts = raw(`'$[last - ${shownAttempts - 1} to last]'`)

/** `deliveredAt`: milliseconds since 1970, if something was delivered. */
export async function storeHealth(
  { organization, query }: Transaction,
  { webhookId }: Lease,
  { failures, failingSince, isReported }: Health,
  deliveredAt: number | undefined,
): Promise<void> {
  const toDate = (time: number | null | undefined) => (typeof time === 'number' ? new Date(time) : null)
  await query(sql`
    update webhook_states set failures = ${failures}, is_reported = ${isReported}::boolean,
      failing_since = ${toDate(failingSince)}::timestamptz,
      last_success_at = coalesce(${toDate(deliveredAt)}::timestamptz, last_success_at)
    where organization_id = ${organization} and webhook_id = ${webhookId}::uuid`)
}

/**
 * Claims the next deliveries that are due, live events first. `ordered`: none whose record has an earlier event that is
 * not finished.
 */
export async function claimDeliveries(
  { organization, query }: Transaction,
  { webhookId }: Lease,
  { count, ordered }: { count: number; ordered: boolean },
): Promise<ClaimedDelivery[]> {
  if (count <= 0) return []
  const inOrder = ordered
    ? sql` and not exists (select from webhook_deliveries earlier
        where earlier.organization_id = ${organization} and earlier.webhook_id = ${webhookId}::uuid
          and earlier.record_id = due.record_id and earlier.next_attempt_at is not null and earlier."position" < due."position")`
    : raw('')
  return query<ClaimedDelivery>(sql`
    with due as materialized (
      select due.id from webhook_deliveries due
      where due.organization_id = ${organization} and due.webhook_id = ${webhookId}::uuid and due.next_attempt_at <= now()
        and due.status <> 'delivering'${inOrder}
      order by due.priority, due.next_attempt_at, due."position" limit ${count} for no key update skip locked),
    claimed as (
      update webhook_deliveries set status = 'delivering', attempt_count = attempt_count + 1, tries = tries + 1,
        updated_at = now(), revision = revision + 1
      where organization_id = ${organization} and id = any(array(select id from due))
      returning id, event_id, type, record_id, is_test, tries, attempt_count, created_at, priority, next_attempt_at, "position")
    select id, event_id as "eventId", type, record_id as "recordId", is_test as "isTest", tries,
      attempt_count as "attemptCount", "position",
      to_char(created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt"
    from claimed order by priority, next_attempt_at, claimed."position"`)
}

/**
 * Gives the webhook, whose lease was renewed in this transaction, back. It is due with its next delivery, but sends nothing for
 * `afterSeconds`.
 */
export async function release(
  { organization, query }: Transaction,
  { webhookId, lease }: Lease,
  { isEnabled, afterSeconds }: { isEnabled: boolean; afterSeconds: number },
): Promise<void> {
  await query(sql`
    update webhook_states set lease = null, leased_until = null,
      due_at = case when ${isEnabled}::boolean then (
        select min(next_attempt_at) from (
          select min(next_attempt_at) as next_attempt_at from webhook_deliveries
          where organization_id = ${organization} and webhook_id = ${webhookId}::uuid and next_attempt_at is not null
            and priority = ${priorities.live}
          union all
          select min(next_attempt_at) from webhook_deliveries
          where organization_id = ${organization} and webhook_id = ${webhookId}::uuid and next_attempt_at is not null
            and priority = ${priorities.replay}) waiting) end,
      blocked_until = now() + make_interval(secs => ${afterSeconds})
    where organization_id = ${organization} and webhook_id = ${webhookId}::uuid and lease = ${lease}::uuid`)
}

/** Webhooks with deliveries that are due. */
export const dispatchQueue: Queue = {
  kind: 'webhooks',
  hasWork: (organization) => sql`exists (
    select from webhook_states where webhook_states.organization_id = ${organization} and ${isDue})`,
  findOrganization: async (database, after) => {
    const [found] = await database.crossTenantQuery<{ organizationId: string }>(
      'send webhooks',
      sql`select organization_id as "organizationId" from webhook_states
        where organization_id > ${after}::uuid and ${isDue} order by organization_id limit 1`,
      'find due webhooks',
    )
    return found?.organizationId
  },
  secondsUntilDue: async (database, organizationId) => {
    const [found] = await database.crossTenantQuery<{ seconds: number | null }>(
      'send webhooks',
      sql`select min(extract(epoch from greatest(due_at, leased_until, blocked_until) - now()))::float8 as seconds from webhook_states
        where organization_id = ${organizationId}::uuid and due_at is not null`,
      'ask for due webhooks',
    )
    return found?.seconds ?? undefined
  },
}
