import type { Logger } from 'pino'
import type { Loop } from '../platform/background/loop.ts'
import type { Database } from '../platform/database/database.ts'
import { isTransient } from '../platform/database/failures.ts'
import type { Wakeups } from '../platform/queue/wakeups.ts'
import { startQueueWorkers } from '../platform/queue/workers.ts'
import { inboxQueue, notify } from './notifier-store.ts'

interface NotifierOptions {
  /** The pool of background work. */
  database: Database
  log: Logger
  wakeups: Wakeups
  ready: Promise<unknown>
  /** Called after entries were added, which may have queued mails. */
  onAdded: (organizationId: string) => void
}

/** Follows the feeds of all organizations, and adds entries for the people that events concern. */
export const startNotifier = ({ database, onAdded, ...options }: NotifierOptions): Loop =>
  startQueueWorkers(inboxQueue, {
    ...options,
    workers: 1,
    pollIntervals: { shortest: 100, longest: 1000 },
    isTransient,
    work: async (organizationId) => {
      const hasRead = await notify(database, organizationId)
      if (hasRead) onAdded(organizationId)
      return hasRead
    },
  })
