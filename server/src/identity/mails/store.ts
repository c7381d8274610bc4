import { anyOrganization, type CrossTenantConnection, type Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { newId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { notFound } from '../../platform/records/page/read.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import type { Language } from '../../platform/model/languages.ts'
import type { MailKind } from './kinds.ts'
import { mails } from './resource.ts'
import type { Texts } from './texts-en.ts'

/** Read-only: mails are added by `queueMail`. */
export const mailStore = standardStore(mails)

/**
 * The encrypted body of the organization's mail (uuid). Not for a person who has left or is also in another
 * organization: the link may give access to that one. From now on the link verifies no address, even if the mail is
 * sent later, because its reader is not its recipient. Error: 404, with the reason.
 */
export async function readSealedBody(db: Transaction, id: string): Promise<Buffer> {
  const [row] = await db.query<{ bodySealed: Buffer | null; isLost: boolean }>(sql`
    with mail as (
      select body_sealed, token_hash, status in ('kept', 'failed') and composed_at is not null as is_lost from mails
      where organization_id = ${db.organization} and id = ${id}::uuid
        and (user_id is null or array[organization_id] = array(
          select members.organization_id from members where members.user_id = mails.user_id))
    ), shown as (
      update one_time_tokens set is_mailed = false from mail where hash = mail.token_hash
    )
    select body_sealed as "bodySealed", is_lost as "isLost" from mail`)
  if (!row) throw notFound(mails)
  if (row.bodySealed) return row.bodySealed
  throw new ApiError(
    'not_found',
    row.isLost ? contentsLost : 'This mail has no contents: it is not composed yet, or was already sent.',
  )
}

/** Deletes the mails that name one of these records (uuids), whether they were sent or not. */
export async function deleteMailsAbout(db: Transaction, recordIds: readonly string[]): Promise<void> {
  await db.query(sql`
    delete from mails where organization_id = ${db.organization} and kind in ('reminder', 'digest') and exists (
      select from regexp_matches(facts::text, '_([0-9a-f]{32})', 'g') named
      where named[1] = any(${recordIds.map((id) => id.replaceAll('-', ''))}::text[]))`)
}

/** The kind of the organization's mail (uuid). */
export async function readKind(db: Transaction, id: string): Promise<MailKind | undefined> {
  const [row] = await db.query<{ kind: MailKind }>(
    sql`select kind from mails where organization_id = ${db.organization} and id = ${id}::uuid`,
  )
  return row?.kind
}

/** After `restore --new-secret`. */
const contentsLost =
  'The contents of this mail were lost with the secret that encrypted them. Request the link or send the invitation again.'

/** The changes of an account that a mail reports. */
export type AccountChange = keyof Texts['accountChanged']['changes']

interface Recipient {
  /** The address as typed. */
  recipient: string
  /** The uuid of the person the mail is about; by default, the person with the address. */
  userId?: string | null
}

/** A mail to compose and send; ids are uuids. */
export type NewMail = Recipient &
  (
    | { kind: 'verify-address' }
    | { kind: 'sign-up' | 'reset-password'; facts?: PageFacts }
    | { kind: 'invitation'; organizationId: string; recordId: string }
    | { kind: 'new-device'; facts: DeviceFacts }
    | { kind: 'account-changed'; facts: { what: AccountChange } }
    | { kind: 'webhook'; organizationId: string; facts: WebhookFacts }
    | { kind: 'reminder'; organizationId: string; facts: ReminderFacts }
    | { kind: 'digest'; organizationId: string; facts: DigestFacts }
  )

/** The language of the page on which a mail was requested, for people who have not chosen one. */
export interface PageFacts extends Readonly<Record<string, string>> {
  language: Language
}

/** What happened to a webhook, and the host of its URL. */
export interface WebhookFacts extends Readonly<Record<string, string>> {
  what: 'failing' | 'disabled' | 'gone' | 'recovered'
  host: string
}

/** Why a mail names a task, its title, and its path in the application. */
export interface ReminderFacts extends Readonly<Record<string, string>> {
  what: 'reminder' | 'taskDue'
  title: string
  path: string
}

/** What is new in an inbox. */
export interface DigestFacts extends Readonly<Record<string, string>> {
  /** That of the lines. */
  language: Language
  count: string
  /** The first `DigestLine`s as JSON. */
  lines: string
  /** The ids of their records: the mail is deleted with a person who is erased. */
  records: string
  /** The path of the inbox in the application. */
  path: string
}

/** A record that the digest names, why, and its path in the application. */
export interface DigestLine {
  says: string
  title: string
  path: string
}

/** The device of a login, as far as the request reveals it. */
export interface DeviceFacts {
  device: string | null
  address: string | null
  /** ISO 8601, UTC. */
  at: string
}

/** Kinds that anyone can trigger for any address. */
const limitedKinds: readonly MailKind[] = ['sign-up', 'reset-password', 'verify-address', 'invitation']

/**
 * The maximum number of such mails per address and kind, and per invitation. Their links are valid for at least as
 * long, so that unwanted requests neither flood an inbox nor leave it without a valid link.
 */
const mailLimit = { mails: 5, minutes: 30 }

/**
 * Queues a mail in the transaction of the event that it reports; call `services.mail.wake()` after the commit to send
 * it immediately. Its contents are looked up when it is composed, so the response time does not reveal whether the
 * address has an account.
 */
export async function queueMail(db: CrossTenantConnection | Transaction, mail: NewMail): Promise<void> {
  const { kind, recipient, userId = null } = mail
  const recordId = mail.kind === 'invitation' ? mail.recordId : null
  const facts = 'facts' in mail ? (mail.facts ?? {}) : {}
  const key = emailKey(recipient)
  await db.query(sql`
    insert into mails (id, organization_id, user_id, record_id, kind, recipient, recipient_key, facts)
    select ${newId()}::uuid, ${organizationOf(db, mail)}, ${userId}::uuid, ${recordId}::uuid, ${kind}, ${recipient}, ${key},
      ${JSON.stringify(facts)}::jsonb
    where not ${limitedKinds.includes(kind)}::boolean or ${mailLimit.mails} > (
      select count(*) from mails where recipient_key = ${key} and kind = ${kind}
        and record_id is not distinct from ${recordId}::uuid
        and created_at > now() - make_interval(mins => ${mailLimit.minutes}))`)
}

/** Only what an organization does has one here; other mails get theirs when they are composed. */
function organizationOf(db: CrossTenantConnection | Transaction, mail: NewMail) {
  const given = 'organizationId' in mail ? mail.organizationId : null
  if (!('organization' in db)) return sql`${given}::uuid`
  return given === null ? sql`nullif(${db.organization}, ${db.organization})` : db.organization
}

/** Drops unsent mails of this kind to the person (uuid), because they are outdated. */
export async function dropMails(
  db: CrossTenantConnection | Transaction,
  kind: NewMail['kind'],
  userId: string,
): Promise<void> {
  await db.query(sql`
    update mails set status = 'dropped', last_error = 'overtaken', ended_at = now(), run_at = null, lease = null,
      body_sealed = null, updated_at = now(), revision = revision + 1
    where kind = ${kind} and status in ('queued', 'kept') and (user_id = ${userId}::uuid
      or recipient_key = (select email_key from users where id = ${userId}::uuid)) and ${anyOrganization(db)}`)
}
