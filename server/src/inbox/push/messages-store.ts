import type { Database, Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'
import type { Language } from '../../platform/model/languages.ts'
import { isOfActiveSession } from './subscriptions-store.ts'

/** A notification that this process has claimed, and the browser that gets it. */
export interface ClaimedMessage {
  id: string
  /** The fencing token: if the row has a different one, the message is no longer ours. */
  lease: string
  attempts: number
  organizationId: string
  entryId: string
  subscriptionId: string
  userId: string
  sessionId: string
  targetSealed: Buffer
  language: Language
  isSessionActive: boolean
  /** Whether the session may enter the organization: it may require a second factor. */
  isAllowed: boolean
}

/** Claims up to `count` due messages, the longest waiting first. */
export const claimMessages = (
  database: Database,
  { count, leaseSeconds }: { count: number; leaseSeconds: number },
): Promise<ClaimedMessage[]> =>
  database.crossTenantQuery<ClaimedMessage>(
    'send notifications',
    sql`with due as (
        select id from push_messages where run_at <= now()
        order by run_at, id limit ${count} for update skip locked)
      update push_messages message set lease = ${newId()}::uuid, attempts = attempts + 1,
        run_at = now() + make_interval(secs => ${leaseSeconds})
      from due cross join push_subscriptions join users on users.id = push_subscriptions.user_id
      where message.id = due.id and push_subscriptions.id = message.subscription_id
      returning message.id, message.lease, message.attempts, message.organization_id as "organizationId",
        message.entry_id as "entryId", message.subscription_id as "subscriptionId", push_subscriptions.user_id as "userId",
        push_subscriptions.session_id as "sessionId", push_subscriptions.target_sealed as "targetSealed",
        coalesce(users.language, push_subscriptions.language) as language, ${isOfActiveSession} as "isSessionActive", exists (
          select from sessions join organizations on organizations.id = message.organization_id
          where sessions.id = push_subscriptions.session_id and organizations.deletes_at is null
            and (not organizations.requires_second_factor or sessions.second_factor_at is not null)) as "isAllowed"`,
  )

/** Ends the message: `isSent` if the push service took it, otherwise because nobody needs it any more. */
export async function endMessage(
  database: Database,
  { id, lease, subscriptionId }: ClaimedMessage,
  { isSent }: { isSent: boolean },
): Promise<void> {
  await database.crossTenantQuery(
    'send notifications',
    sql`with ended as (
        delete from push_messages where id = ${id}::uuid and lease = ${lease}::uuid returning subscription_id)
      update push_subscriptions set last_success_at = now() from ended
      where push_subscriptions.id = ended.subscription_id and ${isSent}::boolean
        and push_subscriptions.id = ${subscriptionId}::uuid`,
  )
}

/** Sends it again after these seconds, and nothing else to that browser before: its push service is in trouble. */
export async function postponeMessages(
  database: Database,
  { id, lease, subscriptionId }: ClaimedMessage,
  delaySeconds: number,
): Promise<void> {
  await database.crossTenantQuery(
    'send notifications',
    sql`with postponed as (
        update push_messages set lease = null, run_at = now() + make_interval(secs => ${delaySeconds})
        where id = ${id}::uuid and lease = ${lease}::uuid returning id, run_at)
      update push_messages message set run_at = greatest(message.run_at, postponed.run_at) from postponed
      where message.subscription_id = ${subscriptionId}::uuid and message.id <> postponed.id and message.lease is null`,
  )
}

/** Removes the browser (uuid) with all that waits for it: its session has ended, or the push service does not know it. */
export async function dropSubscription(database: Database, id: string): Promise<void> {
  await database.crossTenantQuery('send notifications', sql`delete from push_subscriptions where id = ${id}::uuid`)
}

/** An entry of the inbox (uuid) to show to a person (uuid). */
export interface Announced {
  userId: string
  entryId: string
}

/**
 * Queues the entries for all browsers of their people, each once: of a push service in trouble, behind what waits already.
 * Browsers whose sessions have ended are removed.
 */
export async function queueMessages(
  { organization, query }: Transaction,
  announced: readonly Announced[],
): Promise<void> {
  if (announced.length === 0) return
  const ids = announced.map(({ entryId }) => entryId)
  const people = announced.map(({ userId }) => userId)
  await query(sql`
    delete from push_subscriptions where user_id = any(${people}::uuid[]) and not ${isOfActiveSession}
      and ${organization} is not null`)
  await query(sql`
    insert into push_messages (id, subscription_id, organization_id, entry_id, run_at)
    select gen_random_uuid(), push_subscriptions.id, ${organization}, entry.id, greatest(now(), (
      select max(waiting.run_at) from push_messages waiting
      where waiting.subscription_id = push_subscriptions.id and waiting.lease is null and waiting.attempts > 0))
    from unnest(${ids}::uuid[], ${people}::uuid[]) as entry (id, user_id)
    join push_subscriptions on push_subscriptions.user_id = entry.user_id and ${isOfActiveSession}
    on conflict (subscription_id, entry_id) do nothing`)
}
