import type { RetentionPolicy } from '../../platform/maintenance/retention-store.ts'
import { sql } from '../../platform/model/sql.ts'

/** Read by the trigger that protects the audit log from everything else; it ends with the transaction. */
export const deletesAuditEventsSql = sql`set_config('rapport.deletes_audit_events', 'on', true)`

/** Events of the audit log that are older than this many days. */
export const expiredAuditEvents = (days: number): RetentionPolicy => ({
  name: 'audit events',
  table: 'audit_events',
  key: { id: 'uuid' },
  since: 'created_at',
  ttlSeconds: days * 24 * 60 * 60,
  setting: deletesAuditEventsSql,
})
