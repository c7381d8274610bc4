import type { Part } from '../../platform/http/part.ts'
import { standardStore } from '../../platform/resource/store.ts'
import { standardRoutes } from '../../platform/routes/standard-routes.ts'
import { auditEventsWith } from './resource.ts'

/** The audit log is only read here: `recordEvent` is what adds to it. */
export function auditLogPart(actions: readonly string[]): Part {
  const auditEvents = auditEventsWith(actions)
  const routes = standardRoutes(standardStore(auditEvents), {
    path: '/v5/audit-log',
    operations: ['list', 'count', 'get'],
  })
  return { resources: [auditEvents], routes }
}
