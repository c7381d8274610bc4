import { standardRoutes } from '../../platform/resource/routes.ts'
import { campaignStore } from './store.ts'

export const campaignRoutes = standardRoutes(campaignStore, { at: '/v5/campaigns' })
