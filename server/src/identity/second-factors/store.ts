import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { identifier, type Sql, sql } from '../../platform/model/sql.ts'
import { sha256 } from '../../platform/secret/encryption.ts'
import { newId } from '../../platform/model/ids.ts'
import type { RetentionPolicy } from '../../platform/operations/maintenance/retention-store.ts'

/** The kinds of second factor. Recovery codes exist only together with another one. */
export const factorKinds = ['passkey', 'recovery-code', 'totp'] as const
export type FactorKind = (typeof factorKinds)[number]

/** The person's (uuid) kinds of second factor. */
export async function findFactorKinds(db: CrossTenantConnection, userId: string): Promise<FactorKind[]> {
  const [row] = await db.query<Record<FactorKind, boolean>>(sql`
    select exists (select from passkeys where user_id = ${userId}::uuid) as passkey,
      exists (select from recovery_codes where user_id = ${userId}::uuid) as "recovery-code",
      exists (select from totp_secrets where user_id = ${userId}::uuid and confirmed_at is not null) as totp`)
  return factorKinds.filter((kind) => row?.[kind])
}

/** After the last second factor was removed: no session counts as one with a second factor any more. */
export async function clearSecondFactorProofs(db: CrossTenantConnection, userId: string): Promise<void> {
  await db.query(sql`update sessions set second_factor_at = null where user_id = ${userId}::uuid`)
}

/** Removes every second factor and recovery code of the person (uuid); returns the kinds that they had. */
export async function removeAllFactors(db: CrossTenantConnection, userId: string): Promise<FactorKind[]> {
  const kinds = await findFactorKinds(db, userId)
  for (const table of ['passkeys', 'totp_secrets', 'recovery_codes', 'pending_logins', 'factor_failures'])
    await db.query(sql`delete from ${identifier(table)} where user_id = ${userId}::uuid`)
  await clearSecondFactorProofs(db, userId)
  return kinds
}

export interface StoredTotp {
  secretEncrypted: Buffer
  createdAt: Date
  confirmedAt: Date | null
  lastUsedAt: Date | null
}

export async function findTotp(db: CrossTenantConnection, userId: string): Promise<StoredTotp | undefined> {
  const [row] = await db.query<StoredTotp>(sql`
    select secret_encrypted as "secretEncrypted", created_at as "createdAt", confirmed_at as "confirmedAt",
      last_used_at as "lastUsedAt"
    from totp_secrets where user_id = ${userId}::uuid`)
  return row
}

/** Stores an unconfirmed secret, replacing an earlier unconfirmed one; false if a confirmed one exists. */
export async function beginTotp(db: CrossTenantConnection, userId: string, secretEncrypted: Buffer): Promise<boolean> {
  const rows = await db.query(sql`
    insert into totp_secrets (user_id, secret_encrypted) values (${userId}, ${secretEncrypted})
    on conflict (user_id) do update set secret_encrypted = excluded.secret_encrypted, created_at = now()
      where totp_secrets.confirmed_at is null
    returning 1`)
  return rows.length > 0
}

/** Consumes the code of a time step; false if it or a later one was used before. The first use confirms the secret. */
export async function consumeTotpStep(db: CrossTenantConnection, userId: string, step: number): Promise<boolean> {
  const rows = await db.query(sql`
    update totp_secrets
    set last_step = ${step}, last_used_at = now(), confirmed_at = coalesce(confirmed_at, now())
    where user_id = ${userId}::uuid and (last_step is null or last_step < ${step}) returning 1`)
  return rows.length > 0
}

export async function removeTotp(db: CrossTenantConnection, userId: string): Promise<boolean> {
  const rows = await db.query(
    sql`delete from totp_secrets where user_id = ${userId}::uuid and confirmed_at is not null returning 1`,
  )
  return rows.length > 0
}

/** Replaces all recovery codes with these (hashes). */
export async function replaceRecoveryCodes(
  db: CrossTenantConnection,
  userId: string,
  hashes: readonly Buffer[],
): Promise<void> {
  await db.query(sql`delete from recovery_codes where user_id = ${userId}::uuid`)
  await db.query(sql`
    insert into recovery_codes (user_id, hash) select ${userId}::uuid, hash from unnest(${hashes}::bytea[]) hash`)
}

/** Consumes the code; false if it is unknown or used. */
export async function consumeRecoveryCode(db: CrossTenantConnection, userId: string, hash: Buffer): Promise<boolean> {
  const rows = await db.query(
    sql`delete from recovery_codes where user_id = ${userId}::uuid and hash = ${hash} returning 1`,
  )
  return rows.length > 0
}

export async function countRecoveryCodes(db: CrossTenantConnection, userId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    sql`select count(*)::int as count from recovery_codes where user_id = ${userId}::uuid`,
  )
  return row?.count ?? 0
}

export interface Passkey {
  id: string
  userId: string
  credentialId: Buffer
  publicKey: Buffer
  counter: number
  transports: string[]
  name: string
  isSynced: boolean
  lastUsedAt: Date | null
  createdAt: Date
}

const passkeysSql = sql`select id, user_id as "userId", credential_id as "credentialId", public_key as "publicKey",
  counter::float8 as counter, transports, name, is_synced as "isSynced", last_used_at as "lastUsedAt",
  created_at as "createdAt" from passkeys`

/** The person's passkeys, oldest first. */
export const findPasskeys = (db: CrossTenantConnection, userId: string): Promise<Passkey[]> =>
  db.query<Passkey>(sql`${passkeysSql} where user_id = ${userId}::uuid order by id`)

