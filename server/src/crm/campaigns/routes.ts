import type { Part } from '../../platform/http/part.ts'
import { standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { campaigns } from './resource.ts'
import { campaignStore } from './store.ts'

export const campaignPart: Part = {
  resources: [campaigns],
  routes: standardRoutes(campaignStore, { path: '/v5/campaigns' }),
}
