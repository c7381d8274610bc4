import type { Database, CrossTenantConnection } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { newId } from '../../platform/model/ids.ts'
import type { RetentionPolicy } from '../../platform/operations/maintenance/retention-store.ts'
import type { MailKind } from './kinds.ts'

/** A mail that this process has claimed with a lease. */
export interface ClaimedMail {
  id: string
  /** The fencing token: if the row has a different one, the mail is no longer ours. */
  lease: string
  kind: MailKind
  attempts: number
}

/** Claims up to `count` due mails, the longest waiting first. */
export async function claimMails(
  database: Database,
  { count, leaseSeconds }: { count: number; leaseSeconds: number },
): Promise<ClaimedMail[]> {
  const lease = newId()
  return database.crossTenantQuery<ClaimedMail>(
    'send mails',
    sql`with due as (
        select id from mails where status = 'queued' and run_at <= now()
        order by run_at, id limit ${count} for update skip locked)
      update mails set lease = ${lease}::uuid, attempts = attempts + 1, updated_at = now(), revision = revision + 1,
        run_at = now() + make_interval(secs => ${leaseSeconds})
      from due where mails.id = due.id returning mails.id, mails.lease, mails.kind, mails.attempts`,
  )
}

/** A queued mail that is being composed. */
export interface QueuedMail {
  id: string
  kind: MailKind
  recipient: string
  recipientKey: string
  organizationId: string | null
  userId: string | null
  recordId: string | null
  facts: Readonly<Record<string, string | null>>
  subject: string | null
  bodySealed: Buffer | null
  /** Milliseconds since 1970. */
  composedAt: number | null
  isRecent: boolean
}

/** The claimed mail, locked until the transaction ends; undefined if another process has claimed it since. */
export async function lockMail(
  db: CrossTenantConnection,
  { id, lease }: ClaimedMail,
  recentSeconds: number,
): Promise<QueuedMail | undefined> {
  const [row] = await db.query<QueuedMail>(sql`
    select id, kind, recipient, recipient_key as "recipientKey", organization_id as "organizationId",
      user_id as "userId", record_id as "recordId", facts, subject, body_sealed as "bodySealed",
      (extract(epoch from composed_at) * 1000)::float8 as "composedAt",
      coalesce(composed_at > now() - make_interval(secs => ${recentSeconds}), false) as "isRecent"
    from mails where id = ${id}::uuid and lease = ${lease}::uuid and status = 'queued' for update`)
  return row
}

/**
 * Whether a record that the mail names is erased. Erasing deletes such mails, but not one whose transaction had read the title
 * and was not committed yet.
 */
export async function namesErased(
  db: CrossTenantConnection,
  { organizationId, facts }: Pick<QueuedMail, 'organizationId' | 'facts'>,
): Promise<boolean> {
  const ids = [...JSON.stringify(facts).matchAll(/_([0-9a-f]{32})/g)].map(([, id]) => id)
  if (organizationId === null || ids.length === 0) return false
  const [found] = await db.query<{ isErased: boolean }>(sql`
    select exists (
        select from events
        where organization_id = ${organizationId}::uuid and record_id = any(${ids}::uuid[]) and kind = 'erased')
      or exists (
        select from contacts
        where organization_id = ${organizationId}::uuid and id = any(${ids}::uuid[]) and erased_at is not null) as "isErased"`)
  return found?.isErased ?? false
}

/** The composed mail, to be stored. */
export interface ComposedMail {
  recipient: string
  subject: string
  bodySealed: Buffer
  /** SHA-256 of the one-time token in the body. */
  tokenHash: Buffer | null
  organizationId: string | null
  userId: string | null
}

/** Stores the composed mail, which the caller has locked; returns the time in milliseconds since 1970. */
export async function storeComposed(db: CrossTenantConnection, id: string, composed: ComposedMail): Promise<number> {
  const { recipient, subject, bodySealed, tokenHash, organizationId, userId } = composed
  const [row] = await db.query<{ composedAt: number }>(sql`
    update mails set recipient = ${recipient}, subject = ${subject}, body_sealed = ${bodySealed}, token_hash = ${tokenHash},
      composed_at = now(), organization_id = ${organizationId}::uuid, user_id = ${userId}::uuid, updated_at = now(), revision = revision + 1
    where id = ${id}::uuid returning (extract(epoch from composed_at) * 1000)::float8 as "composedAt"`)
  if (!row) throw new Error('the mail to store does not exist')
  return row.composedAt
}

/** Ends a locked mail: `kept` because there is no mail server, or `dropped` because there is no recipient. */
export async function endMail(
  db: CrossTenantConnection,
  id: string,
  end: { status: 'kept' } | { status: 'dropped'; reason: string },
): Promise<void> {
  const reason = end.status === 'dropped' ? end.reason : null
  await db.query(sql`
    update mails set status = ${end.status}, last_error = ${reason}, ended_at = now(), run_at = null, lease = null,
      dropped_at = case when ${end.status} = 'dropped' then now() end,
      body_sealed = case when ${end.status} = 'dropped' then null else body_sealed end,
      facts = facts - ${namesOfRecords}::text[],
      updated_at = now(), revision = revision + 1
    where id = ${id}::uuid`)
}

/** Facts with titles of records, which the mail has in it: they are not stored longer than it. */
const namesOfRecords = ['title', 'lines']

/** Records that the mail server accepted the mail, and deletes its contents. */
export async function markSent(database: Database, { id, lease }: ClaimedMail): Promise<void> {
  await database.crossTenantQuery(
    'send mails',
    sql`update mails set status = 'sent', sent_at = now(), ended_at = now(), run_at = null, lease = null,
        body_sealed = null, facts = facts - ${namesOfRecords}::text[], last_error = null, updated_at = now(), revision = revision + 1
      where id = ${id}::uuid and lease = ${lease}::uuid`,
  )
}

/** Schedules a retry after `delaySeconds`, with jitter; without a delay, the mail has permanently failed. */
export async function markUnsent(
  database: Database,
  { id, lease }: ClaimedMail,
  { reason, delaySeconds }: { reason: string; delaySeconds: number | undefined },
): Promise<void> {
  const next = sql`now() + make_interval(secs => ${delaySeconds ?? null}::float8 * (0.75 + random() / 2))`
  await database.crossTenantQuery(
    'send mails',
    sql`update mails set status = case when ${delaySeconds === undefined}::boolean then 'failed' else status end,
        ended_at = case when ${delaySeconds === undefined}::boolean then now() end,
        facts = case when ${delaySeconds === undefined}::boolean then facts - ${namesOfRecords}::text[] else facts end,
        run_at = ${next}, lease = null, last_error = ${reason}, updated_at = now(), revision = revision + 1
      where id = ${id}::uuid and lease = ${lease}::uuid`,
  )
}

const day = 24 * 60 * 60

/** Mails that ended some time ago, in any status. */
export const endedMails: RetentionPolicy = {
  name: 'mails',
  table: 'mails',
  key: { id: 'uuid' },
  since: 'ended_at',
  ttlSeconds: 30 * day,
  isPersonal: true,
}

/** Mails without a recipient: an address without an account is not stored for long. */
export const droppedMails: RetentionPolicy = {
  ...endedMails,
  name: 'dropped mails',
  since: 'dropped_at',
  ttlSeconds: day,
}
