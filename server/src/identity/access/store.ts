import type { Database, CrossTenantConnection } from '../../platform/database/database.ts'
import type { Caller } from '../../platform/model/caller.ts'
import { raw, type Sql, sql } from '../../platform/model/sql.ts'
import type { RetentionPolicy } from '../../platform/operations/maintenance/retention-store.ts'
import type { MemberRole } from '../../platform/model/scopes.ts'
import { customScopesSql } from './account-store.ts'
import { type CustomRole, customRoleSql } from './custom-role-store.ts'

export interface StoredApiKey {
  id: string
  organizationId: string
  userId: string
  scopes: string[]
  allowedAddresses: string[]
  expiresAt: Date | null
  version: number
  /** The custom role of its creator; of a creator who has left, the last one. */
  customRole: CustomRole | null
  /** When its organization will be deleted; until then, the key is refused. */
  deletesAt: Date | null
}

/**
 * The valid API key with this hash: its current hash, or a previous one whose overlap has not ended. `organizationId`: whose
 * key it was, if that is known.
 */
export async function findApiKey(
  database: Database,
  hash: Buffer,
  organizationId?: string,
): Promise<StoredApiKey | undefined> {
  const rows = await database.crossTenantQuery<StoredApiKey>(
    'find the API key of a request',
    sql`select id, organization_id as "organizationId", created_by as "userId", scopes,
        allowed_addresses as "allowedAddresses", expires_at as "expiresAt", version,
        ${customRoleSql(sql`api_keys.organization_id`, creatorRole)} as "customRole",
        (select deletes_at from organizations where organizations.id = api_keys.organization_id) as "deletesAt"
      from api_keys
      where (hash = ${hash} or (organization_id, id) = (select previous.organization_id, previous.api_key_id
          from api_key_previous_hashes previous where previous.hash = ${hash} and previous.ends_at > now()))
        and revoked_at is null and (expires_at is null or expires_at > now())`,
    undefined,
    organizationId,
  )
  return rows[0]
}

const creatorRole = sql`coalesce(
  (select role_id from members where members.organization_id = api_keys.organization_id and user_id = created_by),
  (select role_id from former_members former where former.organization_id = api_keys.organization_id
    and former.user_id = created_by and not exists (select from members
      where members.organization_id = api_keys.organization_id and members.user_id = created_by)))`

/** True while the key is valid with this hash and unchanged. One lookup by primary key, two for a previous hash. */
export function apiKeyLive(key: StoredApiKey, { hash }: { hash: Buffer }): Sql {
  // As text: prepared statements have only text parameters here.
  const hashText = `\\x${hash.toString('hex')}`
  return sql`exists (select from api_keys credential_key
    where credential_key.organization_id = ${key.organizationId}::uuid and credential_key.id = ${key.id}::uuid
      and credential_key.version = ${key.version}::integer and credential_key.revoked_at is null
      and (credential_key.expires_at is null or credential_key.expires_at > now())
      and (credential_key.hash = ${hashText}::bytea or exists (
        select from api_key_previous_hashes credential_hash
        where credential_hash.hash = ${hashText}::bytea and credential_hash.ends_at > now())))`
}

/** Records the key's last use and address, at most once a minute. */
export async function recordApiKeyUse(
  database: Database,
  { organizationId, id, address }: { organizationId: string; id: string; address: string | null },
): Promise<void> {
  await database.crossTenantQuery(
    'note the last use of a key',
    sql`update api_keys set last_used_at = now(), last_used_address = ${address}
      where organization_id = ${organizationId}::uuid and id = ${id}::uuid
        and (last_used_at is null or last_used_at < now() - interval '1 minute')`,
  )
}

/** The session's user, if the session is active. */
export async function findSession(database: Database, id: string): Promise<{ userId: string } | undefined> {
  const rows = await database.crossTenantQuery<{ userId: string }>(
    'find the session of a request',
    sql`select user_id as "userId" from sessions
      where id = ${id}::uuid and ended_at is null and expires_at > now()`,
  )
  return rows[0]
}

export interface Membership {
  organizationId: string | null
  role: MemberRole | null
  customRole: CustomRole | null
  /** The organization requires a second factor, and this session was started without one. */
  lacksFactor: boolean
  /** When the organization will be deleted; until then, it refuses access. */
  deletesAt: Date | null
}

