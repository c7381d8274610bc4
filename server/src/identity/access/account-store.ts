import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { raw, type Sql, sql } from '../../platform/model/sql.ts'
import type { MemberRole } from '../../platform/model/scopes.ts'

/** Seconds after an authentication during which sensitive actions are allowed. */
export const recentAuthenticationSeconds = 300

/** True while the session is active. One lookup by primary key. */
export const accountLive = ({ sessionId, userId }: { sessionId: string; userId: string }): Sql =>
  sql`exists (select from sessions where id = ${sessionId}::uuid and user_id = ${userId}::uuid and ended_at is null
    and expires_at > now())`

/** Whether the person authenticated in this session (uuid) within the last five minutes. */
export async function hasRecentAuthentication(db: CrossTenantConnection, sessionId: string): Promise<boolean> {
  const [row] = await db.query<{ isRecent: boolean }>(
    sql`select proved_at > now() - make_interval(secs => ${recentAuthenticationSeconds}) as "isRecent" from sessions
      where id = ${sessionId}::uuid`,
  )
  return row?.isRecent ?? false
}

/** Records that the person has just authenticated; `isStrong` means with a second factor. */
export async function recordReauthentication(
  db: CrossTenantConnection,
  sessionId: string,
  isStrong: boolean,
): Promise<void> {
  await db.query(sql`
    update sessions set proved_at = now(),
      second_factor_at = case when ${isStrong}::boolean then now() else second_factor_at end
    where id = ${sessionId}::uuid`)
}

export interface Account {
  id: string
  email: string
  name: string
  passwordHash: string | null
  /** The person's kinds of second factor. */
  factors: string[]
}

/** The account with this folded address, if any. */
export async function findAccount(db: CrossTenantConnection, key: string): Promise<Account | undefined> {
  const [row] = await db.query<Account>(sql`${selectAccounts} where email_key = ${key}`)
  return row
}

/** The account of the person (uuid) with its credentials, locked until the transaction ends. */
export async function lockAccount(db: CrossTenantConnection, userId: string): Promise<Account | undefined> {
  const [row] = await db.query<Account>(sql`${selectAccounts} where id = ${userId}::uuid for update`)
  return row
}

const selectAccounts = sql`select id, email, name, password_hash as "passwordHash", second_factors as factors from users`

/** `lockAccount` for the person of a session, whose account always exists. */
export async function lockOwnAccount(db: CrossTenantConnection, userId: string): Promise<Account> {
  const account = await lockAccount(db, userId)
  if (!account) throw new Error('the session’s person has no account')
  return account
}

/** Stores the person's kinds of second factor. */
export async function setFactors(db: CrossTenantConnection, userId: string, factors: readonly string[]): Promise<void> {
  await db.query(sql`update users set second_factors = ${factors}::text[], updated_at = now()
    where id = ${userId}::uuid`)
}

/** A member's role; `customScopes` are those of a custom one. */
export interface RoleGrant {
  role: MemberRole | null
  customScopes?: string[] | null
}

/** The scopes of the custom role of the row in `members`; null for a built-in role. */
export const customScopesSql = raw(`(select roles.scopes from roles
    where roles.organization_id = members.organization_id and roles.id = members.role_id)`)

/** The person's role in the organization; null if they are not a member or `organizationId` is null. */
export async function findRole(
  db: CrossTenantConnection,
  userId: string,
  organizationId: string | null,
): Promise<RoleGrant> {
  const [row] = await db.query<RoleGrant>(sql`
    select role, ${customScopesSql} as "customScopes" from members
    where organization_id = ${organizationId}::uuid and user_id = ${userId}::uuid`)
  return row ?? { role: null, customScopes: null }
}
