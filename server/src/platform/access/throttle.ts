import { createHmac } from 'node:crypto'
import type { Database } from '../database/database.ts'
import { ApiError } from '../http/errors.ts'
import { addressKey } from '../http/rate-limit.ts'
import { newId } from '../resource/ids.ts'
import { deriveKey, type Secret } from './secret.ts'
import {
  type AttemptSource,
  clearFailures,
  type Failures,
  findFailures,
  insertAttempt,
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
  { failures: 20, milliseconds: minute },
  { failures: 100, milliseconds: hour },
]

/** With every ten failures in a day, the time that the last ten of them stop the next attempt doubles. */
const accountLimit = { failures: 10, milliseconds: 15 * minute, most: 4 * hour }

/**
 * Slows the guessing of passwords down, for all processes on one database. A stranger who fails on purpose makes other
 * strangers wait, and never a device that the person has used before.
 */
export function createThrottle({
  database,
  secret,
  clock = Date.now,
}: {
  database: Database
  secret: Secret
  clock?: () => number
}): Throttle {
  const keyKey = deriveKey(secret, 'failed login')
  return {
    async attempt({ account, address: given, source }, verify) {
      const address = addressKey(given)
      const accountKey = createHmac('sha256', keyKey).update(account).digest()
      const key = { accountKey, address, source }
      const at = new Date(clock())
      const id = newId()
      const admit = async () => {
        const wait = waitOf(await findFailures(database, key, { at, except: id }), at.getTime())
        if (wait > 0) throw refused(wait)
      }
      // Refused without a trace, as most of a flood are.
      await admit()
      await insertAttempt(database, { ...key, id, at })
      let result
      try {
        // Others that came at the same moment have left their trace by now, or will see this one's.
        await admit()
        result = await verify()
        // Of many that waited for their turn together no more are told what came of them than would have been let in one
        // after another: not even that they were right.
        if (result !== undefined) await admit()
      } catch (error) {
        await removeAttempt(database, id).catch(() => undefined)
        throw error
      }
      if (result !== undefined) {
        await clearFailures(database, id, key)
        return result
      }
      await keepFailure(database, id, address)
      await admit()
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
    `Too many attempts have failed. Try again in ${seconds} seconds, or from a device or address that you have logged in from before.`,
    { headers: { 'retry-after': `${seconds}` } },
  )
}
