import { inPages } from '../../platform/records/routes/array-pages.ts'
import type { Part } from '../../platform/http/part.ts'
import type { PublicRequest, PublicRoute, Route, SearchRequest } from '../../platform/http/route.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { auditActions } from './actions.ts'
import { auditEventsWith } from './resource.ts'
import { storePendingEvents } from './store.ts'

const actionsSchema = {
  type: 'array',
  items: {
    type: 'object',
    required: ['id', 'action', 'description'],
    additionalProperties: false,
    properties: {
      id: { type: 'string', description: 'The same as `action`, for pages' },
      action: { type: 'string', description: 'As in `action` of an event and in its filter' },
      description: { type: 'string', description: 'A sentence for people' },
    },
  },
}

/** Every action with its sentence, sorted by name. The same for everyone, like the API document, which lists them too. */
function actionsRoute(actions: Readonly<Record<string, string>>): PublicRoute {
  const listed = Object.entries(actions).map(([action, description]) => ({ id: action, action, description }))
  const text = JSON.stringify(listed.sort((left, right) => (left.action < right.action ? -1 : 1)))
  return {
    kind: 'public',
    host: 'api',
    method: 'GET',
    path: '/v5/audit-log/actions',
    operation: 'listAuditActions',
    summary: 'List the actions of the audit log, each with a sentence',
    tag: 'audit-log',
    params: {},
    query: { kind: 'array', item: actionsSchema.items },
    responses: { 200: { kind: 'schema', component: 'AuditActions', schema: actionsSchema } },
    handle: inPages<PublicRequest>(actionsSchema.items, async () => ({ status: 200, text })),
  }
}

/** The response includes all events committed before the request: those that are still pending are stored first. */
function withPendingEvents(route: Route): Route {
  if (route.kind !== 'read' && route.kind !== 'search')
    throw new Error(`${route.operation} does not read the audit log`)
  const handle = async (request: SearchRequest) => {
    await storePendingEvents(request.services.database, [request.db.organizationId])
    return route.handle(request)
  }
  return { ...route, handle }
}

/** Read-only: events are added by `recordEvent` and `recordPersonEvent`. `declared` are the actions of the resources, with their sentences. */
export function auditLogPart(declared: Readonly<Record<string, string>>): Part {
  const auditEvents = auditEventsWith(Object.keys(declared))
  const routes = standardRoutes(standardStore(auditEvents), {
    path: '/v5/audit-log',
    operations: ['list', 'count', 'get'],
  })
  return {
    resources: [auditEvents],
    routes: [actionsRoute({ ...auditActions, ...declared }), ...routes.map(withPendingEvents)],
  }
}
