import { type Account, lockAccount } from '../access/account-store.ts'
import { lockInstance } from '../access/instance-store.ts'
import { type Device, knownDeviceConditions } from '../access/login-store.ts'
import { revokeOneTimeTokens } from '../access/one-time-token-store.ts'
import { recordPersonEvent } from '../audit-log/store.ts'
import type { AttemptSource } from '../access/throttle-store.ts'
import type { Database, CrossTenantConnection, Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { dropMails } from '../mails/store.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import type { Language } from '../../platform/model/languages.ts'

export interface FoundLogin {
  person: Account | undefined
  source: AttemptSource
}

/**
 * The account with this folded address, and whether it knows this device. The same statement with or without an
 * account.
 */
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

/** Locks the person; undefined if the password has changed since it was verified. */
export async function lockIfPasswordUnchanged(
  db: CrossTenantConnection,
  { id, passwordHash }: { id: string; passwordHash: string },
): Promise<Account | undefined> {
  const account = await lockAccount(db, id)
  return account?.passwordHash === passwordHash ? account : undefined
}

/** Stores the same password, hashed with the current parameters. */
export async function replacePasswordHash(db: CrossTenantConnection, userId: string, hash: string): Promise<void> {
  await db.query(sql`update users set password_hash = ${hash} where id = ${userId}::uuid`)
}

/** Sets a new password, and revokes all earlier links and all sessions but `except` (uuid). */
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
 * Updates the address's verification after a reset. A mailed link proves access to the mailbox; a link from the outbox
 * does not, because an owner may have used it. A second factor may be somebody else's, so with one the address stays
 * unverified.
 */
export async function setVerifiedByReset(db: CrossTenantConnection, userId: string, isMailed: boolean): Promise<void> {
  await db.query(sql`
    update users set verified_at = case when not ${isMailed}::boolean then null
      when second_factors = '{}' then coalesce(verified_at, now()) else verified_at end
    where id = ${userId}::uuid`)
}

/** Revokes the links that were sent to the person's addresses or are still queued. */
export async function revokeLinks(db: CrossTenantConnection | Transaction, userId: string): Promise<void> {
  for (const purpose of ['reset-password', 'verify-address'] as const) {
    // Mails first: this waits for a mail that is being composed, so that its token is then visible.
    await dropMails(db, purpose, userId)
    await revokeOneTimeTokens(db, purpose, userId)
  }
}

/** Ends every session of the person (uuid) but one; returns how many. */
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

/** A disabled person cannot log in; disabling ends all their sessions and links. */
export async function setDisabled(db: CrossTenantConnection, userId: string, isDisabled: boolean): Promise<void> {
  // The same lock as for leaving and removing: of the last two owners, the second sees that the first is gone.
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

/** The names of the person's organizations in which no owner can log in. */
export async function findOrganizationsWithoutOwner(db: CrossTenantConnection, userId: string): Promise<string[]> {
  const found = await db.query<{ name: string }>(sql`
    select name from organizations
    where id in (select organization_id from members where user_id = ${userId}::uuid and role = 'owner')
      and not exists (select from members join users on users.id = members.user_id
        where members.organization_id = organizations.id and role = 'owner' and disabled_at is null)
    order by name`)
  return found.map(({ name }) => name)
}

/** The number of valid API keys that the person created; they belong to the organizations and stay valid. */
export async function countActiveKeys(db: CrossTenantConnection, userId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    select count(*)::integer as count from api_keys where created_by = ${userId}::uuid and revoked_at is null
      and (expires_at is null or expires_at > now())`)
  return row?.count ?? 0
}

/** Ends one of the person's sessions; false if they have no active session with this id. */
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

/** The person's active sessions, most recently used first. */
export async function findActiveSessions(db: CrossTenantConnection, userId: string): Promise<SessionSummary[]> {
  return db.query<SessionSummary>(sql`
    select id, organization_id as "organizationId", user_agent as "userAgent", address,
      created_at as "createdAt", last_used_at as "lastUsedAt",
      expires_at as "expiresAt", second_factor_at is not null as "secondFactor"
    from sessions where user_id = ${userId}::uuid and ended_at is null and expires_at > now()
    order by last_used_at desc, id desc`)
}

/** Locks the set-up until the transaction ends; false if a person or an organization already exists. */
export async function beginSetUp(db: CrossTenantConnection): Promise<boolean> {
  await lockInstance(db, 'set-up')
  return isEmpty(db)
}

/** Whether the database has neither a person nor an organization. */
export async function isEmpty(db: CrossTenantConnection): Promise<boolean> {
  const [row] = await db.query<{ isEmpty: boolean }>(
    sql`select not exists (select from users) and not exists (select from organizations) as "isEmpty"`,
  )
  return row?.isEmpty ?? false
}

/** Revokes the set-up links of earlier starts. */
export async function revokeSetUpLinks(db: CrossTenantConnection): Promise<void> {
  await db.query(sql`delete from one_time_tokens where purpose = 'set-up'`)
}

/** Revokes the sign-up links of this address, which now has an account. */
export async function revokeSignUps(db: CrossTenantConnection, email: string): Promise<void> {
  await db.query(sql`delete from one_time_tokens where purpose = 'sign-up' and lower(email) = lower(${email})`)
}

/** Sets the address of the locked person; verified if they opened a link that was mailed to it. */
export async function setAddress(
  db: CrossTenantConnection,
  userId: string,
  { email, isVerified }: { email: string; isVerified: boolean },
): Promise<void> {
  await db.query(sql`
    with former as (
      insert into former_addresses (user_id, email_key)
      select id, email_key from users where id = ${userId}::uuid and email_key <> ${emailKey(email)}
      on conflict do nothing)
    update users set email = ${email}, email_key = ${emailKey(email)}, updated_at = now(),
      verified_at = case when ${isVerified}::boolean then now() end
    where id = ${userId}::uuid`)
  await revokeLinks(db, userId)
}

/** Changes the given parts of the person's profile and returns all of it. */
export async function setProfile(
  db: CrossTenantConnection,
  userId: string,
  { name, timeZone, language }: { name?: string; timeZone?: string | null; language?: Language | null },
): Promise<Profile> {
  const [row] = await db.query<Profile>(sql`
    update users set name = coalesce(${name ?? null}, name), updated_at = now(),
      time_zone = case when ${timeZone !== undefined}::boolean then ${timeZone ?? null} else time_zone end,
      language = case when ${language !== undefined}::boolean then ${language ?? null} else language end
    where id = ${userId}::uuid returning email, name, time_zone as "timeZone", language`)
  if (!row) throw new Error('the session’s person has no account')
  return row
}

export interface Profile {
  email: string
  name: string
  /** IANA name; null for the time zone of each organization. */
  timeZone: string | null
  /** Null if they have not chosen one. */
  language: Language | null
}

/** Records a failed login in the audit log of each of the person's organizations. */
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
      recordId: encodeId('usr', userId),
      address,
      requestId,
    }),
  )
}