/**
 * The session's role in the given organization or, without one, in its current organization; undefined if it has ended.
 */
export async function findMembership(
  database: Database,
  { sessionId, organizationId }: { sessionId: string; organizationId: string | undefined },
): Promise<Membership | undefined> {
  const rows = await database.crossTenantQuery<Membership>(
    'find the session of a request',
    sql`select wanted.id as "organizationId", members.role,
        ${customRoleSql(sql`members.organization_id`, sql`members.role_id`)} as "customRole",
        coalesce(organizations.requires_second_factor, false) and sessions.second_factor_at is null as "lacksFactor",
        organizations.deletes_at as "deletesAt"
      from sessions
      cross join lateral (select coalesce(${organizationId ?? null}::uuid, sessions.organization_id) as id) wanted
      left join members on members.organization_id = wanted.id and members.user_id = sessions.user_id
      left join organizations on organizations.id = members.organization_id
      where sessions.id = ${sessionId}::uuid and sessions.ended_at is null and sessions.expires_at > now()`,
  )
  return rows[0]
}

/** True while the session is active and its user has this role. Three lookups by primary key, four for a custom role. */
export function sessionLive(session: {
  id: string
  organizationId: string
  role: MemberRole
  customRole: CustomRole | null
  /** The request named no organization, so this one must still be the session's current one. */
  isCurrent: boolean
}): Sql {
  const { organizationId, customRole } = session
  const isCustomRole = customRole
    ? sql`
      and credential_member.role_id = ${customRole.id}::uuid
      and exists (select from roles credential_role where credential_role.organization_id = ${organizationId}::uuid
        and credential_role.id = ${customRole.id}::uuid and credential_role.revision = ${customRole.revision}::integer)`
    : raw('')
  // The same text for both cases, so that a statement is prepared only once.
  return sql`exists (select from sessions credential_session
    join members credential_member on credential_member.user_id = credential_session.user_id
    join organizations credential_home on credential_home.id = credential_member.organization_id
    where credential_session.id = ${session.id}::uuid and credential_session.ended_at is null
      and credential_session.expires_at > now()
      and (credential_session.organization_id = ${session.organizationId}::uuid or not ${session.isCurrent}::boolean)
      and credential_member.organization_id = ${session.organizationId}::uuid
      and credential_member.role = ${session.role}::text${isCustomRole}
      and credential_home.deletes_at is null
      and (not credential_home.requires_second_factor or credential_session.second_factor_at is not null))`
}

/** Is the caller's credential still valid? */
export async function isLive(
  database: Database,
  { live, organizationId }: Pick<Caller, 'live' | 'organizationId'>,
): Promise<boolean> {
  const rows = await database.crossTenantQuery<{ live: boolean }>(
    'find the session of a request',
    sql`select ${live} as live`,
    undefined,
    organizationId,
  )
  return rows[0]?.live === true
}

export interface NewSession {
  id: string
  userId: string
  organizationId: string | null
  nonce: Buffer
  startedAt: Date
  userAgent: string | null
  address: string | null
  deviceHash: Buffer | null
  isStrong: boolean
  allowsSensitiveActions: boolean
  begunBy: string | null
}

/** Days until a session expires: without a refresh, and in total. */
const sessionDays = { idle: 30, max: 90 }

export const insertSession = (session: NewSession): Sql => {
  const { startedAt } = session
  return sql`
    insert into sessions
      (id, user_id, organization_id, nonce, rotated_at, created_at, last_used_at, user_agent, address, device_hash,
        begun_by, proved_at, second_factor_at, expires_at)
    values (${session.id}, ${session.userId}, ${session.organizationId}, ${session.nonce}, ${startedAt}, ${startedAt},
      ${startedAt}, ${session.userAgent}, ${session.address}, ${session.deviceHash},
      ${session.begunBy}, ${session.allowsSensitiveActions ? startedAt : new Date(0)}, ${session.isStrong ? startedAt : null},
      ${startedAt}::timestamptz + make_interval(days => ${sessionDays.idle}))`
}

export interface Successor {
  id: string
  nonce: Buffer
  isStrong: boolean
  at: Date
}

