import { type Account, lockAccount } from '../access/account-store.ts'
import { type Device, knownDeviceConditions } from '../access/login-store.ts'
import { revokeOneTimeTokens } from '../access/one-time-token-store.ts'
import { recordPersonEvent } from '../audit-log/store.ts'
import type { AttemptSource } from '../access/throttle-store.ts'
import type { Database, CrossTenantConnection, Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { dropMails } from '../mails/store.ts'
import { showId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/normalizers.ts'

export interface FoundLogin {
  person: Account | undefined
  source: AttemptSource
}

/** Who has this folded address, and whether they know this device: one statement, whether there is anyone or not. */
export async function findLogin(database: Database, account: string, device: Device): Promise<FoundLogin> {
  const { cookie, addressAndProgram } = knownDeviceConditions(device)
  const [row] = await database.crossTenantQuery<
    { source: AttemptSource } & { [Key in keyof Account]: Account[Key] | null }
  >(
    'log in',
    sql`select users.id, users.email, users.name, users.password_hash as "passwordHash",
        users.second_factors as factors,
        case when known.device then 'device' when known.familiar then 'familiar' else 'stranger' end as source
      from (select) always left join users on users.email_key = ${account}
      cross join lateral (
        select coalesce(bool_or(${cookie}), false) as device, coalesce(bool_or(${addressAndProgram}), false) as familiar
        from sessions where sessions.user_id = users.id) known`,
  )
  if (!row || row.id === null || row.email === null) return { person: undefined, source: 'stranger' }
  const { id, email, name, passwordHash, factors, source } = row
  return { person: { id, email, name: name ?? '', passwordHash, factors: factors ?? [] }, source }
}

/** The person, locked, while the password is still the one that was verified. */
export async function lockIfPasswordUnchanged(
  db: CrossTenantConnection,
  { id, passwordHash }: { id: string; passwordHash: string },
): Promise<Account | undefined> {
  const account = await lockAccount(db, id)
  return account?.passwordHash === passwordHash ? account : undefined
}

/** The same password under today's parameters. */
export async function replacePasswordHash(db: CrossTenantConnection, userId: string, hash: string): Promise<void> {
  await db.query(sql`update users set password_hash = ${hash} where id = ${userId}::uuid`)
}

/** A new password: nothing that was sent before it, and no session but `except` (uuid), is good after it. */
export async function setPassword(
  db: CrossTenantConnection,
  { userId, hash, except = null }: { userId: string; hash: string; except?: string | null },
): Promise<void> {
  await db.query(sql`
    update users set password_hash = ${hash}, password_changed_at = now(), updated_at = now()
    where id = ${userId}::uuid`)
  await revokeLinks(db, userId)
  await db.query(sql`delete from pending_logins where user_id = ${userId}::uuid`)
  await endSessions(db, userId, except)
}

/**
 * What a new password says about the address: whoever set it by a mailed link has the mailbox. After a link from the outbox
 * an owner may know the password. A second factor may be somebody else's, so it keeps the address unverified.
 */
export async function setVerifiedByReset(db: CrossTenantConnection, userId: string, isMailed: boolean): Promise<void> {
  await db.query(sql`
    update users set verified_at = case when not ${isMailed}::boolean then null
      when second_factors = '{}' then coalesce(verified_at, now()) else verified_at end
    where id = ${userId}::uuid`)
}

/** Links that were sent to the person's addresses, or are about to be, do nothing any more. */
export async function revokeLinks(db: CrossTenantConnection | Transaction, userId: string): Promise<void> {
  for (const purpose of ['reset-password', 'verify-address'] as const) {
    // The mail first: one that is being composed is waited for, and its token is seen after that.
    await dropMails(db, purpose, userId)
    await revokeOneTimeTokens(db, purpose, userId)
  }
}

/** Ends every session of the person (uuid) but one; tells how many those were. */
export async function endSessions(
  db: CrossTenantConnection,
  userId: string,
  except: string | null = null,
): Promise<number> {
  const ended = await db.query(sql`
    update sessions set ended_at = now()
    where user_id = ${userId}::uuid and ended_at is null and id is distinct from ${except}::uuid returning 1`)
  return ended.length
}

/** Nobody logs in as this person until they are enabled again; every session and link of theirs ends. */
export async function setDisabled(db: CrossTenantConnection, userId: string, isDisabled: boolean): Promise<void> {
  // As whoever leaves or is removed does: of two last owners, one sees that the other is gone.
  await db.query(sql`
    select id from organizations where id in (select organization_id from members where user_id = ${userId}::uuid)
    order by id for no key update`)
  await db.query(sql`
    update users set disabled_at = case when ${isDisabled}::boolean then coalesce(disabled_at, now()) end,
      updated_at = now() where id = ${userId}::uuid`)
  if (!isDisabled) return
  await revokeLinks(db, userId)
  await db.query(sql`delete from pending_logins where user_id = ${userId}::uuid`)
  await endSessions(db, userId)
}

/** The names of the person's organizations that have no owner who can log in. */
export async function findOrganizationsWithoutOwner(db: CrossTenantConnection, userId: string): Promise<string[]> {
  const found = await db.query<{ name: string }>(sql`
    select name from organizations
    where id in (select organization_id from members where user_id = ${userId}::uuid and role = 'owner')
      and not exists (select from members join users on users.id = members.user_id
        where members.organization_id = organizations.id and role = 'owner' and disabled_at is null)
    order by name`)
  return found.map(({ name }) => name)
}

/** API keys that the person made and that are good now: they are their organizations', and stay. */
export async function countActiveKeys(db: CrossTenantConnection, userId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    select count(*)::integer as count from api_keys where created_by = ${userId}::uuid and revoked_at is null
      and (expires_at is null or expires_at > now())`)
  return row?.count ?? 0
}

/** Ends one session of the person; false when it is none of theirs, or has ended. */
export async function endOwnSession(db: CrossTenantConnection, userId: string, sessionId: string): Promise<boolean> {
  const ended = await db.query(sql`
    update sessions set ended_at = now()
    where user_id = ${userId}::uuid and id = ${sessionId}::uuid and ended_at is null and expires_at > now() returning 1`)
  return ended.length > 0
}

export interface SessionSummary {
  id: string
  organizationId: string | null
  userAgent: string | null
  address: string | null
  createdAt: Date
  lastUsedAt: Date
  expiresAt: Date
  secondFactor: boolean
}

/** The sessions of the person that live, the one used last first. */
export async function findActiveSessions(db: CrossTenantConnection, userId: string): Promise<SessionSummary[]> {
  return db.query<SessionSummary>(sql`
    select id, organization_id as "organizationId", user_agent as "userAgent", address,
      created_at as "createdAt", last_used_at as "lastUsedAt",
      expires_at as "expiresAt", second_factor_at is not null as "secondFactor"
    from sessions where user_id = ${userId}::uuid and ended_at is null and expires_at > now()
    order by last_used_at desc, id desc`)
}

/** Takes the turn of whoever sets the service up; false when there is a person or an organization already. */
export async function beginSetUp(db: CrossTenantConnection): Promise<boolean> {
  await db.query(sql`select pg_advisory_xact_lock(hashtextextended('set-up', 0))`)
  return isEmpty(db)
}

/** Is there neither a person nor an organization? */
export async function isEmpty(db: CrossTenantConnection): Promise<boolean> {
  const [row] = await db.query<{ isEmpty: boolean }>(
    sql`select not exists (select from users) and not exists (select from organizations) as "isEmpty"`,
  )
  return row?.isEmpty ?? false
}

/** Takes back the set-up links that earlier starts have printed. */
export async function revokeSetUpLinks(db: CrossTenantConnection): Promise<void> {
  await db.query(sql`delete from one_time_tokens where purpose = 'set-up'`)
}

/** Takes back every sign-up link of this address: it has become an account. */
export async function revokeSignUps(db: CrossTenantConnection, email: string): Promise<void> {
  await db.query(sql`delete from one_time_tokens where purpose = 'sign-up' and lower(email) = lower(${email})`)
}

/** The address is the person's from now on; verified when they opened a link that was mailed to it. */
export async function setAddress(
  db: CrossTenantConnection,
  userId: string,
  { email, isVerified }: { email: string; isVerified: boolean },
): Promise<void> {
  await db.query(sql`
    update users set email = ${email}, email_key = ${emailKey(email)}, updated_at = now(),
      verified_at = case when ${isVerified}::boolean then now() end
    where id = ${userId}::uuid`)
  await revokeLinks(db, userId)
}

export async function setName(db: CrossTenantConnection, userId: string, name: string): Promise<void> {
  await db.query(sql`update users set name = ${name}, updated_at = now() where id = ${userId}::uuid`)
}

/** Someone failed to log in as this person; told in the log of each of their organizations. */
export async function recordFailedLogin(
  database: Database,
  userId: string,
  { address, requestId }: { address: string; requestId: string },
): Promise<void> {
  await database.crossTenantTransaction('log in', (db) =>
    recordPersonEvent(db, userId, {
      action: 'login.failed',
      actorKind: 'anonymous',
      actorId: null,
      recordType: 'user',
      recordId: showId('usr', userId),
      address,
      requestId,
    }),
  )
}
