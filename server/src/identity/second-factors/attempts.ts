import { isKnownDevice } from '../access/login-store.ts'
import { readDeviceHash } from '../access/logins.ts'
import type { NamedAction } from '../../platform/audit/store.ts'
import { recordPersonEvent } from '../audit-log/store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/model/errors.ts'
import type { Client, Services } from '../../platform/http/route.ts'
import { showId } from '../../platform/model/ids.ts'
import { type FactorAttempt, findRetrySeconds, storeFailure, tryAttemptLock } from './store.ts'

/** From where a login tries a second factor. */
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
 * Lets one try of a person, login or passkey go on at a time. Those that come at once are refused, for each that waited
 * would hold a connection that others need. Error: 429.
 */
export async function lockAttempt(db: CrossTenantConnection, what: string): Promise<void> {
  if (await tryAttemptLock(db, what)) return
  throw new ApiError('rate_limited', 'Another attempt is in progress. Send one at a time.', {
    headers: { 'retry-after': '1' },
  })
}

/**
 * Refuses codes, which have six digits and can be guessed, after too many wrong ones: of this place alone, so that who
 * knows a password cannot keep its owner out, who has a passkey and recovery codes besides. Error: 429.
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

/** Remembers a wrong factor, and tells of it until there are too many. Has to be committed. */
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
    actorId: isPerson ? showId('usr', attempt.userId) : null,
    recordType: 'user',
    recordId: showId('usr', attempt.userId),
    address: client.address,
    requestId: client.requestId,
    details: { factor: attempt.kind },
  })
}
