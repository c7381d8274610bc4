import type { Spanning } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

export interface NewApiKey {
  id: string
  organizationId: string
  hash: Buffer
  name: string
  /** Full form, `urn:service:…`. */
  scopes: readonly string[]
  /** The uuid of the user who made it. */
  createdBy: string
  expiresAt: Date | null
}

export async function insertApiKey(spanning: Spanning, key: NewApiKey): Promise<void> {
  await spanning.query(
    sql`insert into api_keys (organization_id, id, hash, name, scopes, created_by, expires_at)
      values (${key.organizationId}, ${key.id}, ${key.hash}, ${key.name}, ${key.scopes}::text[], ${key.createdBy}, ${key.expiresAt})`,
  )
}
