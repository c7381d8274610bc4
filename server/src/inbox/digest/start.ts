import type { Logger } from 'pino'
import { errorForLog } from '../../platform/background/error-for-log.ts'
import { type Loop, startLoop, withJitter } from '../../platform/background/loop.ts'
import type { Database } from '../../platform/database/database.ts'
import { isTransient } from '../../platform/database/failures.ts'
import type { Language } from '../../platform/model/languages.ts'
import { sendDigests } from './digest.ts'
import { findWaiting } from './store.ts'

export interface DigestsOptions {
  database: Database
  log: Logger
  ready: Promise<unknown>
  /** Of people who have not chosen a language. */
  defaultLanguage: Language
  /** Sends queued mails immediately. */
  wakeMail: () => void
  /** Milliseconds since 1970. */
  clock?: () => number
}

/** Milliseconds until it asks again what is due. */
const interval = 30_000

/** Mails digests when they are due. Several processes may do so. */
export function startDigests({ database, log, ready, wakeMail, clock = Date.now, ...options }: DigestsOptions): Loop {
  const onError = (error: unknown) => {
    if (!isTransient(error)) log.error(errorForLog(error), 'inbox: mailing digests failed; it is tried again')
  }
  return startLoop({
    ready,
    retryMilliseconds: interval,
    onError,
    run: async (signal) => {
      for (const organizationId of await findWaiting(database)) {
        if (signal.aborted) break
        // The trouble of one organization is not that of the others.
        const queued = await sendDigests(database, organizationId, { now: new Date(clock()), ...options }).catch(
          (error: unknown) => {
            onError(error)
            return 0
          },
        )
        if (queued > 0) wakeMail()
      }
      return withJitter(interval)
    },
  })
}
