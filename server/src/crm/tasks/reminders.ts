import type { Logger } from 'pino'
import { joinLoops, type Loop } from '../../platform/background/loop.ts'
import type { Database } from '../../platform/database/database.ts'
import { isTransient } from '../../platform/database/failures.ts'
import { organizationsByRecords } from '../../identity/teams/store.ts'
import { startSweep, type Wakeups } from '../../platform/queue/wakeups.ts'
import { startQueueWorkers } from '../../platform/queue/workers.ts'
import { type AddNotices, noticedAtOnce, noticeQueue, sendNotices } from './reminders-store.ts'

export interface RemindersOptions {
  database: Database
  log: Logger
  wakeups: Wakeups
  ready: Promise<unknown>
  addNotices: AddNotices
  /** Called after messages were stored. */
  onSent: () => void
}

/** Seconds between two searches of all organizations: nobody announces that a time has come. */
const sweepSeconds = 10

/** Sends what tasks have to say at a time: reminders, and that they are overdue. Several processes share the work. */
export function startReminders({ addNotices, onSent, ...options }: RemindersOptions): Loop {
  const sending = startQueueWorkers(noticeQueue, {
    ...options,
    workers: 1,
    pollIntervals: { shortest: 1000, longest: 5000 },
    isTransient,
    work: async (organizationId) => {
      const count = await sendNotices(options.database, organizationId, addNotices)
      if (count > 0) onSent()
      return count === noticedAtOnce
    },
  })
  const sweeping = startSweep({
    ...options,
    organizations: organizationsByRecords,
    name: 'reminders',
    seconds: sweepSeconds,
    kinds: [noticeQueue],
  })
  return joinLoops([sending, sweeping])
}
