import { randomBytes } from 'node:crypto'
import type { Transaction } from '../platform/database/database.ts'
import { newId } from '../platform/model/ids.ts'
import { sql } from '../platform/model/sql.ts'
import type { RetentionPolicy } from '../platform/operations/maintenance/retention-store.ts'
import { seal, unseal } from '../platform/secret/encryption.ts'
import { deriveKey, type Secret } from '../platform/secret/secret.ts'
import type { JsonObject } from '../platform/model/json.ts'

/** Standard Webhooks: base64 with this prefix. */
const prefix = 'whsec_'
const secretBytes = 32

/** A secret that signs, as it is stored: encrypted under its own id. */
export interface SealedSecret {
  id: string
  /** Base64. */
  sealed: string
}

/** Adds a secret to the webhook (uuid) and returns its text. */
export async function addSecret(transaction: Transaction, secret: Secret, webhookId: string): Promise<string> {
  const [id, bytes] = [newId(), randomBytes(secretBytes)]
  await transaction.query(sql`
    insert into webhook_secrets (organization_id, webhook_id, id, secret_sealed)
    values (${transaction.organization}, ${webhookId}::uuid, ${id}::uuid, ${seal(keyOf(secret, id), bytes)})`)
  return `${prefix}${bytes.toString('base64')}`
}

/** Ends the secrets of the webhook after this time, if they do not end earlier; returns when the last one does. */
export async function endSecrets(
  transaction: Transaction,
  { webhookId, seconds }: { webhookId: string; seconds: number },
): Promise<string | null> {
  const ofWebhook = sql`organization_id = ${transaction.organization} and webhook_id = ${webhookId}::uuid`
  const ended = await transaction.query<{ endsAt: Date }>(sql`
    update webhook_secrets set ends_at = least(ends_at, now() + make_interval(secs => ${seconds})) where ${ofWebhook}
    returning ends_at as "endsAt"`)
  await transaction.query(sql`delete from webhook_secrets where ${ofWebhook} and ends_at <= now()`)
  const ends = ended.map(({ endsAt }) => endsAt.toISOString()).sort()
  return seconds === 0 ? null : (ends.at(-1) ?? null)
}

/** The bytes of a secret. */
export const openSecret = (secret: Secret, { id, sealed }: SealedSecret): Buffer =>
  unseal(keyOf(secret, id), Buffer.from(sealed, 'base64'))

const keyOf = (secret: Secret, id: string): Buffer => deriveKey(secret, 'webhook secret', id)

/** The headers of a webhook (uuid), encrypted, in the text format of a recordset. */
export const sealHeaders = (secret: Secret, webhookId: string, headers: JsonObject): string =>
  `\\x${seal(deriveKey(secret, 'webhook headers', webhookId), Buffer.from(JSON.stringify(headers))).toString('hex')}`

/** `sealed`: base64, null without any headers. */
export const openHeaders = (
  secret: Secret,
  { webhookId, sealed }: { webhookId: string; sealed: string | null },
): Record<string, string> =>
  sealed === null
    ? {}
    : (JSON.parse(
        unseal(deriveKey(secret, 'webhook headers', webhookId), Buffer.from(sealed, 'base64')).toString(),
      ) as Record<string, string>)

export const endedSecrets: RetentionPolicy = {
  name: 'webhook_secrets',
  table: 'webhook_secrets',
  key: { webhook_id: 'uuid', id: 'uuid' },
  since: 'ends_at',
  ttlSeconds: 0,
}
