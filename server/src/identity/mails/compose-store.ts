import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'

/** The person a mail is about. */
export interface Addressee {
  id: string
  email: string
  /** Their organization, if they have exactly one. */
  organizationId: string | null
  /** Null if they have not chosen one. */
  language: string | null
  /** Their own, or that of their only organization. */
  timeZone: string | null
}

/** The person with this uuid or, without one, with this folded address. */
export async function findAddressee(
  db: CrossTenantConnection,
  { userId, recipientKey }: { userId: string | null; recipientKey: string },
): Promise<Addressee | undefined> {
  const condition = userId === null ? sql`users.email_key = ${recipientKey}` : sql`users.id = ${userId}::uuid`
  const [row] = await db.query<Addressee>(sql`
    select users.id, users.email, users.language, home.id as "organizationId",
      coalesce(users.time_zone, home.time_zone) as "timeZone"
    from users left join lateral (
      select (array_agg(organizations.id))[1] as id, (array_agg(organizations.time_zone))[1] as time_zone
      from members join organizations on organizations.id = members.organization_id
      where members.user_id = users.id having count(*) = 1) home on true
    where ${condition}`)
  return row
}

/** The name of the organization (uuid). */
export async function findOrganizationName(
  db: CrossTenantConnection,
  organizationId: string | null,
): Promise<string | undefined> {
  const [row] = await db.query<{ name: string }>(
    sql`select name from organizations where id = ${organizationId}::uuid and deletes_at is null`,
  )
  return row?.name
}

/** The contents of an invitation mail. */
export interface InvitationDetails {
  email: string
  organization: string
  /** Null if the sender no longer has an account. */
  invitedBy: string | null
  /** That of the invited person, or of the sender. */
  language: string | null
  /** Seconds until the invitation expires. */
  secondsLeft: number
}

/** The invitation, unless it was withdrawn, accepted, or has expired. */
export async function findInvitation(
  db: CrossTenantConnection,
  { organizationId, recordId }: { organizationId: string | null; recordId: string | null },
): Promise<InvitationDetails | undefined> {
  const [row] = await db.query<InvitationDetails>(sql`
    select invitation.email, organization.name as organization, person.name as "invitedBy",
      coalesce(invited.language, person.language) as language,
      floor(extract(epoch from invitation.expires_at - now()))::int as "secondsLeft"
    from invitations invitation
    join organizations organization on organization.id = invitation.organization_id and organization.deletes_at is null
    left join users person on person.id = invitation.invited_by
    left join users invited on invited.email_key = invitation.email_key
    where invitation.organization_id = ${organizationId}::uuid and invitation.id = ${recordId}::uuid
      and invitation.deleted_at is null and invitation.expires_at > now()`)
  return row
}
