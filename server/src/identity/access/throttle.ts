import { createHmac } from 'node:crypto'
import type { Database } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { createKeyedLimiter } from '../../platform/background/concurrency-limiter.ts'
import { addressKey } from '../../platform/http/limits/rate-limit.ts'
import { newId } from '../../platform/model/ids.ts'
import type { FailedLogin } from './failed-logins.ts'
import { deriveKey, type Secret } from '../../platform/secret/secret.ts'
import {
  type AttemptSource,
  type FailureKey,
  beginAttempt,
  beginAttemptIfTolerated,
  clearFailures,
  clearFailuresIfTolerated,
  type Failures,
  findFailures,
  toleratedFailures,
  storeFailure,
  removeAttempt,
} from './throttle-store.ts'

/** An authentication attempt. */
export interface Attempt {
  /** The folded address (`emailKey`), whether an account with it exists or not. */
  account: string
  /** Where the request comes from. */
  address: string
  source: AttemptSource
}

export interface Throttle {
  /**
   * Calls `verify`; undefined means failure and is recorded. Errors: `rate_limited` (429) with Retry-After if too many
   * attempts have failed, without calling `verify`; and the errors of `verify`, which do not count as failures.
   */
  attempt<Result>(attempt: Attempt, verify: () => Promise<Result | undefined>): Promise<Result | undefined>
}

const minute = 60_000
const hour = 60 * minute

const addressLimits = [
  { failures: toleratedFailures.address + 1, milliseconds: minute },
  { failures: 100, milliseconds: hour },
]

/** Each ten failures in a day double the pause before the next attempt. */
const accountLimit = { failures: toleratedFailures.account + 1, milliseconds: 15 * minute, max: 4 * hour }

/**
 * Attempts in progress count as failures, so more than a few at once would reject each other although all are right.
 * They wait for each other instead, per account and source. No more passwords than this are hashed at once anyway.
 */
const concurrentAttempts = {
  concurrency: 2,
  queue: 100,
  waitMilliseconds: 10_000,
  messages: {
    full: 'Too many logins to this account are in progress. Try again.',
    late: 'The request waited too long because many logins to this account are in progress. Try again.',
  },
}

/**
 * Slows down password guessing, for all processes on one database. Deliberate failures from unknown devices delay other
 * unknown devices, never a device that the person has used before.
 */
export function createThrottle({
  database,
  secret,
  clock = Date.now,
  onFailure,
}: {
  database: Database
  secret: Secret
  /** Called for each attempt that fails or is rejected. */
  onFailure?: (failure: FailedLogin) => void
  clock?: () => number
}): Throttle {
  const hmacKey = deriveKey(secret, 'failed login')
  const limiter = createKeyedLimiter(concurrentAttempts)
  return {
    attempt({ account, address: clientAddress, source }, verify) {
      const address = addressKey(clientAddress)
      const accountKey = createHmac('sha256', hmacKey).update(account).digest()
      return limiter.run(`${source} ${accountKey.toString('base64')}`, () =>
        attemptOne({ accountKey, address, source }, verify),
      )
    },
  }

  async function attemptOne<Result>(key: FailureKey, verify: () => Promise<Result | undefined>) {
    const { accountKey, address } = key
    const at = new Date(clock())
    const recorded = { ...key, id: newId(), at }
    let isReported = false
    const report = (isRefused: boolean) => {
      if (!isReported) onFailure?.({ address, account: accountKey.toString('hex'), isRefused })
      isReported = true
    }
    const assertAllowed = (failures: Failures) => {
      const wait = remainingWait(failures, at.getTime())
      if (wait <= 0) return
      report(true)
      throw tooManyAttempts(wait)
    }
    // Rejected without a write, as most requests of a flood are.
    const before = await beginAttemptIfTolerated(database, recorded)
    if (!before.isTolerated) {
      assertAllowed(before)
      await beginAttempt(database, recorded)
    }
    try {
      // Concurrent attempts are visible here, or will see this one.
      assertAllowed(await findFailures(database, recorded))
      const result = await verify()
      if (result !== undefined) {
        // Of many parallel attempts, no more get a result than if they had come one after another. The others do not
        // even learn that the password was right.
        const during = await clearFailuresIfTolerated(database, recorded)
        if (!during.isTolerated) {
          assertAllowed(during)
          await clearFailures(database, recorded)
        }
        return result
      }
    } catch (error) {
      await removeAttempt(database, recorded.id).catch(() => undefined)
      throw error
    }
    report(false)
    await storeFailure(database, recorded.id, address)
    assertAllowed(await findFailures(database, recorded))
    return undefined
  }
}

/** Milliseconds until the next attempt is allowed; 0 if it is allowed now. */
export function remainingWait({ ofAccount, ofAddress }: Failures, now: number): number {
  const tens = Math.floor(ofAccount.length / accountLimit.failures)
  const pause = tens === 0 ? 0 : Math.min(accountLimit.milliseconds * 2 ** (tens - 1), accountLimit.max)
  const ends = [
    (ofAccount[accountLimit.failures - 1] ?? -Infinity) + pause,
    ...addressLimits.map(({ failures, milliseconds }) => (ofAddress[failures - 1] ?? -Infinity) + milliseconds),
  ]
  return Math.max(0, ...ends.map((end) => end - now))
}

function tooManyAttempts(milliseconds: number): ApiError {
  const seconds = Math.ceil(milliseconds / 1000)
  return new ApiError(
    'rate_limited',
    `Too many failed attempts. Try again in ${seconds} seconds, or from a device or address from which you have logged in before.`,
    { headers: { 'retry-after': `${seconds}` } },
  )
}
