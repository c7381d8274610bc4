import { isKnownDevice } from '../access/login-store.ts'
import { readDeviceHash } from '../access/logins.ts'
import type { NamedAction } from '../../platform/audit/store.ts'
import { recordPersonEvent } from '../audit-log/store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/model/errors.ts'
import type { Client, Services } from '../../platform/http/route.ts'
import { encodeId } from '../../platform/model/ids.ts'
import type { Sql } from '../../platform/model/sql.ts'
import { type FactorAttempt, findRetrySeconds, storeFailure, tryAttemptLock } from './store.ts'

/** The source of a second-factor attempt in a login. */
export async function attemptSource(
  context: { services: Services; client: Client },
  db: CrossTenantConnection,
  userId: string,
): Promise<FactorAttempt['source']> {
  const { address, userAgent } = context.client
  const isKnown = await isKnownDevice(db, userId, { deviceHash: readDeviceHash(context), address, userAgent })
  return isKnown ? 'known device' : 'unknown device'
}

/**
 * Allows one attempt at a time per person, login or passkey. Concurrent ones are rejected, because each would hold a
 * database connection while it waits. Error: 429.
 */
export async function lockAttempt(db: CrossTenantConnection, row: Sql): Promise<void> {
  if (await tryAttemptLock(db, row)) return
  throw new ApiError('rate_limited', 'Another attempt is in progress. Send one at a time.', {
    headers: { 'retry-after': '1' },
  })
}

/**
 * Rejects six-digit codes after too many wrong ones, because they can be guessed. Counted per source, so that an
 * attacker who knows the password cannot lock the owner out; passkeys and recovery codes still work. Error: 429.
 */
export async function assertNotThrottled(db: CrossTenantConnection, attempt: FactorAttempt): Promise<void> {
  const wait = await findRetrySeconds(db, attempt)
  if (wait === 0) return
  throw new ApiError(
    'rate_limited',
    'Too many wrong codes. Use a passkey or a recovery code, or wait for the seconds in Retry-After.',
    { headers: { 'retry-after': String(wait) } },
  )
}

/** Records a wrong factor and, until the maximum, its audit event. It must be committed. */
export async function recordFailure(
  db: CrossTenantConnection,
  attempt: FactorAttempt,
  { action, client }: { action: Extract<NamedAction, 'factor.failed' | 'reauthentication.failed'>; client: Client },
): Promise<void> {
  if (!(await storeFailure(db, attempt))) return
  const isPerson = attempt.source === 'session'
  await recordPersonEvent(db, attempt.userId, {
    action,
    actorKind: isPerson ? 'user' : 'anonymous',
    actorId: isPerson ? encodeId('usr', attempt.userId) : null,
    recordType: 'user',
    recordId: encodeId('usr', attempt.userId),
    address: client.address,
    requestId: client.requestId,
    details: { factor: attempt.kind },
  })
}
