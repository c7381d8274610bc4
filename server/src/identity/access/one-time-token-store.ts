import { randomBytes } from 'node:crypto'
import { sha256 } from '../../platform/secret/encryption.ts'
import { anyOrganization, type CrossTenantConnection, type Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import type { RetentionPolicy } from '../../platform/operations/maintenance/retention-store.ts'

/** What a one-time link is for. */
export type OneTimePurpose = 'set-up' | 'sign-up' | 'verify-address' | 'reset-password' | 'invitation'

export interface NewOneTimeToken {
  purpose: OneTimePurpose
  userId?: string | null
  email?: string | null
  organizationId?: string | null
  /** The related record, such as an invitation. */
  recordId?: string | null
  lifetimeSeconds: number
}

/** The contents of a token; ids are uuids. */
export interface OneTimeToken {
  userId: string | null
  email: string | null
  organizationId: string | null
  recordId: string | null
  /** The link was sent by mail and not read in the outbox, so using it proves access to the mailbox. */
  isMailed: boolean
}

const pattern = /^ott_[A-Za-z0-9_-]{43}$/

/** Creates a one-time token of 256 random bits and returns it; only its hash is stored. */
export async function createOneTimeToken(db: CrossTenantConnection, newToken: NewOneTimeToken): Promise<string> {
  const text = `ott_${randomBytes(32).toString('base64url')}`
  const { purpose, userId = null, email = null, organizationId = null, recordId = null, lifetimeSeconds } = newToken
  await db.query(sql`
    insert into one_time_tokens (hash, purpose, user_id, email, organization_id, record_id, expires_at)
    values (${sha256(text)}, ${purpose}, ${userId}, ${email}, ${organizationId}, ${recordId},
      now() + make_interval(secs => ${lifetimeSeconds}))`)
  return text
}

/** Records that the link is about to be mailed. */
export async function markMailed(db: CrossTenantConnection, text: string): Promise<void> {
  await db.query(sql`update one_time_tokens set is_mailed = true where hash = ${sha256(text)}`)
}

const tokenColumns = sql`user_id as "userId", email, organization_id as "organizationId", record_id as "recordId",
  is_mailed as "isMailed"`

/**
 * Consumes the token and returns its contents; undefined if it is unknown, used or expired. Of concurrent uses, one
 * wins.
 */
export async function consumeOneTimeToken(
  db: CrossTenantConnection,
  purpose: OneTimePurpose,
  text: string,
): Promise<OneTimeToken | undefined> {
  if (!pattern.test(text)) return undefined
  const [row] = await db.query<OneTimeToken>(sql`
    delete from one_time_tokens where hash = ${sha256(text)} and purpose = ${purpose} and expires_at > now()
    returning ${tokenColumns}`)
  return row
}

/** The token's contents, without consuming it. */
export async function readOneTimeToken(
  db: CrossTenantConnection,
  purpose: OneTimePurpose,
  text: string,
): Promise<OneTimeToken | undefined> {
  if (!pattern.test(text)) return undefined
  const [row] = await db.query<OneTimeToken>(sql`
    select ${tokenColumns} from one_time_tokens where hash = ${sha256(text)} and purpose = ${purpose} and expires_at > now()`)
  return row
}

/** Revokes the person's (uuid) links for this purpose: links from before a change are invalid after it. */
export async function revokeOneTimeTokens(
  db: CrossTenantConnection | Transaction,
  purpose: OneTimePurpose,
  userId: string,
): Promise<void> {
  await db.query(sql`
    delete from one_time_tokens
    where purpose = ${purpose} and user_id = ${userId}::uuid and ${anyOrganization(db)}`)
}

export const expiredOneTimeTokens: RetentionPolicy = {
  name: 'one-time tokens',
  table: 'one_time_tokens',
  key: { hash: 'bytea' },
  since: 'expires_at',
  ttlSeconds: 0,
  isPersonal: true,
}
