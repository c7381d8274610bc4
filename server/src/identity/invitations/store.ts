import { readOneTimeToken } from '../access/one-time-token-store.ts'
import type { MemberRole } from '../../platform/model/scopes.ts'
import type { CrossTenantConnection, Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { UniqueConflict } from '../../platform/records/write/unique-conflict.ts'
import { members } from '../members/resource.ts'
import { invitations } from './resource.ts'
import type { PendingChange } from '../../platform/records/declare/changes.ts'
import type { JsonValue } from '../../platform/model/json.ts'

/** Column values of an invitation that is sent now. */
export function sendingColumns(days: JsonValue | undefined, sender: string | null): Record<string, JsonValue> {
  const expires = Date.now() + Number(days) * 24 * 60 * 60 * 1000
  // Without a sender, only the operator's command can have sent it.
  return {
    sent_at: 'now',
    expires_at: new Date(expires).toISOString(),
    invited_by: sender,
    by_command: sender === null,
  }
}

/** Sets the sending columns of new invitations, and rejects addresses of members. */
async function prepareNew(transaction: Transaction, pending: readonly PendingChange[]): Promise<void> {
  const created = pending.filter(({ before }) => before === undefined)
  for (const { columns, values } of created) {
    Object.assign(columns, sendingColumns(values.expiresInDays, transaction.actor.userId))
  }
  const keys = created.map(({ columns }) => String(columns.email_key))
  const memberQuery = sql`
    select members.id from members join users on users.id = members.user_id
    where members.organization_id = ${transaction.organization} and users.email_key = any(${keys}::text[]) limit 1`
  const [member] = await transaction.query<{ id: string }>(memberQuery)
  if (member) throw new UniqueConflict(members, 'email', memberQuery, { reason: 'is already a member' })
}

export const invitationStore = standardStore(invitations, { beforeWrite: prepareNew })

/** Maximum mails per hour: enough for normal use, too few for spam. */
const hourlyLimits = { ofOrganization: 100, ofInvitation: 5 }

/** Rejects another mail about the invitation (uuid) after too many. Error: 429. */
export async function assertMaySend(transaction: Transaction, id: string): Promise<void> {
  const sent = sql`select created_at from mails
    where organization_id = ${transaction.organization} and kind = 'invitation' and created_at > now() - interval '1 hour'`
  const [row] = await transaction.query<{ seconds: number | null }>(sql`
    select ceil(extract(epoch from greatest(
      (${sent} order by created_at desc offset ${hourlyLimits.ofOrganization - 1} limit 1),
      (${sent} and record_id = ${id}::uuid order by created_at desc offset ${hourlyLimits.ofInvitation - 1} limit 1)
    ) + interval '1 hour' - now()))::int as seconds`)
  if (row?.seconds === null || row?.seconds === undefined) return
  const seconds = Math.max(1, row.seconds)
  throw new ApiError(
    'rate_limited',
    `At most ${hourlyLimits.ofInvitation} mails an hour are sent for one invitation, and ${hourlyLimits.ofOrganization} for all of an organization. Try again in ${seconds} seconds.`,
    { headers: { 'retry-after': `${seconds}` } },
  )
}

/** Removes the open invitations to this address, with their links. */
export async function removeInvitationsTo(transaction: Transaction, email: string): Promise<void> {
  const removed = await transaction.query<{ id: string }>(sql`
    delete from invitations where organization_id = ${transaction.organization} and email_key = ${emailKey(email)}
    returning id`)
  for (const { id } of removed) await revokeLinks(transaction, id)
}

/** The open invitation for this address, with its public id, or undefined. */
export async function findOpenInvitation(
  transaction: Transaction,
  email: string,
): Promise<{ recordId: string; expiresAt: string } | undefined> {
  const [row] = await transaction.query<{ id: string; expiresAt: Date }>(sql`
    select id, expires_at as "expiresAt" from invitations
    where organization_id = ${transaction.organization} and email_key = ${emailKey(email)} and deleted_at is null
      and expires_at > now()`)
  return row && { recordId: encodeId(invitations.idPrefix, row.id), expiresAt: row.expiresAt.toISOString() }
}

/** Revokes the links of this invitation (uuid). */
export async function revokeLinks(transaction: Transaction, id: string): Promise<void> {
  await transaction.query(sql`
    delete from one_time_tokens
    where purpose = 'invitation' and organization_id = ${transaction.organization} and record_id = ${id}::uuid`)
}

/** An invitation found through its link; ids are uuids. */
export interface OpenInvitation {
  id: string
  organizationId: string
  organization: string
  email: string
  role: MemberRole
  roleId: string | null
  /** The name of a custom role. */
  roleName: string | null
  teamId: string | null
  expiresAt: string
  /** The person with this address, if any. */
  userId: string | null
  /** Using the link proves access to the mailbox. */
  isMailed: boolean
}

/**
 * The invitation of a link, locked until the transaction ends; undefined if the link is invalid, used, withdrawn or
 * expired, or if the sender could no longer send it.
 */
export async function lockInvitationByToken(
  db: CrossTenantConnection,
  token: string,
): Promise<OpenInvitation | undefined> {
  const link = await readOneTimeToken(db, 'invitation', token)
  if (!link) return undefined
  const [row] = await db.query<OpenInvitation>(sql`
    select invitations.id, invitations.organization_id as "organizationId", organizations.name as organization,
      invitations.email, invitations.role, invitations.role_id as "roleId", roles.name as "roleName", team_id as "teamId", users.id as "userId",
      to_char(expires_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "expiresAt", ${link.isMailed}::boolean as "isMailed"
    from invitations
    join organizations on organizations.id = invitations.organization_id and organizations.deletes_at is null
    left join members sender on sender.organization_id = invitations.organization_id and sender.user_id = invited_by
    left join users inviter on inviter.id = invited_by and inviter.disabled_at is null
    left join users on users.email_key = invitations.email_key
    left join roles on roles.organization_id = invitations.organization_id and roles.id = invitations.role_id
    where invitations.organization_id = ${link.organizationId}::uuid and invitations.id = ${link.recordId}::uuid
      and invitations.deleted_at is null and expires_at > now()
      and (invitations.by_command or (inviter.id is not null
        and (sender.role = 'owner' or (sender.role = 'admin' and invitations.role <> 'owner'))))
    for update of invitations`)
  return row
}

/** Deletes an accepted invitation and all its links. */
export async function closeInvitation(
  db: CrossTenantConnection,
  { organizationId, id }: OpenInvitation,
): Promise<void> {
  await db.query(sql`
    delete from invitations where organization_id = ${organizationId}::uuid and id = ${id}::uuid`)
  await db.query(sql`
    delete from one_time_tokens
    where purpose = 'invitation' and organization_id = ${organizationId}::uuid and record_id = ${id}::uuid`)
}

/** The folded address of the person (uuid), locked until the transaction ends. */
export async function lockEmailKey(db: CrossTenantConnection, userId: string): Promise<string | undefined> {
  const [row] = await db.query<{ email: string }>(
    sql`select email_key as email from users where id = ${userId}::uuid for no key update`,
  )
  return row?.email
}

/** Whether the invitation is for this folded address. */
export const isSameAddress = ({ email }: OpenInvitation, folded: string | undefined): boolean =>
  emailKey(email) === folded

/** Marks the address as verified, after the person has opened a link that was mailed to it. */
export async function markVerified(db: CrossTenantConnection, userId: string): Promise<void> {
  await db.query(sql`
    update users set verified_at = now(), updated_at = now() where id = ${userId}::uuid and verified_at is null`)
}
