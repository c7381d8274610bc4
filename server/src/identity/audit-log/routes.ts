import type { Part } from '../../platform/http/part.ts'
import { standardStore } from '../../platform/resource/store.ts'
import { standardRoutes } from '../../platform/routes/standard-routes.ts'
import { auditEventsWith } from './resource.ts'

/** Read-only: events are added by `recordEvent`. */
export function auditLogPart(actions: readonly string[]): Part {
  const auditEvents = auditEventsWith(actions)
  const routes = standardRoutes(standardStore(auditEvents), {
    path: '/v5/audit-log',
    operations: ['list', 'count', 'get'],
  })
  return { resources: [auditEvents], routes }
}
