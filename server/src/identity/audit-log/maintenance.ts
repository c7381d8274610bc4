import type { Logger } from 'pino'
import { errorForLog } from '../../platform/background/error-for-log.ts'
import { type Loop, startLoop, withJitter } from '../../platform/background/loop.ts'
import type { Database } from '../../platform/database/database.ts'
import { storePendingEvents } from './store.ts'

export interface AuditLogMaintenanceOptions {
  database: Database
  log: Logger
  ready: Promise<unknown>
}

const interval = 60_000

/** Moves pending events to the audit logs once a minute. Reads of a log move its events themselves (`routes.ts`). */
export const createAuditLogMaintenance = ({ database, log, ready }: AuditLogMaintenanceOptions): Loop =>
  startLoop({
    ready,
    retryMilliseconds: interval,
    onError: (error) => log.error(errorForLog(error), 'audit log: pending events were not stored; it will be retried'),
    run: async (signal) => {
      await storePendingEvents(database, undefined, signal)
      return withJitter(interval)
    },
  })
