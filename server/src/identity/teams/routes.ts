import type { Part } from '../../platform/http/part.ts'
import { standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { teams } from './resource.ts'
import { teamStore } from './store.ts'

export const teamPart: Part = {
  resources: [teams],
  routes: standardRoutes(teamStore, { path: '/v5/teams' }),
}