/** The passkey with this credential id, of any person. */
export async function findCredential(db: CrossTenantConnection, credentialId: Buffer): Promise<Passkey | undefined> {
  const [row] = await db.query<Passkey>(sql`${passkeysSql} where credential_id = ${credentialId}`)
  return row
}

export type NewPasskey = Omit<Passkey, 'id' | 'lastUsedAt' | 'createdAt'>

/** Returns its id (uuid); undefined if the credential is already registered. */
export async function insertPasskey(db: CrossTenantConnection, passkey: NewPasskey): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(sql`
    insert into passkeys (id, user_id, credential_id, public_key, counter, transports, name, is_synced)
    values (${newId()}, ${passkey.userId}, ${passkey.credentialId}, ${passkey.publicKey}, ${passkey.counter},
      ${passkey.transports}::text[], ${passkey.name}, ${passkey.isSynced})
    on conflict (credential_id) do nothing returning id`)
  return row?.id
}

/** Records a use; false if the counter has not increased, which indicates a cloned passkey. */
export async function recordPasskeyUse(
  db: CrossTenantConnection,
  id: string,
  { counter, isSynced }: { counter: number; isSynced: boolean },
): Promise<boolean> {
  const rows = await db.query(sql`
    update passkeys set counter = ${counter}, is_synced = ${isSynced}, last_used_at = now()
    where id = ${id}::uuid and (counter < ${counter} or (counter = 0 and ${counter}::bigint = 0)) returning 1`)
  return rows.length > 0
}

export async function renamePasskey(
  db: CrossTenantConnection,
  { userId, id, name }: { userId: string; id: string; name: string },
): Promise<boolean> {
  const rows = await db.query(
    sql`update passkeys set name = ${name} where id = ${id}::uuid and user_id = ${userId}::uuid returning 1`,
  )
  return rows.length > 0
}

export async function removePasskey(db: CrossTenantConnection, userId: string, id: string): Promise<boolean> {
  const rows = await db.query(
    sql`delete from passkeys where id = ${id}::uuid and user_id = ${userId}::uuid returning 1`,
  )
  return rows.length > 0
}

/** Consumes a challenge; false if it was used before. */
export async function consumeChallenge(
  db: CrossTenantConnection,
  { hash, expiresAt }: { hash: Buffer; expiresAt: Date },
): Promise<boolean> {
  const rows = await db.query(sql`
    insert into spent_challenges (hash, expires_at) values (${hash}, ${expiresAt})
    on conflict (hash) do nothing returning 1`)
  return rows.length > 0
}

/** Used challenges that have expired, so they would be rejected anyway. */
export const spentChallenges: RetentionPolicy = {
  name: 'spent challenges',
  table: 'spent_challenges',
  key: { hash: 'bytea' },
  since: 'expires_at',
  // A margin for the clock difference between process and database.
  ttlSeconds: 60 * 60,
  isPersonal: true,
}

/** The row that represents what an attempt is made with. */
export const attemptRows = {
  person: (userId: string): Sql => sql`users where id = ${userId}::uuid`,
  pendingLogin: (token: string): Sql => sql`pending_logins where hash = ${sha256(token)}`,
  passkey: (credentialId: string): Sql => sql`passkeys where credential_id = ${Buffer.from(credentialId, 'base64url')}`,
}

/** Tries to lock the row until the transaction ends, without waiting. Returns true also if the row does not exist. */
export async function tryAttemptLock(db: CrossTenantConnection, row: Sql): Promise<boolean> {
  const [attempt] = await db.query<{ taken: boolean }>(sql`
    select exists (select from ${row} for no key update skip locked) or not exists (select from ${row}) as taken`)
  return attempt?.taken ?? false
}

/** An attempt with a second factor. */
export interface FactorAttempt {
  /** A uuid. */
  userId: string
  kind: FactorKind
  source: 'session' | 'known device' | 'unknown device'
}

/** The maximum number of failures per kind and source, and the seconds for which they count. */
export const failureLimits = { max: 20, seconds: 24 * 60 * 60 }

const recentFailures = ({ userId, kind, source }: FactorAttempt) => sql`select failed_at from factor_failures
  where user_id = ${userId}::uuid and kind = ${kind}::text and place = ${source}::text
    and failed_at > now() - make_interval(secs => ${failureLimits.seconds})`

/** Seconds until the next attempt is allowed; 0 if it is allowed now. */
export async function findRetrySeconds(db: CrossTenantConnection, attempt: FactorAttempt): Promise<number> {
  const [row] = await db.query<{ count: number; seconds: number | null }>(sql`
    select count(*)::int as count,
      ceil(extract(epoch from min(failed_at) - now()) + ${failureLimits.seconds})::int as seconds
    from (${recentFailures(attempt)}) failures`)
  return row && row.count >= failureLimits.max ? Math.max(1, row.seconds ?? 0) : 0
}

/** Records a failure; false if the maximum is already reached. */
export async function storeFailure(db: CrossTenantConnection, attempt: FactorAttempt): Promise<boolean> {
  const rows = await db.query(sql`
    insert into factor_failures (id, user_id, kind, place)
    select ${newId()}::uuid, ${attempt.userId}::uuid, ${attempt.kind}::text, ${attempt.source}::text
    where (select count(*) from (${recentFailures(attempt)}) failures) < ${failureLimits.max} returning 1`)
  return rows.length > 0
}

/** Failures that no longer count. */
export const expiredFactorFailures: RetentionPolicy = {
  name: 'failed second factors',
  table: 'factor_failures',
  key: { id: 'uuid' },
  since: 'failed_at',
  ttlSeconds: failureLimits.seconds,
  isPersonal: true,
}
