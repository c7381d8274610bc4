import type { JWK } from 'jose'
import type { Database, Spanning } from '../database/database.ts'
import { type Sql, sql } from '../database/sql.ts'
import type { Perishable } from '../upkeep/store.ts'
import type { Role } from './scopes.ts'

/** The fingerprint of the secret that this database was set up with: `own` when it is the first. */
export async function rememberedFingerprint(database: Database, own: string): Promise<string | undefined> {
  await database.spanning(
    'check the database',
    sql`insert into instance (name, value) values ('secret_fingerprint', ${own}) on conflict do nothing`,
  )
  const rows = await database.spanning<{ value: string }>(
    'check the database',
    sql`select value from instance where name = 'secret_fingerprint'`,
  )
  return rows[0]?.value
}

export interface KeptSigningKey {
  id: string
  publicJwk: JWK
  privateKeyEncrypted: Buffer
  status: 'active' | 'retired'
}

/** The keys that tokens may be signed with, the active one first. */
export const findSigningKeys = (database: Database): Promise<KeptSigningKey[]> =>
  database.spanning<KeptSigningKey>(
    'keep the signing key',
    sql`select id, public_jwk as "publicJwk", private_key_encrypted as "privateKeyEncrypted", status
      from signing_keys order by status, created_at desc`,
  )

/** Keeps the key as the active one, unless another process was first. */
export async function keepSigningKey(
  database: Database,
  key: { id: string; algorithm: string; publicJwk: JWK; privateKeyEncrypted: Buffer },
): Promise<void> {
  await database.spanning(
    'keep the signing key',
    sql`insert into signing_keys (id, algorithm, public_jwk, private_key_encrypted, status)
      values (${key.id}, ${key.algorithm}, ${JSON.stringify(key.publicJwk)}::jsonb, ${key.privateKeyEncrypted}, 'active')
      on conflict do nothing`,
  )
}

export interface KeptApiKey {
  id: string
  organizationId: string
  userId: string
  scopes: string[]
  version: number
}

/** The API key of this hash, if it is good now. */
export async function findApiKey(database: Database, hash: Buffer): Promise<KeptApiKey | undefined> {
  const rows = await database.spanning<KeptApiKey>(
    'find the API key of a request',
    sql`select id, organization_id as "organizationId", created_by as "userId", scopes, version
      from api_keys
      where hash = ${hash} and revoked_at is null and (expires_at is null or expires_at > now())`,
  )
  return rows[0]
}

/** Is the key still good, and what it was when it was read? One look-up by primary key. */
export const apiKeyLive = (key: KeptApiKey): Sql =>
  sql`exists (select from api_keys credential_key
    where credential_key.organization_id = ${key.organizationId}::uuid and credential_key.id = ${key.id}::uuid
      and credential_key.version = ${key.version}::integer and credential_key.revoked_at is null
      and (credential_key.expires_at is null or credential_key.expires_at > now()))`

/** Writes down that the key is in use, unless that was done less than a minute ago. */
export async function noteApiKeyUse(
  database: Database,
  { organizationId, id }: { organizationId: string; id: string },
): Promise<void> {
  await database.spanning(
    'note the last use of a key',
    sql`update api_keys set last_used_at = now()
      where organization_id = ${organizationId}::uuid and id = ${id}::uuid
        and (last_used_at is null or last_used_at < now() - interval '1 minute')`,
  )
}

/** Whose session this is, if it has not ended. */
export async function findSession(database: Database, id: string): Promise<{ userId: string } | undefined> {
  const rows = await database.spanning<{ userId: string }>(
    'find the session of a request',
    sql`select user_id as "userId" from sessions where id = ${id}::uuid and ended_at is null`,
  )
  return rows[0]
}

/** The session's role in the named organization, or in its current one; undefined when the session has ended. */
export async function findMembership(
  database: Database,
  { sessionId, organizationId }: { sessionId: string; organizationId: string | undefined },
): Promise<{ organizationId: string; role: Role | null } | undefined> {
  const rows = await database.spanning<{ organizationId: string; role: Role | null }>(
    'find the session of a request',
    sql`select wanted.id as "organizationId", members.role
      from sessions
      cross join lateral (select coalesce(${organizationId ?? null}::uuid, sessions.organization_id) as id) wanted
      left join members on members.organization_id = wanted.id and members.user_id = sessions.user_id
      where sessions.id = ${sessionId}::uuid and sessions.ended_at is null`,
  )
  return rows[0]
}

/** Does the session still live, and its user still have this role? Two look-ups by primary key. */
export function sessionLive(session: {
  id: string
  organizationId: string
  role: Role
  /** The request named no organization: it has to stay the session's current one. */
  isCurrent: boolean
}): Sql {
  // One text for both kinds of request: statements that hold it are prepared under one name.
  return sql`exists (select from sessions credential_session
    join members credential_member on credential_member.user_id = credential_session.user_id
    where credential_session.id = ${session.id}::uuid and credential_session.ended_at is null
      and (credential_session.organization_id = ${session.organizationId}::uuid or not ${session.isCurrent}::boolean)
      and credential_member.organization_id = ${session.organizationId}::uuid
      and credential_member.role = ${session.role}::text)`
}

/** Is what the expression says true now? */
export async function isLive(database: Database, live: Sql): Promise<boolean> {
  const rows = await database.spanning<{ live: boolean }>('find the session of a request', sql`select ${live} as live`)
  return rows[0]?.live === true
}

export interface NewSession {
  id: string
  userId: string
  organizationId: string
  nonce: Buffer
  startedAt: Date
  userAgent: string | null
  address: string | null
}

export async function insertSession(spanning: Spanning, session: NewSession): Promise<void> {
  await spanning.query(
    sql`insert into sessions
        (id, user_id, organization_id, nonce, rotated_at, created_at, last_used_at, user_agent, address)
      values (${session.id}, ${session.userId}, ${session.organizationId}, ${session.nonce}, ${session.startedAt},
        ${session.startedAt}, ${session.startedAt}, ${session.userAgent}, ${session.address})`,
  )
}

export interface KeptSession {
  userId: string
  organizationId: string
  nonce: Buffer
  generation: number
  /** Milliseconds since 1970. */
  rotatedAt: number
  ended: boolean
}

/** The session, locked until the transaction ends: its refresh tokens are judged one after another. */
export async function lockSession(spanning: Spanning, id: string): Promise<KeptSession | undefined> {
  const rows = await spanning.query<KeptSession>(
    sql`select user_id as "userId", organization_id as "organizationId", nonce, generation,
        (extract(epoch from rotated_at) * 1000)::float8 as "rotatedAt", ended_at is not null as ended
      from sessions where id = ${id}::uuid for update`,
  )
  return rows[0]
}

export async function rotateSession(spanning: Spanning, id: string, at: Date): Promise<void> {
  await spanning.query(
    sql`update sessions set generation = generation + 1, rotated_at = ${at}, last_used_at = ${at}
      where id = ${id}::uuid`,
  )
}

export async function endSession(spanning: Spanning, id: string, at: Date): Promise<void> {
  await spanning.query(sql`update sessions set ended_at = ${at} where id = ${id}::uuid and ended_at is null`)
}

/** Sessions that ended a while ago. Those that nobody has ended live on. */
export const endedSessions: Perishable = {
  name: 'sessions',
  table: 'sessions',
  key: { id: 'uuid' },
  since: 'ended_at',
  keptSeconds: 30 * 24 * 60 * 60,
}
