import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { newId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/normalizers.ts'

/** A person's identity at a provider, for one organization (uuid). */
export interface Identity {
  organizationId: string
  issuer: string
  subject: string
}

/** Records the identity's use and returns its person (uuid); undefined if it is not linked. */
export async function recordIdentityUse(
  db: CrossTenantConnection,
  { organizationId, issuer, subject }: Identity,
): Promise<string | undefined> {
  const [row] = await db.query<{ userId: string }>(sql`
    update sso_identities set last_used_at = now()
    where organization_id = ${organizationId}::uuid and issuer = ${issuer} and subject = ${subject}
      and connection_id is not null
    returning user_id as "userId"`)
  return row?.userId
}

/**
 * Links the identity to the person and returns its uuid; undefined if it is already linked. An unlinked one can be
 * linked again.
 */
export async function linkIdentity(
  db: CrossTenantConnection,
  identity: Identity & { connectionId: string; userId: string; email: string | null },
): Promise<string | undefined> {
  const { organizationId, connectionId, userId, issuer, subject, email } = identity
  const id = newId()
  const rows = await db.query(sql`
    insert into sso_identities (organization_id, id, connection_id, user_id, issuer, subject, email, email_key)
    values (${organizationId}, ${id}, ${connectionId}, ${userId}, ${issuer}, ${subject}, ${email}, ${email && emailKey(email)})
    on conflict (organization_id, issuer, subject) do update set
      id = excluded.id, connection_id = excluded.connection_id, user_id = excluded.user_id, email = excluded.email,
      email_key = excluded.email_key, last_used_at = null, created_at = excluded.created_at
    where sso_identities.connection_id is null
    returning id`)
  return rows.length > 0 ? id : undefined
}

/** What a login through an organization's provider depends on. */
export interface MembershipStatus {
  isMember: boolean
  /** A member of another organization. */
  isElsewhere: boolean
  isVerified: boolean
}

/** The status of a person whose account the caller has locked. */
export async function findMembershipStatus(
  db: CrossTenantConnection,
  userId: string,
  organizationId: string,
): Promise<MembershipStatus> {
  const [row] = await db.query<MembershipStatus>(sql`
    select coalesce(bool_or(members.organization_id = ${organizationId}::uuid), false) as "isMember",
      coalesce(bool_or(members.organization_id <> ${organizationId}::uuid), false) as "isElsewhere",
      users.verified_at is not null as "isVerified"
    from users left join members on members.user_id = users.id
    where users.id = ${userId}::uuid group by users.id`)
  return row ?? { isMember: false, isElsewhere: false, isVerified: false }
}

/**
 * Whether this folded address or identity belongs to a former member of the organization. Also counts unlinked
 * identities, identities of deleted connections, and former addresses.
 */
export async function isFormerMember(
  db: CrossTenantConnection,
  { organizationId, issuer, subject, key }: Identity & { key: string },
): Promise<boolean> {
  const rows = await db.query(sql`
    select from former_members
    where organization_id = ${organizationId}::uuid and user_id in (
      select id from users where email_key = ${key}
      union all select user_id from former_addresses where email_key = ${key}
      union all select user_id from sso_identities
        where organization_id = ${organizationId}::uuid
          and (email_key = ${key} or (issuer = ${issuer} and subject = ${subject})))
    limit 1`)
  return rows.length > 0
}

/** Whether the organization (uuid) has verified this domain. */
export async function isVerifiedDomain(
  db: CrossTenantConnection,
  organizationId: string,
  domain: string,
): Promise<boolean> {
  const rows = await db.query(sql`
    select from domains
    where organization_id = ${organizationId}::uuid and domain = ${domain} and verified_at is not null`)
  return rows.length > 0
}

/** The organization of an enabled connection (uuid), if the person (uuid) is a member of it. */
export async function findOwnConnection(
  db: CrossTenantConnection,
  userId: string,
  connectionId: string,
): Promise<string | undefined> {
  const [row] = await db.query<{ organizationId: string }>(sql`
    select sso_connections.organization_id as "organizationId" from sso_connections
    join members on members.organization_id = sso_connections.organization_id and members.user_id = ${userId}::uuid
    where sso_connections.id = ${connectionId}::uuid and sso_connections.enabled`)
  return row?.organizationId
}

/** The person's identities as a JSON array, oldest first. */
export async function findIdentities(
  db: CrossTenantConnection,
  userId: string,
  identityId: string | null = null,
): Promise<string> {
  const [row] = await db.query<{ text: string }>(sql`
    select coalesce(json_agg(row_to_json(shown) order by shown."createdAt", shown.id), '[]')::text as text from (
      select 'sid_' || replace(identity.id::text, '-', '') as id,
        'org_' || replace(identity.organization_id::text, '-', '') as "organizationId",
        'sso_' || replace(identity.connection_id::text, '-', '') as "connectionId",
        sso_connections.name as "connectionName", identity.issuer, identity.subject, identity.email,
        to_char(identity.last_used_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "lastUsedAt",
        to_char(identity.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt"
      from sso_identities identity
      join sso_connections on sso_connections.organization_id = identity.organization_id
        and sso_connections.id = identity.connection_id
      where identity.user_id = ${userId}::uuid and identity.id = coalesce(${identityId}::uuid, identity.id)
    ) shown`)
  return row?.text ?? '[]'
}

/** Unlinks the person's identity (uuid) and returns how many remain; undefined if it is not theirs. */
export async function unlinkIdentity(
  db: CrossTenantConnection,
  userId: string,
  id: string,
): Promise<number | undefined> {
  const rows = await db.query(sql`
    update sso_identities set connection_id = null
    where id = ${id}::uuid and user_id = ${userId}::uuid and connection_id is not null returning id`)
  if (rows.length === 0) return undefined
  const [remaining] = await db.query<{ count: number }>(sql`
    select count(*)::integer as count from sso_identities
    where user_id = ${userId}::uuid and connection_id is not null`)
  return remaining?.count ?? 0
}
