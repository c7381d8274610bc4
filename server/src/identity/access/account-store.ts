import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'
import type { Role } from '../../platform/model/scopes.ts'

/** Seconds that a proof counts for what needs a fresh one. */
export const recentAuthenticationSeconds = 300

/** Does the session still live? One look-up by primary key. */
export const accountLive = ({ sessionId, userId }: { sessionId: string; userId: string }): Sql =>
  sql`exists (select from sessions where id = ${sessionId}::uuid and user_id = ${userId}::uuid and ended_at is null
    and expires_at > now())`

/** Has the person proved who they are in this session (uuid) within the last five minutes? */
export async function hasRecentAuthentication(db: CrossTenantConnection, sessionId: string): Promise<boolean> {
  const [row] = await db.query<{ fresh: boolean }>(
    sql`select proved_at > now() - make_interval(secs => ${recentAuthenticationSeconds}) as fresh from sessions
      where id = ${sessionId}::uuid`,
  )
  return row?.fresh ?? false
}

/** Writes down that the person has just proved who they are; `isStrong` with a second factor. */
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
  /** Kinds of second factor that the person has. */
  factors: string[]
}

/** The account of this folded address; undefined when there is none. */
export async function findAccount(db: CrossTenantConnection, key: string): Promise<Account | undefined> {
  const [row] = await db.query<Account>(sql`${selectAccounts} where email_key = ${key}`)
  return row
}

/** The person (uuid) with what proves them, locked until the transaction ends. */
export async function lockAccount(db: CrossTenantConnection, userId: string): Promise<Account | undefined> {
  const [row] = await db.query<Account>(sql`${selectAccounts} where id = ${userId}::uuid for update`)
  return row
}

const selectAccounts = sql`select id, email, name, password_hash as "passwordHash", second_factors as factors from users`

/** The same of the person of a session, who is always there. */
export async function lockOwnAccount(db: CrossTenantConnection, userId: string): Promise<Account> {
  const account = await lockAccount(db, userId)
  if (!account) throw new Error('a session belongs to a person')
  return account
}

/** Says which kinds of second factor the person has from now on. */
export async function setFactors(db: CrossTenantConnection, userId: string, factors: readonly string[]): Promise<void> {
  await db.query(sql`update users set second_factors = ${factors}::text[], updated_at = now()
    where id = ${userId}::uuid`)
}

/** The person's role there; null when they are not in it, or there is none. */
export async function findRole(
  db: CrossTenantConnection,
  userId: string,
  organizationId: string | null,
): Promise<Role | null> {
  const [row] = await db.query<{ role: Role }>(sql`
    select role from members where organization_id = ${organizationId}::uuid and user_id = ${userId}::uuid`)
  return row?.role ?? null
}
