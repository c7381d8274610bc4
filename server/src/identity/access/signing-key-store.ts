import type { JWK } from 'jose'
import type { Database, CrossTenantConnection } from '../../platform/database/database.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'

export interface StoredSigningKey {
  id: string
  publicJwk: JWK
  /** Null once the key is retired. */
  privateKeyEncrypted: Buffer | null
  status: 'active' | 'next' | 'retired'
  createdAt: Date
  activeSince: Date | null
  retiredAt: Date | null
}

/** A key with both halves, to be kept. */
export interface NewSigningKey {
  id: string
  algorithm: string
  publicJwk: JWK
  privateKeyEncrypted: Buffer
}

const columns: Sql = sql`id, public_jwk as "publicJwk", private_key_encrypted as "privateKeyEncrypted", status,
  created_at as "createdAt", active_since as "activeSince", retired_at as "retiredAt"`
const selectSql: Sql = sql`select ${columns} from signing_keys order by status, created_at desc`

/** The keys that tokens may be signed with: the active one first, then the next one, then those that are retired. */
export const findSigningKeys = (database: Database): Promise<StoredSigningKey[]> =>
  database.crossTenantQuery<StoredSigningKey>('keep the signing key', selectSql)

/** The same within a transaction that changes them, one after another: whoever had to wait sees what came before it. */
export async function lockSigningKeys(db: CrossTenantConnection): Promise<StoredSigningKey[]> {
  await db.query(sql`select pg_advisory_xact_lock(hashtextextended('signing keys', 0))`)
  return db.query<StoredSigningKey>(selectSql)
}

export async function insertSigningKey(
  db: CrossTenantConnection,
  { id, algorithm, publicJwk, privateKeyEncrypted }: NewSigningKey,
  { status, at }: { status: 'active' | 'next'; at: Date },
): Promise<StoredSigningKey> {
  const [stored] = await db.query<StoredSigningKey>(
    sql`insert into signing_keys (id, algorithm, public_jwk, private_key_encrypted, status, created_at, active_since)
      values (${id}, ${algorithm}, ${JSON.stringify(publicJwk)}::jsonb, ${privateKeyEncrypted}, ${status}, ${at},
        ${status === 'active' ? at : null})
      returning ${columns}`,
  )
  if (!stored) throw new Error('The database did not store the signing key.')
  return stored
}

/** The key signs no more: its private half goes at once, its public half stays for the tokens that it signed. */
export async function retireSigningKey(db: CrossTenantConnection, id: string, at: Date): Promise<void> {
  await db.query(
    sql`update signing_keys set status = 'retired', retired_at = ${at}, private_key_encrypted = null where id = ${id}`,
  )
}

export async function activateSigningKey(db: CrossTenantConnection, id: string, at: Date): Promise<void> {
  await db.query(sql`update signing_keys set status = 'active', active_since = ${at} where id = ${id}`)
}

/** Takes away the keys that were retired before then. */
export async function deleteSigningKeys(db: CrossTenantConnection, retiredBefore: Date): Promise<void> {
  await db.query(sql`delete from signing_keys where retired_at < ${retiredBefore}`)
}
