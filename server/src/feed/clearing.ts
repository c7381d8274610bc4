import type { Logger } from 'pino'
import { errorForLog } from '../platform/background/error-for-log.ts'
import { type Loop, pause, startLoop, withJitter } from '../platform/background/loop.ts'
import type { Database } from '../platform/database/database.ts'
import { clearNextValues } from './clearing-store.ts'

export interface ClearingOptions {
  database: Database
  /** Days that the feed reaches back. */
  days: number
  /** The next organizations (uuids) after one, in the order of their ids; at most `limit`. */
  organizations: (after: string | undefined, limit: number) => Promise<string[]>
}

const interval = 60 * 60_000
const retryInterval = 60_000
const organizationBatchSize = 500
/** After each step, pause for this multiple of its duration. */
const pauseRatio = 3

/** Clears, once an hour, the values of events that only timelines still need. Several processes may do so. */
export const startClearing = ({
  log,
  ready,
  ...options
}: ClearingOptions & { log: Logger; ready: Promise<unknown> }): Loop =>
  startLoop({
    ready,
    retryMilliseconds: retryInterval,
    onError: (error) => log.error(errorForLog(error), 'events: clearing old values failed; it will be retried'),
    run: async (signal) => {
      await clearOldValues(options, signal)
      return withJitter(interval)
    },
  })

/** One round through all organizations. Throws the first error at its end, so that one of them does not hold up the others. */
export async function clearOldValues(
  { database, days, organizations }: ClearingOptions,
  signal: AbortSignal,
): Promise<void> {
  const errors: unknown[] = []
  for (let last: string | undefined; !signal.aborted;) {
    const ids = await organizations(last, organizationBatchSize)
    for (const id of ids) await clearAll({ database, days }, id, signal).catch((error: unknown) => errors.push(error))
    last = ids.at(-1)
    if (last === undefined) break
  }
  if (errors.length > 0) throw errors[0]
}

async function clearAll(
  { database, days }: Pick<ClearingOptions, 'database' | 'days'>,
  organizationId: string,
  signal: AbortSignal,
): Promise<void> {
  for (let hasMore = true; hasMore && !signal.aborted;) {
    const began = performance.now()
    hasMore = await clearNextValues(database, organizationId, days)
    await pause((performance.now() - began) * pauseRatio, signal)
  }
}
