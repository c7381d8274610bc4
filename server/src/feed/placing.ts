import type { Logger } from 'pino'
import type { Loop } from '../platform/background/loop.ts'
import type { Database } from '../platform/database/database.ts'
import { isTransient } from '../platform/database/failures.ts'
import type { Wakeups } from '../platform/queue/wakeups.ts'
import { startQueueWorkers } from '../platform/queue/workers.ts'
import { eventQueue, placedAtOnce, placeEvents } from './positions-store.ts'

interface PlacingOptions {
  database: Database
  log: Logger
  wakeups: Wakeups
  ready: Promise<unknown>
}

/**
 * Places the events of feeds that nobody reads, so that their first reader need not wait for those of months. Readers place
 * what they need themselves.
 */
export const startPlacing = ({ database, ...options }: PlacingOptions): Loop =>
  startQueueWorkers(eventQueue, {
    ...options,
    workers: 1,
    pollIntervals: { shortest: 1000, longest: 5000 },
    isTransient,
    // True: there may be more of them at once.
    work: async (organizationId) => (await placeEvents(database, organizationId)) === placedAtOnce,
  })
