import { createHash } from 'node:crypto'
import { sha256 } from '../secret/encryption.ts'
import type { Transaction } from '../database/database.ts'
import { prepared, sql } from '../model/sql.ts'
import type { RetentionPolicy } from '../maintenance/retention-store.ts'
import { ApiError } from '../model/errors.ts'
import { openResponse, sealResponse, type StoredResponse } from './idempotency.ts'

/** One use of an Idempotency-Key: per credential, method and path, told from others by the request's hash. */
export interface IdempotentRequest {
  credentialId: string
  /** The header with the method and the path, so that one key may serve different routes. */
  key: string
  requestHash: Buffer
  /** Derived from SECRET; the stored answer needs it and the key itself. */
  secretKey: Buffer
}

const retentionHours = 24

/** Answers that no repeated key gets any more. */
export const storedResponsePolicy: RetentionPolicy = {
  name: 'idempotency_answers',
  table: 'idempotency_answers',
  key: { credential_id: 'uuid', key_hash: 'bytea' },
  since: 'created_at',
  ttlSeconds: retentionHours * 60 * 60,
}

/**
 * The answer that this key got before, or undefined when it is new and now ours until the transaction ends.
 * Errors: 409 while a request with the same key runs, 422 when it came with another request.
 */
export async function findStoredResponse(
  transaction: Transaction,
  request: IdempotentRequest,
): Promise<StoredResponse | undefined> {
  const keyHash = sha256(request.key)
  // Sent together, but two statements: the second one's snapshot is taken after the lock, so it sees what the holder kept.
  const [[lock], [stored]] = await Promise.all([
    transaction.query<{ locked: boolean }>(
      prepared(
        sql`select pg_try_advisory_xact_lock(${lockKeyOf(transaction, request, keyHash)}::bigint) as locked, ${transaction.organization} as organization`,
      ),
    ),
    transaction.query<{ request_hash: Buffer; answer_encrypted: Buffer }>(
      prepared(sql`select request_hash, answer_encrypted from idempotency_answers
        where organization_id = ${transaction.organization} and credential_id = ${request.credentialId}::uuid
          and key_hash = ${keyHash} and created_at > now() - make_interval(hours => ${retentionHours})`),
    ),
  ])
  if (!lock?.locked) {
    throw new ApiError(
      'idempotency_in_progress',
      'Wait for its response, or repeat the request after the seconds in Retry-After.',
      {
        headers: { 'retry-after': '1' },
      },
    )
  }
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

/** Keeps the answer in the transaction of its effect. */
export async function storeResponse(
  transaction: Transaction,
  request: IdempotentRequest,
  response: StoredResponse,
): Promise<void> {
  await transaction.query(
    prepared(sql`insert into idempotency_answers (organization_id, credential_id, key_hash, request_hash, answer_encrypted)
      values (${transaction.organization}, ${request.credentialId}::uuid, ${sha256(request.key)}, ${request.requestHash},
        ${sealResponse(request.secretKey, request.key, response)})
      on conflict (organization_id, credential_id, key_hash) do update
        set request_hash = excluded.request_hash, answer_encrypted = excluded.answer_encrypted, created_at = now()`),
  )
}

/** A lock of its own for each key of each credential; 64 bits of a hash never meet by chance. */
function lockKeyOf(transaction: Transaction, request: IdempotentRequest, keyHash: Buffer): string {
  const hash = createHash('sha256')
    .update(`${transaction.organizationId} ${request.credentialId} `)
    .update(keyHash)
    .digest()
  return hash.readBigInt64BE(0).toString()
}
