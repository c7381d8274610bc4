import type { Logger } from 'pino'
import type { Loop } from '../../platform/background/loop.ts'
import type { Database } from '../../platform/database/database.ts'
import { isTransient } from '../../platform/database/failures.ts'
import type { Wakeups } from '../../platform/queue/wakeups.ts'
import { startQueueWorkers } from '../../platform/queue/workers.ts'
import { type AddNotices, noticedAtOnce, noticeQueue, sendNotices } from './reminders-store.ts'

export interface RemindersOptions {
  database: Database
  log: Logger
  wakeups: Wakeups
  ready: Promise<unknown>
  addNotices: AddNotices
  /** Called after messages were stored. */
  onSent: (organizationId: string) => void
}

/** Sends what tasks have to say at a time: reminders, and that they are overdue. Several processes share the work. */
export const startReminders = ({ addNotices, onSent, ...options }: RemindersOptions): Loop =>
  startQueueWorkers(noticeQueue, {
    ...options,
    workers: 1,
    pollIntervals: { shortest: 1000, longest: 5000 },
    isTransient,
    work: async (organizationId) => {
      const count = await sendNotices(options.database, organizationId, addNotices)
      if (count > 0) onSent(organizationId)
      return count === noticedAtOnce
    },
  })
