import type { Database, Spanning, Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { newId } from '../resource/ids.ts'
import { emailKey } from '../resource/texts.ts'
import type { Perishable } from '../upkeep/store.ts'
import type { MailKind, NewMail } from './kinds.ts'

/** Kinds that somebody can cause for any address. */
const limited: readonly MailKind[] = ['sign-up', 'reset-password', 'verify-address', 'invitation']

/**
 * How many mails of such a kind an address gets, of invitations for each. Their links are good for as long at least: who
 * asks for too many for someone else fills no inbox, and takes nobody's last good link away.
 */
const most = { mails: 5, minutes: 30 }

/**
 * Puts a mail into the queue, in the transaction of what it tells of; `services.mail.wake()` after the commit sends it at
 * once. What it says is looked up when it is composed: whether the address has an account costs no time here.
 */
export async function queueMail(db: Spanning | Transaction, mail: NewMail): Promise<void> {
  const { kind, recipient, userId = null } = mail
  const recordId = mail.kind === 'invitation' ? mail.recordId : null
  const facts = 'facts' in mail ? mail.facts : {}
  const key = emailKey(recipient)
  await db.query(sql`
    insert into mails (id, organization_id, user_id, record_id, kind, recipient, recipient_key, facts)
    select ${newId()}::uuid, ${organizationOf(db, mail)}, ${userId}::uuid, ${recordId}::uuid, ${kind}, ${recipient}, ${key},
      ${JSON.stringify(facts)}::jsonb
    where not ${limited.includes(kind)}::boolean or ${most.mails} > (
      select count(*) from mails where recipient_key = ${key} and kind = ${kind}
        and record_id is not distinct from ${recordId}::uuid
        and created_at > now() - make_interval(mins => ${most.minutes}))`)
}

/** A person's own mail gets its organization when it is composed. */
function organizationOf(db: Spanning | Transaction, mail: NewMail) {
  const given = mail.kind === 'invitation' ? mail.organizationId : null
  if (!('organization' in db)) return sql`${given}::uuid`
  return given === null ? sql`nullif(${db.organization}, ${db.organization})` : db.organization
}

/** A mail that this process has for a while. */
export interface ClaimedMail {
  id: string
  /** The fencing token: what has another one by now is no longer ours. */
  lease: string
  kind: MailKind
  attempts: number
}

/** Takes up to `count` mails that are due, the longest waiting first. */
export async function claimMails(
  database: Database,
  { count, leaseSeconds }: { count: number; leaseSeconds: number },
): Promise<ClaimedMail[]> {
  const lease = newId()
  return database.spanning<ClaimedMail>(
    'send mails',
    sql`with due as (
        select id from mails where status = 'queued' and run_at <= now()
        order by run_at, id limit ${count} for update skip locked)
      update mails set lease = ${lease}::uuid, attempts = attempts + 1, updated_at = now(), revision = revision + 1,
        run_at = now() + make_interval(secs => ${leaseSeconds})
      from due where mails.id = due.id returning mails.id, mails.lease, mails.kind, mails.attempts`,
  )
}

/** A mail that is being composed, as it lies in the queue. */
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

/** The claimed mail, locked until the transaction ends; undefined when another process has it by now. */
export async function holdMail(
  spanning: Spanning,
  { id, lease }: ClaimedMail,
  recentSeconds: number,
): Promise<QueuedMail | undefined> {
  const [row] = await spanning.query<QueuedMail>(sql`
    select id, kind, recipient, recipient_key as "recipientKey", organization_id as "organizationId",
      user_id as "userId", record_id as "recordId", facts, subject, body_sealed as "bodySealed",
      (extract(epoch from composed_at) * 1000)::float8 as "composedAt",
      coalesce(composed_at > now() - make_interval(secs => ${recentSeconds}), false) as "isRecent"
    from mails where id = ${id}::uuid and lease = ${lease}::uuid and status = 'queued' for update`)
  return row
}

/** What a mail became when it was composed. */
export interface ComposedMail {
  recipient: string
  subject: string
  bodySealed: Buffer
  organizationId: string | null
  userId: string | null
}

/** Keeps what was composed, in the transaction that holds the mail; gives the time, in milliseconds since 1970. */
export async function keepComposed(spanning: Spanning, id: string, composed: ComposedMail): Promise<number> {
  const { recipient, subject, bodySealed, organizationId, userId } = composed
  const [row] = await spanning.query<{ composedAt: number }>(sql`
    update mails set recipient = ${recipient}, subject = ${subject}, body_sealed = ${bodySealed}, composed_at = now(),
      organization_id = ${organizationId}::uuid, user_id = ${userId}::uuid, updated_at = now(), revision = revision + 1
    where id = ${id}::uuid returning (extract(epoch from composed_at) * 1000)::float8 as "composedAt"`)
  if (!row) throw new Error('the mail is held')
  return row.composedAt
}

/** Ends a mail that is held: `kept` because there is no mail server, or `dropped` because there is nobody to tell. */
export async function endHeld(
  spanning: Spanning,
  id: string,
  end: { status: 'kept' } | { status: 'dropped'; reason: string },
): Promise<void> {
  const reason = end.status === 'dropped' ? end.reason : null
  await spanning.query(sql`
    update mails set status = ${end.status}, last_error = ${reason}, ended_at = now(), run_at = null, lease = null,
      dropped_at = case when ${end.status} = 'dropped' then now() end,
      body_sealed = case when ${end.status} = 'dropped' then null else body_sealed end,
      updated_at = now(), revision = revision + 1
    where id = ${id}::uuid`)
}

/** Mails of this kind to the person (uuid) that were not handed over yet: what they would say holds no more. */
export async function dropMails(spanning: Spanning, kind: NewMail['kind'], userId: string): Promise<void> {
  await spanning.query(sql`
    update mails set status = 'dropped', last_error = 'overtaken', ended_at = now(), run_at = null, lease = null,
      body_sealed = null, updated_at = now(), revision = revision + 1
    where kind = ${kind} and status in ('queued', 'kept') and (user_id = ${userId}::uuid
      or recipient_key = (select email_key from users where id = ${userId}::uuid))`)
}

/** Writes down that the mail server took it. Nothing of what it said stays. */
export async function markSent(database: Database, { id, lease }: ClaimedMail): Promise<void> {
  await database.spanning(
    'send mails',
    sql`update mails set status = 'sent', sent_at = now(), ended_at = now(), run_at = null, lease = null,
        body_sealed = null, last_error = null, updated_at = now(), revision = revision + 1
      where id = ${id}::uuid and lease = ${lease}::uuid`,
  )
}

/** Tries again after so many seconds, a little sooner or later than others; without them it has failed for good. */
export async function markUnsent(
  database: Database,
  { id, lease }: ClaimedMail,
  { reason, delaySeconds }: { reason: string; delaySeconds: number | undefined },
): Promise<void> {
  const next = sql`now() + make_interval(secs => ${delaySeconds ?? null}::float8 * (0.75 + random() / 2))`
  await database.spanning(
    'send mails',
    sql`update mails set status = case when ${delaySeconds === undefined}::boolean then 'failed' else status end,
        ended_at = case when ${delaySeconds === undefined}::boolean then now() end,
        run_at = ${next}, lease = null, last_error = ${reason}, updated_at = now(), revision = revision + 1
      where id = ${id}::uuid and lease = ${lease}::uuid`,
  )
}

const day = 24 * 60 * 60

/** Mails that came to their end so long ago, with what is left of them. */
export const endedMails: Perishable = {
  name: 'mails',
  table: 'mails',
  key: { id: 'uuid' },
  since: 'ended_at',
  keptSeconds: 30 * day,
  isPersonal: true,
}

/** Mails to nobody: an address without an account has no reason to be known here. */
export const droppedMails: Perishable = {
  ...endedMails,
  name: 'dropped mails',
  since: 'dropped_at',
  keptSeconds: day,
}
