import { randomBytes } from 'node:crypto'
import { sha256 } from '../../platform/secret/encryption.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'
import type { RetentionPolicy } from '../../platform/operations/maintenance/retention-store.ts'
import { newId } from '../../platform/model/ids.ts'
import { customScopesSql, type RoleGrant } from './account-store.ts'

/** Seconds between the password and the second factor, and the number of wrong attempts allowed. */
const pendingSeconds = 600
const maxFailures = 5

const pattern = /^pnd_[A-Za-z0-9_-]{43}$/

/** A login that still needs its second factor; ids are uuids. */
export interface PendingLogin {
  id: string
  userId: string
  wantsCookie: boolean
}

/** Stores a login that still needs its second factor, and returns the token for that step. */
export async function beginPendingLogin(
  db: CrossTenantConnection,
  { userId, wantsCookie }: { userId: string; wantsCookie: boolean },
): Promise<string> {
  const text = `pnd_${randomBytes(32).toString('base64url')}`
  await db.query(sql`
    insert into pending_logins (id, hash, user_id, wants_cookie, expires_at)
    values (${newId()}, ${sha256(text)}, ${userId}, ${wantsCookie}, now() + make_interval(secs => ${pendingSeconds}))`)
  return text
}

/** The login of this token, locked until the transaction ends; undefined if it has expired or failed too often. */
export async function lockPendingLogin(db: CrossTenantConnection, text: string): Promise<PendingLogin | undefined> {
  if (!pattern.test(text)) return undefined
  const [row] = await db.query<PendingLogin>(sql`
    select id, user_id as "userId", wants_cookie as "wantsCookie" from pending_logins
    where hash = ${sha256(text)} and expires_at > now() and failures < ${maxFailures} for update`)
  return row
}

/** Counts a wrong second factor. It must be committed: return the rejection from the transaction, do not throw it. */
export async function recordPendingLoginFailure(db: CrossTenantConnection, id: string): Promise<void> {
  await db.query(sql`update pending_logins set failures = failures + 1 where id = ${id}::uuid`)
}

/** Deletes the pending login, so that its token becomes invalid. */
export async function endPendingLogin(db: CrossTenantConnection, id: string): Promise<void> {
  await db.query(sql`delete from pending_logins where id = ${id}::uuid`)
}

/** What identifies the device of a request. */
export interface Device {
  deviceHash: Buffer | null
  address: string
  userAgent: string | null
}

/** Conditions on `sessions`: used within 30 days by this browser's cookie, or from this address by this program. */
export const knownDeviceConditions = ({
  deviceHash,
  address,
  userAgent,
}: Device): { cookie: Sql; addressAndProgram: Sql } => {
  const isRecent = sql`sessions.last_used_at > now() - interval '30 days'`
  return {
    cookie: sql`(${isRecent} and sessions.device_hash = ${deviceHash}::bytea)`,
    addressAndProgram: sql`(${isRecent} and sessions.address = ${address}::text
      and sessions.user_agent is not distinct from ${userAgent}::text)`,
  }
}

/** Whether the person (uuid) has used this device within 30 days. */
export async function isKnownDevice(db: CrossTenantConnection, userId: string, device: Device): Promise<boolean> {
  const { cookie, addressAndProgram } = knownDeviceConditions(device)
  const [row] = await db.query<{ isKnown: boolean }>(sql`
    select exists (select from sessions where user_id = ${userId}::uuid and (${cookie} or ${addressAndProgram})) as "isKnown"`)
  return row?.isKnown ?? false
}

/** What a login needs to know about the person. */
export interface LoginFacts {
  /** They have logged in before, but not from this device. */
  isNewDevice: boolean
  /** They have no password and at most one organization, so nothing but its identity provider authenticates them. */
  dependsOnProvider: boolean
  /** The session's first organization: the one used last, or else joined first; null if they have none. */
  home: string | null
  organizations: (RoleGrant & { id: string })[]
}

/** The facts about the person (uuid), who is locked until the transaction ends; undefined if they are disabled. */
export async function lockForLogin(
  db: CrossTenantConnection,
  userId: string,
  device: Device,
): Promise<LoginFacts | undefined> {
  const { cookie, addressAndProgram } = knownDeviceConditions(device)
  const [facts] = await db.query<LoginFacts>(sql`
    select users.last_login_at is not null and not exists (
        select from sessions where user_id = users.id and (${cookie} or ${addressAndProgram})) as "isNewDevice",
      users.password_hash is null and (select count(*) from members where user_id = users.id) < 2 as "dependsOnProvider",
      (select members.organization_id from members
        left join lateral (select max(last_used_at) as used from sessions
          where sessions.user_id = members.user_id and sessions.organization_id = members.organization_id) last on true
        where members.user_id = users.id
        order by last.used desc nulls last, members.created_at, members.organization_id limit 1) as home,
      coalesce((select json_agg(json_build_object('id', organization_id, 'role', role, 'customScopes', ${customScopesSql}) order by organization_id)
        from members where user_id = users.id), '[]') as organizations
    from users where users.id = ${userId}::uuid and users.disabled_at is null for update`)
  return facts
}

/** Records the login with its new session. */
export async function writeLogin(db: CrossTenantConnection, userId: string, session: Sql): Promise<void> {
  await db.query(sql`
    with session as (${session})
    update users set last_login_at = now() where id = ${userId}::uuid`)
}

/** Logins whose second step never came. */
export const expiredPendingLogins: RetentionPolicy = {
  name: 'pending logins',
  table: 'pending_logins',
  key: { id: 'uuid' },
  since: 'expires_at',
  ttlSeconds: 0,
  isPersonal: true,
}