/**
 * Ends the session and starts another one with the same age and a fresh authentication; undefined if it had already
 * ended.
 */
export async function replaceSession(
  db: CrossTenantConnection,
  id: string,
  { id: successorId, nonce, isStrong, at }: Successor,
): Promise<{ organizationId: string | null } | undefined> {
  const rows = await db.query<{ organizationId: string | null }>(
    sql`with former as (
        update sessions set ended_at = ${at} where id = ${id}::uuid and ended_at is null returning *)
      insert into sessions
        (id, user_id, organization_id, nonce, rotated_at, created_at, last_used_at, user_agent, address, device_hash,
          begun_by, proved_at, second_factor_at, expires_at)
      select ${successorId}, user_id, organization_id, ${nonce}, ${at}, created_at, ${at}, user_agent, address,
        device_hash, begun_by, ${at}, case when ${isStrong}::boolean then ${at}::timestamptz else second_factor_at end,
        least(created_at + make_interval(days => ${sessionDays.max}),
          ${at}::timestamptz + make_interval(days => ${sessionDays.idle}))
      from former
      returning organization_id as "organizationId"`,
  )
  return rows[0]
}

/** Records the session's last use and address, at most once a minute. */
export async function recordSessionUse(
  database: Database,
  { id, address }: { id: string; address: string },
): Promise<void> {
  await database.crossTenantQuery(
    'note the last use of a session',
    sql`update sessions set last_used_at = now(), address = ${address}
      where id = ${id}::uuid and ended_at is null and last_used_at < now() - interval '1 minute'`,
  )
}

export interface StoredSession {
  userId: string
  organizationId: string | null
  nonce: Buffer
  generation: number
  /** The person's role in that organization, with the scopes of a custom one. */
  role: MemberRole | null
  customScopes: string[] | null
  /** Milliseconds since 1970. */
  rotatedAt: number
  /** Milliseconds since 1970. */
  expiresAt: number
  ended: boolean
  /** Did it end because a refresh token was used twice? */
  tokenReused: boolean
}

/** The session, locked until the transaction ends: concurrent refreshes run one after another. */
export async function lockSession(db: CrossTenantConnection, id: string): Promise<StoredSession | undefined> {
  const rows = await db.query<StoredSession>(
    sql`select sessions.user_id as "userId", sessions.organization_id as "organizationId", nonce, generation,
        (extract(epoch from rotated_at) * 1000)::float8 as "rotatedAt",
        (extract(epoch from expires_at) * 1000)::float8 as "expiresAt", ended_at is not null as ended,
        token_reused as "tokenReused", members.role, ${customScopesSql} as "customScopes"
      from sessions left join members
        on members.organization_id = sessions.organization_id and members.user_id = sessions.user_id
      where sessions.id = ${id}::uuid for update of sessions`,
  )
  return rows[0]
}

export async function rotateSession(db: CrossTenantConnection, id: string, at: Date): Promise<void> {
  await db.query(
    sql`update sessions set generation = generation + 1, rotated_at = ${at}, last_used_at = ${at},
        expires_at = least(created_at + make_interval(days => ${sessionDays.max}),
          ${at}::timestamptz + make_interval(days => ${sessionDays.idle}))
      where id = ${id}::uuid`,
  )
}

export async function endSession(db: CrossTenantConnection, id: string, at: Date): Promise<void> {
  await db.query(sql`update sessions set ended_at = ${at} where id = ${id}::uuid and ended_at is null`)
}

/** Ends a session whose refresh token was used twice. */
export async function endReusedSession(db: CrossTenantConnection, id: string, at: Date): Promise<void> {
  await db.query(sql`update sessions set ended_at = ${at}, token_reused = true where id = ${id}::uuid`)
}

/** Sessions that ended some time ago. */
export const endedSessions: RetentionPolicy = {
  name: 'sessions',
  table: 'sessions',
  key: { id: 'uuid' },
  since: 'ended_at',
  ttlSeconds: 30 * 24 * 60 * 60,
  isPersonal: true,
}

/** Sessions that expired without being used. */
export const expiredSessions: RetentionPolicy = { ...endedSessions, name: 'lapsed sessions', since: 'expires_at' }
