import { standardRoutes } from '../../platform/resource/routes.ts'
import { teamStore } from './store.ts'

export const teamRoutes = standardRoutes(teamStore, { at: '/v5/teams' })
