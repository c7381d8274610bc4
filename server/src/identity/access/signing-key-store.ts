import type { JWK } from 'jose'
import type { Database, CrossTenantConnection } from '../../platform/database/database.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'
import { lockInstance } from './instance-store.ts'

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

/** A new key pair. */
export interface NewSigningKey {
  id: string
  algorithm: string
  publicJwk: JWK
  privateKeyEncrypted: Buffer
}

const columns: Sql = sql`id, public_jwk as "publicJwk", private_key_encrypted as "privateKeyEncrypted", status,
  created_at as "createdAt", active_since as "activeSince", retired_at as "retiredAt"`
const selectSql: Sql = sql`select ${columns} from signing_keys order by status, created_at desc`

/** The keys that valid tokens can be signed with: the active one, then the next one, then retired ones. */
export const findSigningKeys = (database: Database): Promise<StoredSigningKey[]> =>
  database.crossTenantQuery<StoredSigningKey>('keep the signing key', selectSql)

/** The same, locked for a change: concurrent changes wait and then see the changes before them. */
export async function lockSigningKeys(db: CrossTenantConnection): Promise<StoredSigningKey[]> {
  await lockInstance(db, 'signing keys')
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

/** Retires the key: deletes its private half, and keeps the public half for the tokens that it signed. */
export async function retireSigningKey(db: CrossTenantConnection, id: string, at: Date): Promise<void> {
  await db.query(
    sql`update signing_keys set status = 'retired', retired_at = ${at}, private_key_encrypted = null where id = ${id}`,
  )
}

export async function activateSigningKey(db: CrossTenantConnection, id: string, at: Date): Promise<void> {
  await db.query(sql`update signing_keys set status = 'active', active_since = ${at} where id = ${id}`)
}

/** Deletes keys that were retired before this time. */
export async function deleteSigningKeys(db: CrossTenantConnection, retiredBefore: Date): Promise<void> {
  await db.query(sql`delete from signing_keys where retired_at < ${retiredBefore}`)
}
