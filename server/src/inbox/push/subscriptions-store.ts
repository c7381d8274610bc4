import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import type { Language } from '../../platform/model/languages.ts'

/** A browser that a person has switched on, as they see it. */
export interface Subscription {
  id: string
  sessionId: string
  userAgent: string | null
  host: string
  language: Language
  lastSuccessAt: Date | null
  createdAt: Date
}

/** The condition that the session of a subscription is active. */
export const isOfActiveSession = raw(`exists (select from sessions where sessions.id = push_subscriptions.session_id
  and sessions.ended_at is null and sessions.expires_at > now())`)

/** Those of the person (uuid) whose sessions are active, the newest first. */
export const findSubscriptions = (db: CrossTenantConnection, userId: string): Promise<Subscription[]> =>
  db.query<Subscription>(sql`
    select push_subscriptions.id, session_id as "sessionId", sessions.user_agent as "userAgent", host, language,
      last_success_at as "lastSuccessAt", push_subscriptions.created_at as "createdAt"
    from push_subscriptions join sessions on sessions.id = push_subscriptions.session_id
    where push_subscriptions.user_id = ${userId}::uuid and sessions.ended_at is null and sessions.expires_at > now()
    order by push_subscriptions.created_at desc, push_subscriptions.id desc`)

export interface NewSubscription {
  id: string
  userId: string
  sessionId: string
  endpointHash: Buffer
  targetSealed: Buffer
  host: string
  language: Language
}

/**
 * Adds it instead of an earlier one of the same session or the same browser: a browser has one address, so the next person
 * who logs in there replaces the one before. Those of ended sessions, which get nothing any more, go too.
 */
export async function addSubscription(db: CrossTenantConnection, added: NewSubscription): Promise<void> {
  const { id, userId, sessionId, endpointHash, targetSealed, host, language } = added
  await db.query(sql`
    delete from push_subscriptions where session_id = ${sessionId}::uuid or endpoint_hash = ${endpointHash}
      or (user_id = ${userId}::uuid and not ${isOfActiveSession})`)
  await db.query(sql`
    insert into push_subscriptions (id, user_id, session_id, endpoint_hash, target_sealed, host, language)
    values (${id}::uuid, ${userId}::uuid, ${sessionId}::uuid, ${endpointHash}, ${targetSealed}, ${host}, ${language})`)
}

/** Returns false if the person (uuid) has none with this id (uuid). */
export async function removeSubscription(
  db: CrossTenantConnection,
  { id, userId }: { id: string; userId: string },
): Promise<boolean> {
  const removed = await db.query(sql`
    delete from push_subscriptions where id = ${id}::uuid and user_id = ${userId}::uuid returning id`)
  return removed.length > 0
}
