import { sha256 } from '../../platform/secret/encryption.ts'
import { generateApiKey } from '../access/api-key.ts'
import type { CrossTenantConnection, Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { standardStore, writeOne } from '../../platform/records/write/store.ts'
import type { RetentionPolicy } from '../../platform/operations/maintenance/retention-store.ts'
import { apiKeys } from './resource.ts'
import type { WrittenRecord } from '../../platform/records/declare/changes.ts'
import type { JsonObject } from '../../platform/model/json.ts'

export interface NewApiKey {
  id: string
  organizationId: string
  hash: Buffer
  name: string
  /** Full form, `urn:service:…`. */
  scopes: readonly string[]
  /** The uuid of the user who created it. */
  createdBy: string
  expiresAt: Date | null
}

export async function insertApiKey(db: CrossTenantConnection, key: NewApiKey): Promise<void> {
  await db.query(
    sql`insert into api_keys (organization_id, id, hash, name, scopes, created_by, expires_at)
      values (${key.organizationId}, ${key.id}, ${key.hash}, ${key.name}, ${key.scopes}::text[], ${key.createdBy}, ${key.expiresAt})`,
  )
}

export const apiKeyStore = standardStore(apiKeys, { afterWrite: endCachedKeys })

/** No process may rely on what it has cached of a changed key. */
async function endCachedKeys(transaction: Transaction, written: readonly WrittenRecord[]): Promise<void> {
  const ids = written.filter(({ before }) => before !== undefined).map(({ id }) => id)
  if (ids.length === 0) return
  await transaction.query(sql`
    update api_keys set version = version + 1
    where organization_id = ${transaction.organization} and id = any(${ids}::uuid[])`)
}

/** A key with its value, of which only the hash is stored. */
export interface KeyWithValue {
  written: WrittenRecord
  apiKey: string
}

/** Creates a key in the name of the user (uuid). Errors: 422. */
export async function createKey(
  transaction: Transaction,
  createdBy: string,
  values: JsonObject,
): Promise<KeyWithValue> {
  const apiKey = generateApiKey()
  const columns = { hash: hexOf(sha256(apiKey)), created_by: createdBy }
  return { written: await writeOne(apiKeyStore, transaction, { kind: 'create', values, columns }), apiKey }
}

export interface KeyRotation {
  keyId: string
  /** How long the previous values stay valid; 0 ends them immediately. */
  overlapSeconds: number
  revisions: readonly number[] | undefined
  /** Rejects by throwing; receives the current record. */
  check: (before: JsonObject) => void
}

/**
 * Gives the key a new value. Previous values stay valid for at most the overlap; an earlier expiry stays, so repeating
 * a rotation whose response was lost expires nothing early. Errors: 404, 412, and those of `check`.
 */
export async function rotateKey(
  transaction: Transaction,
  { keyId, overlapSeconds, revisions, check }: KeyRotation,
): Promise<KeyWithValue & { previousEndsAt: string | null }> {
  const apiKey = generateApiKey()
  // The current hash, before it is replaced. Locks the key, so that concurrent rotations run one after another.
  const [before] = await transaction.query<{ hash: Buffer }>(sql`
    select hash from api_keys where organization_id = ${transaction.organization} and id = ${keyId}::uuid for update`)
  const columns = (row: JsonObject) => {
    check(row)
    return { hash: hexOf(sha256(apiKey)) }
  }
  const change = { kind: 'update', id: keyId, values: {}, columns, revisions } as const
  const written = await writeOne(apiKeyStore, transaction, change)
  const previousEndsAt = await expirePreviousHashes(transaction, { keyId, hash: before?.hash, overlapSeconds })
  return { written, apiKey, previousEndsAt }
}

/** Keeps the current hash for the overlap, and older ones no longer than that; returns when the last one expires. */
async function expirePreviousHashes(
  transaction: Transaction,
  { keyId, hash, overlapSeconds }: { keyId: string; hash: Buffer | undefined; overlapSeconds: number },
): Promise<string | null> {
  await transaction.query(sql`
    delete from api_key_previous_hashes
    where organization_id = ${transaction.organization} and api_key_id = ${keyId}::uuid
      and (${overlapSeconds === 0}::boolean or ends_at <= now())`)
  if (overlapSeconds === 0) return null
  await transaction.query(sql`
    insert into api_key_previous_hashes (organization_id, api_key_id, hash, ends_at)
    values (${transaction.organization}, ${keyId}::uuid, ${hash}, 'infinity')`)
  const previous = await transaction.query<{ endsAt: string }>(sql`
    update api_key_previous_hashes set ends_at = least(ends_at, now() + make_interval(secs => ${overlapSeconds}))
    where organization_id = ${transaction.organization} and api_key_id = ${keyId}::uuid
    returning to_char(ends_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "endsAt"`)
  const ends = previous.map(({ endsAt }) => endsAt).sort()
  return ends.at(-1) ?? null
}

/** The id of a key in the format of the API. */
export const showKeyId = (id: string): string => encodeId(apiKeys.idPrefix, id)

export const expiredKeyHashes: RetentionPolicy = {
  name: 'api_key_texts',
  table: 'api_key_previous_hashes',
  key: { api_key_id: 'uuid', hash: 'bytea' },
  since: 'ends_at',
  ttlSeconds: 0,
}

/** Bytes in the text format that recordsets use. */
const hexOf = (bytes: Buffer): string => `\\x${bytes.toString('hex')}`
