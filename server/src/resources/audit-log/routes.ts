import type { Route } from '../../platform/http/route.ts'
import { standardRoutes } from '../../platform/resource/routes.ts'
import { auditEventStore } from './store.ts'

export const auditLogRoutes: Route[] = standardRoutes(auditEventStore, {
  at: '/v5/audit-log',
  operations: ['list', 'count', 'get'],
})
