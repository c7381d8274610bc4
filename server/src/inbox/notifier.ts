import type { Logger } from 'pino'
import { joinLoops, type Loop } from '../platform/background/loop.ts'
import type { Database } from '../platform/database/database.ts'
import { isTransient } from '../platform/database/failures.ts'
import { startSweep, type Wakeups } from '../platform/queue/wakeups.ts'
import { startQueueWorkers } from '../platform/queue/workers.ts'
import { organizationsByRecords } from '../identity/teams/store.ts'
import { inboxQueue, notify } from './notifier-store.ts'

interface NotifierOptions {
  /** The pool of background work. */
  database: Database
  log: Logger
  wakeups: Wakeups
  ready: Promise<unknown>
  /** Called after entries were added, which may have queued mails. */
  onAdded: () => void
}

/** Follows the feeds of all organizations, and adds entries for the people that events concern. */
export function startNotifier({ database, onAdded, ...options }: NotifierOptions): Loop {
  const notifying = startQueueWorkers(inboxQueue, {
    ...options,
    workers: 1,
    pollIntervals: { shortest: 100, longest: 1000 },
    isTransient,
    work: async (organizationId) => {
      const hasRead = await notify(database, organizationId)
      if (hasRead) onAdded()
      return hasRead
    },
  })
  const sweeping = { ...options, database, name: 'inbox', seconds: 5, organizations: organizationsByRecords }
  return joinLoops([notifying, startSweep({ ...sweeping, kinds: [inboxQueue] })])
}
