import type { Part } from '../../platform/http/part.ts'
import { standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { moveRoute } from './move-route.ts'
import { dealContacts, deals } from './resource.ts'
import { dealContactStore, dealStore } from './store.ts'
import { summaryRoutes } from './summary-routes.ts'

export const dealPart: Part = {
  resources: [deals, dealContacts],
  routes: [
    ...standardRoutes(dealStore, { path: '/v5/deals' }),
    ...summaryRoutes,
    moveRoute,
    ...standardRoutes(dealContactStore, { path: '/v5/deals/{dealId}/contacts' }),
  ],
}
