import { createHmac } from 'node:crypto'
import type { Database } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { addressKey } from '../../platform/http/rate-limit.ts'
import { newId } from '../../platform/model/ids.ts'
import type { FailedLogin } from './failed-logins.ts'
import { deriveKey, type Secret } from '../../platform/secret/secret.ts'
import {
  type AttemptSource,
  beginAttempt,
  beginAttemptIfFew,
  clearFailures,
  clearFailuresIfFew,
  type Failures,
  findFailures,
  freeFailures,
  keepFailure,
  removeAttempt,
} from './throttle-store.ts'

/** Who tries to prove who they are. */
export interface Attempt {
  /** What is tried: the folded address (`emailKey`), whether anyone has it or not. */
  account: string
  /** Where the request comes from. */
  address: string
  source: AttemptSource
}

export interface Throttle {
  /**
   * Lets `verify` try, and remembers when it gives undefined: that is a failure. Errors: `rate_limited` (429) with
   * Retry-After when too many failed before, and then it was not called; whatever `verify` throws, which counts as
   * nothing.
   */
  attempt<Result>(attempt: Attempt, verify: () => Promise<Result | undefined>): Promise<Result | undefined>
}

const minute = 60_000
const hour = 60 * minute

const addressLimits = [
  { failures: freeFailures.address + 1, milliseconds: minute },
  { failures: 100, milliseconds: hour },
]

/** With every ten failures in a day, the time that the last ten of them stop the next attempt doubles. */
const accountLimit = { failures: freeFailures.account + 1, milliseconds: 15 * minute, most: 4 * hour }

/**
 * Slows the guessing of passwords down, for all processes on one database. A stranger who fails on purpose makes other
 * strangers wait, and never a device that the person has used before.
 */
export function createThrottle({
  database,
  secret,
  clock = Date.now,
  onFailure,
}: {
  database: Database
  secret: Secret
  /** Told of each attempt that fails or is refused. */
  onFailure?: (failure: FailedLogin) => void
  clock?: () => number
}): Throttle {
  const keyKey = deriveKey(secret, 'failed login')
  return {
    async attempt({ account, address: given, source }, verify) {
      const address = addressKey(given)
      const accountKey = createHmac('sha256', keyKey).update(account).digest()
      const at = new Date(clock())
      const tried = { id: newId(), at, accountKey, address, source }
      let isTold = false
      const tell = (isRefused: boolean) => {
        if (!isTold) onFailure?.({ address, account: accountKey.toString('hex'), isRefused })
        isTold = true
      }
      const admit = (failures: Failures) => {
        const wait = waitOf(failures, at.getTime())
        if (wait <= 0) return
        tell(true)
        throw refused(wait)
      }
      // Refused without a trace, as most of a flood are.
      const before = await beginAttemptIfFew(database, tried)
      if (!before.areFew) {
        admit(before)
        await beginAttempt(database, tried)
      }
      try {
        // Others that came at the same moment have left their trace by now, or will see this one's.
        admit(await findFailures(database, tried))
        const result = await verify()
        if (result !== undefined) {
          // Of many that waited for their turn together no more are told what came of them than would have been let in
          // one after another: not even that they were right.
          const during = await clearFailuresIfFew(database, tried)
          if (!during.areFew) {
            admit(during)
            await clearFailures(database, tried)
          }
          return result
        }
      } catch (error) {
        await removeAttempt(database, tried.id).catch(() => undefined)
        throw error
      }
      tell(false)
      await keepFailure(database, tried.id, address)
      admit(await findFailures(database, tried))
      return undefined
    },
  }
}

/** Milliseconds until the next attempt is let through; 0 when it is now. */
export function waitOf({ ofAccount, ofAddress }: Failures, now: number): number {
  const tens = Math.floor(ofAccount.length / accountLimit.failures)
  const pause = tens === 0 ? 0 : Math.min(accountLimit.milliseconds * 2 ** (tens - 1), accountLimit.most)
  const ends = [
    (ofAccount[accountLimit.failures - 1] ?? -Infinity) + pause,
    ...addressLimits.map(({ failures, milliseconds }) => (ofAddress[failures - 1] ?? -Infinity) + milliseconds),
  ]
  return Math.max(0, ...ends.map((end) => end - now))
}

function refused(milliseconds: number): ApiError {
  const seconds = Math.ceil(milliseconds / 1000)
  return new ApiError(
    'rate_limited',
    `Too many failed attempts. Try again in ${seconds} seconds, or from a device or address from which you have logged in before.`,
    { headers: { 'retry-after': `${seconds}` } },
  )
}
