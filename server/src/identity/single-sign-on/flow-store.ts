import { sha256 } from '../../platform/secret/encryption.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import type { RetentionPolicy } from '../../platform/operations/maintenance/retention-store.ts'
import type { JoinRole } from './connection.ts'

/** Seconds between two steps. */
export const stepSeconds = 600

/** What a login needs to know about a connection; ids are uuids. */
export interface StoredConnection {
  id: string
  organizationId: string
  revision: number
  issuer: string
  clientId: string
  secretEncrypted: Buffer | null
  defaultRole: JoinRole | null
}

/** The connection with this uuid, if it is enabled. */
export async function findConnection(db: CrossTenantConnection, id: string): Promise<StoredConnection | undefined> {
  const [row] = await db.query<StoredConnection>(sql`
    select id, organization_id as "organizationId", revision, issuer, client_id as "clientId",
      client_secret_encrypted as "secretEncrypted", default_role as "defaultRole"
    from sso_connections where id = ${id}::uuid and enabled
      and exists (select from organizations where organizations.id = organization_id and deletes_at is null)`)
  return row
}

export type StepKind = 'link' | 'flow' | 'proof'

/** A step of a login or of linking an identity. */
export interface Step {
  organizationId: string
  connectionId: string
  browserHash?: Buffer | null
  returnTo?: string | null
  /** The person who links; null for a login. */
  userId?: string | null
  issuer?: string | null
  subject?: string | null
  email?: string | null
}

/** Stores a step for ten minutes, under the SHA-256 of `text`: 256 random bits need no slow hash. */
export async function storeStep(db: CrossTenantConnection, kind: StepKind, text: string, step: Step): Promise<void> {
  const { organizationId, connectionId, browserHash = null, returnTo = null, userId = null } = step
  const { issuer = null, subject = null, email = null } = step
  await db.query(sql`
    insert into sso_steps
      (hash, kind, organization_id, connection_id, browser_hash, return_to, user_id, issuer, subject, email, expires_at)
    values (${sha256(text)}, ${kind}, ${organizationId}, ${connectionId}, ${browserHash}, ${returnTo}, ${userId}, ${issuer},
      ${subject}, ${email}, now() + make_interval(secs => ${stepSeconds}))`)
}

/** Deletes and returns the step; undefined if it is unknown, of another kind or connection, or expired. */
export async function consumeStep(
  db: CrossTenantConnection,
  { kind, text, connectionId }: { kind: StepKind; text: string; connectionId?: string },
): Promise<Required<Step> | undefined> {
  const [row] = await db.query<Required<Step> & { isGood: boolean }>(sql`
    delete from sso_steps where hash = ${sha256(text)} and kind = ${kind}
    returning organization_id as "organizationId", connection_id as "connectionId", browser_hash as "browserHash",
      return_to as "returnTo", user_id as "userId", issuer, subject, email, expires_at > now() as "isGood"`)
  if (!row?.isGood || (connectionId !== undefined && row.connectionId !== connectionId)) return undefined
  return row
}

/** Steps that were never completed. */
export const expiredSteps: RetentionPolicy = {
  name: 'single sign-on steps',
  table: 'sso_steps',
  key: { hash: 'bytea' },
  since: 'expires_at',
  ttlSeconds: 0,
}
