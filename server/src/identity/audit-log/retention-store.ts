import type { RetentionPolicy } from '../../platform/operations/maintenance/retention-store.ts'
import { deletesAuditEventsSql } from './store.ts'

/** Events of the audit log that are older than this many days. */
export const expiredAuditEvents = (days: number): RetentionPolicy => ({
  name: 'audit events',
  table: 'audit_events',
  key: { id: 'uuid' },
  since: 'created_at',
  ttlSeconds: days * 24 * 60 * 60,
  setting: deletesAuditEventsSql,
})
