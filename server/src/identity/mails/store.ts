import { anyOrganization, type CrossTenantConnection, type Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { newId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { notFound } from '../../platform/resource/read.ts'
import { standardStore } from '../../platform/resource/store.ts'
import type { MailKind } from './kinds.ts'
import { mails } from './resource.ts'

/** Read alone: `queueMail` is what adds to it. */
export const mailStore = standardStore(mails)

/**
 * The sealed body of the organization's mail (uuid). The mail of a person who has left is not shown, nor of one who is in
 * another organization too by now: its link may open that one. From now on the link verifies no address, also when the mail
 * is sent after this: its reader is not its recipient. Error: 404, which says why there is none.
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

/** After `restore --new-secret`. */
const contentsLost =
  'The contents of this mail were lost with the secret that encrypted them. Request the link or send the invitation again.'

/** What of an account can have changed, as a mail tells it. */
export const accountChanges = {
  'password-changed': 'The password was changed.',
  'second-factor-added': 'A second factor was added.',
  'second-factor-removed': 'A second factor was removed.',
  'passkey-added': 'A passkey was added.',
  'passkey-removed': 'A passkey was removed.',
  'recovery-codes-made': 'New recovery codes were created; the previous ones no longer work.',
  'address-changed': 'The email address was changed.',
  'sessions-ended': 'All sessions were ended.',
  'identity-linked': 'A login at an organization’s provider was linked.',
  'identity-unlinked': 'A login at an organization’s provider was unlinked.',
} as const
export type AccountChange = keyof typeof accountChanges

interface Recipient {
  /** The address as it was typed. */
  recipient: string
  /** The uuid of the person whose account it is about; without it the address says who. */
  userId?: string | null
}

/** A mail to be composed and sent; the ids are uuids. */
export type NewMail = Recipient &
  (
    | { kind: 'sign-up' | 'reset-password' | 'verify-address' }
    | { kind: 'invitation'; organizationId: string; recordId: string }
    | { kind: 'new-device'; facts: DeviceFacts }
    | { kind: 'account-changed'; facts: { what: AccountChange } }
  )

/** The device that somebody logged in from, as far as the request told. */
export interface DeviceFacts {
  device: string | null
  address: string | null
  /** ISO 8601, UTC. */
  at: string
}

/** Kinds that somebody can cause for any address. */
const limitedKinds: readonly MailKind[] = ['sign-up', 'reset-password', 'verify-address', 'invitation']

/**
 * How many mails of such a kind an address gets, of invitations for each. Their links are good for as long at least: who
 * asks for too many for someone else fills no inbox, and takes nobody's last good link away.
 */
const mailLimit = { mails: 5, minutes: 30 }

/**
 * Puts a mail into the queue, in the transaction of what it tells of; `services.mail.wake()` after the commit sends it at
 * once. What it says is looked up when it is composed: whether the address has an account costs no time here.
 */
export async function queueMail(db: CrossTenantConnection | Transaction, mail: NewMail): Promise<void> {
  const { kind, recipient, userId = null } = mail
  const recordId = mail.kind === 'invitation' ? mail.recordId : null
  const facts = 'facts' in mail ? mail.facts : {}
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

/** A person's own mail gets its organization when it is composed. */
function organizationOf(db: CrossTenantConnection | Transaction, mail: NewMail) {
  const given = mail.kind === 'invitation' ? mail.organizationId : null
  if (!('organization' in db)) return sql`${given}::uuid`
  return given === null ? sql`nullif(${db.organization}, ${db.organization})` : db.organization
}

/** Mails of this kind to the person (uuid) that were not handed over yet: what they would say holds no more. */
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
