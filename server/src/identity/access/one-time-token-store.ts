import { randomBytes } from 'node:crypto'
import { sha256 } from '../../platform/secret/encryption.ts'
import { anyOrganization, type CrossTenantConnection, type Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import type { RetentionPolicy } from '../../platform/maintenance/retention-store.ts'

/** What a link that was sent is good for. */
export type OneTimePurpose = 'set-up' | 'sign-up' | 'verify-address' | 'reset-password' | 'invitation'

export interface NewOneTimeToken {
  purpose: OneTimePurpose
  userId?: string | null
  email?: string | null
  organizationId?: string | null
  /** What else it is about, such as an invitation. */
  recordId?: string | null
  lifetimeSeconds: number
}

/** What a token said; the ids are uuids. */
export interface OneTimeToken {
  userId: string | null
  email: string | null
  organizationId: string | null
  recordId: string | null
  /** A mail server was given the link and nobody else has read it: whoever uses it has the mailbox. */
  isMailed: boolean
}

const pattern = /^ott_[A-Za-z0-9_-]{43}$/

/** A new token of 256 random bits, good once; only its hash is kept. */
export async function createOneTimeToken(db: CrossTenantConnection, newToken: NewOneTimeToken): Promise<string> {
  const text = `ott_${randomBytes(32).toString('base64url')}`
  const { purpose, userId = null, email = null, organizationId = null, recordId = null, lifetimeSeconds } = newToken
  await db.query(sql`
    insert into one_time_tokens (hash, purpose, user_id, email, organization_id, record_id, expires_at)
    values (${sha256(text)}, ${purpose}, ${userId}, ${email}, ${organizationId}, ${recordId},
      now() + make_interval(secs => ${lifetimeSeconds}))`)
  return text
}

/** A mail server is being given the link. */
export async function markMailed(db: CrossTenantConnection, text: string): Promise<void> {
  await db.query(sql`update one_time_tokens set is_mailed = true where hash = ${sha256(text)}`)
}

const tokenColumns = sql`user_id as "userId", email, organization_id as "organizationId", record_id as "recordId",
  is_mailed as "isMailed"`

/** Uses the token up and tells what it said; undefined when it is none, was used, or its time is over. Of several at once one has it. */
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

/** What the token says, without using it up. */
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

/** Takes back what was sent to the person (uuid) for this purpose: nothing from before a change is good after it. */
export async function revokeOneTimeTokens(
  db: CrossTenantConnection | Transaction,
  purpose: OneTimePurpose,
  userId: string,
): Promise<void> {
  await db.query(sql`
    delete from one_time_tokens
    where purpose = ${purpose} and user_id = ${userId}::uuid and ${anyOrganization(db)}`)
}

/** Tokens whose time is over. */
export const expiredOneTimeTokens: RetentionPolicy = {
  name: 'one-time tokens',
  table: 'one_time_tokens',
  key: { hash: 'bytea' },
  since: 'expires_at',
  ttlSeconds: 0,
  isPersonal: true,
}
