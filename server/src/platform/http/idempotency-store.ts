import { createHash } from 'node:crypto'
import { sha256 } from '../secret/encryption.ts'
import type { Transaction } from '../database/database.ts'
import { prepared, sql } from '../model/sql.ts'
import type { Perishable } from '../upkeep/store.ts'
import { ApiError } from '../model/errors.ts'
import { openAnswer, sealAnswer, type StoredAnswer } from './idempotency.ts'

/** One use of an Idempotency-Key: per credential, method and path, told from others by the request's hash. */
export interface IdempotentUse {
  credentialId: string
  /** The header with the method and the path, so that one key may serve different routes. */
  key: string
  requestHash: Buffer
  /** Derived from SECRET; the stored answer needs it and the key itself. */
  secretKey: Buffer
}

const keptHours = 24

/** Answers that no repeated key gets any more. */
export const storedAnswers: Perishable = {
  name: 'idempotency_answers',
  table: 'idempotency_answers',
  key: { credential_id: 'uuid', key_hash: 'bytea' },
  since: 'created_at',
  keptSeconds: keptHours * 60 * 60,
}

/**
 * The answer that this key got before, or undefined when it is new and now ours until the transaction ends.
 * Errors: 409 while a request with the same key runs, 422 when it came with another request.
 */
export async function findAnswer(transaction: Transaction, use: IdempotentUse): Promise<StoredAnswer | undefined> {
  const keyHash = sha256(use.key)
  // Sent together, but two statements: the second one's snapshot is taken after the lock, so it sees what the holder kept.
  const [[lock], [kept]] = await Promise.all([
    transaction.query<{ locked: boolean }>(
      prepared(
        sql`select pg_try_advisory_xact_lock(${lockOf(transaction, use, keyHash)}::bigint) as locked, ${transaction.organization} as organization`,
      ),
    ),
    transaction.query<{ request_hash: Buffer; answer_encrypted: Buffer }>(
      prepared(sql`select request_hash, answer_encrypted from idempotency_answers
        where organization_id = ${transaction.organization} and credential_id = ${use.credentialId}::uuid
          and key_hash = ${keyHash} and created_at > now() - make_interval(hours => ${keptHours})`),
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
  if (!kept) return undefined
  if (!kept.request_hash.equals(use.requestHash)) {
    throw new ApiError(
      'idempotency_key_reused',
      'This key was used with a different body. Use a new key for each new request.',
      {
        details: [{ field: 'Idempotency-Key', message: 'was used with a different body' }],
      },
    )
  }
  return openAnswer(use.secretKey, use.key, kept.answer_encrypted)
}

/** Keeps the answer in the transaction of its effect. */
export async function keepAnswer(transaction: Transaction, use: IdempotentUse, answer: StoredAnswer): Promise<void> {
  await transaction.query(
    prepared(sql`insert into idempotency_answers (organization_id, credential_id, key_hash, request_hash, answer_encrypted)
      values (${transaction.organization}, ${use.credentialId}::uuid, ${sha256(use.key)}, ${use.requestHash},
        ${sealAnswer(use.secretKey, use.key, answer)})
      on conflict (organization_id, credential_id, key_hash) do update
        set request_hash = excluded.request_hash, answer_encrypted = excluded.answer_encrypted, created_at = now()`),
  )
}

/** A lock of its own for each key of each credential; 64 bits of a hash never meet by chance. */
function lockOf(transaction: Transaction, use: IdempotentUse, keyHash: Buffer): string {
  const hash = createHash('sha256')
    .update(`${transaction.organizationId} ${use.credentialId} `)
    .update(keyHash)
    .digest()
  return hash.readBigInt64BE(0).toString()
}
