import { lockInstance } from '../../identity/access/instance-store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'

export interface StoredKey {
  id: string
  publicKey: string
  privateKeySealed: Buffer
}

/** The key pair of this installation, if it has been made. */
export async function findKey(db: CrossTenantConnection): Promise<StoredKey | undefined> {
  const [row] = await db.query<StoredKey>(sql`
    select id, public_key as "publicKey", private_key_sealed as "privateKeySealed" from push_keys
    order by created_at, id limit 1`)
  return row
}

/** Stores the key unless another process has made one meanwhile; returns the one that counts. */
export async function addKey(db: CrossTenantConnection, key: StoredKey): Promise<StoredKey> {
  await lockInstance(db, 'push key')
  const found = await findKey(db)
  if (found) return found
  await db.query(sql`
    insert into push_keys (id, public_key, private_key_sealed)
    values (${key.id}::uuid, ${key.publicKey}, ${key.privateKeySealed})`)
  return key
}
