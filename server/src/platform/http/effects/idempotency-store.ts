import { createHash } from 'node:crypto'
import { sha256 } from '../../secret/encryption.ts'
import type { Transaction } from '../../database/database.ts'
import { alone, prepared, raw, sql } from '../../model/sql.ts'
import type { RetentionPolicy } from '../../operations/maintenance/retention-store.ts'
import { ApiError } from '../../model/errors.ts'
import { openResponse, sealResponse, type StoredResponse } from './idempotency.ts'

/** One use of an Idempotency-Key: unique per credential, method and path; the hash identifies the request. */
export interface IdempotentRequest {
  credentialId: string
  /** The method, the path and the header, so that one key may be used for different routes. */
  key: string
  requestHash: Buffer
  /** Derived from SECRET; together with the key it decrypts the stored response. */
  secretKey: Buffer
}

const retentionHours = 24

export const storedResponsePolicy: RetentionPolicy = {
  name: 'idempotency_answers',
  table: 'idempotency_answers',
  key: { credential_id: 'uuid', key_hash: 'bytea' },
  since: 'created_at',
  ttlSeconds: retentionHours * 60 * 60,
}

/**
 * The stored response; if undefined, the key is now locked, so that a concurrent request gets 409 at once instead of doing its
 * work in vain. Throws 409 if it is in use, 422 for another request.
 */
export async function findStoredResponse(
  transaction: Transaction,
  request: IdempotentRequest,
): Promise<StoredResponse | undefined> {
  const keyHash = sha256(request.key)
  // Sent together but as two statements: the second one's snapshot is taken after the lock, so it sees what the lock's
  // previous holder stored.
  const [[lock], [stored]] = await Promise.all([
    transaction.query<{ locked: boolean }>(
      prepared(
        sql`select pg_try_advisory_xact_lock(${lockKeyOf(transaction, request, keyHash)}::bigint) as locked, ${transaction.organization} as organization`,
      ),
    ),
    transaction.query<{ request_hash: Buffer; answer_encrypted: Buffer }>(
      alone(
        prepared(sql`select request_hash, answer_encrypted from idempotency_answers
        where organization_id = ${transaction.organization} and credential_id = ${request.credentialId}::uuid
          and key_hash = ${keyHash} and created_at > now() - make_interval(hours => ${retentionHours})`),
      ),
    ),
  ])
  if (!lock?.locked) throw requestInProgress()
  if (!stored) return undefined
  if (!stored.request_hash.equals(request.requestHash)) {
    throw new ApiError(
      'idempotency_key_reused',
      'This key was used with a different body. Use a new key for each new request.',
      {
        details: [{ field: 'Idempotency-Key', message: 'was used with a different body' }],
      },
    )
  }
  return openResponse(request.secretKey, request.key, stored.answer_encrypted)
}

/**
 * Stores the response in the transaction of its effect. Throws 409 if another transaction has stored one meanwhile: the
 * unique key, not the lock, prevents that both commit.
 */
export async function storeResponse(
  transaction: Transaction,
  request: IdempotentRequest,
  response: StoredResponse,
): Promise<void> {
  const stored = await transaction.query(
    alone(
      prepared(sql`insert into idempotency_answers (organization_id, credential_id, key_hash, request_hash, answer_encrypted,
        record_id)
      values (${transaction.organization}, ${request.credentialId}::uuid, ${sha256(request.key)}, ${request.requestHash},
        ${sealResponse(request.secretKey, request.key, response)}, ${recordIn(response)}::uuid)
      on conflict (organization_id, credential_id, key_hash) do update
        set request_hash = excluded.request_hash, answer_encrypted = excluded.answer_encrypted, created_at = excluded.created_at,
          record_id = excluded.record_id
        where excluded.created_at - idempotency_answers.created_at >= interval ${raw(`'${retentionHours} hours'`)}
      returning 1`),
    ),
  )
  if (stored.length === 0) throw requestInProgress()
}

/** Deletes the stored responses that show one of these records (uuids). */
export async function deleteResponsesAbout(transaction: Transaction, recordIds: readonly string[]): Promise<void> {
  await transaction.query(sql`
    delete from idempotency_answers
    where organization_id = ${transaction.organization} and record_id = any(${recordIds}::uuid[])`)
}

function recordIn({ body }: StoredResponse): string | null {
  const [, hex] = /"id":"[a-z]{3}_([0-9a-f]{32})"/.exec(body) ?? []
  return hex ?? null
}

const requestInProgress = () =>
  new ApiError(
    'idempotency_in_progress',
    'Wait for its response, or repeat the request after the seconds in Retry-After.',
    { headers: { 'retry-after': '1' } },
  )

/** A separate lock for each key of each credential; a collision of 64 hash bits is negligible. */
function lockKeyOf(transaction: Transaction, request: IdempotentRequest, keyHash: Buffer): string {
  const hash = createHash('sha256')
    .update(`${transaction.organizationId} ${request.credentialId} `)
    .update(keyHash)
    .digest()
  return hash.readBigInt64BE(0).toString()
}
