import { standardRoutes } from '../../platform/resource/routes.ts'
import { teamStore } from './store.ts'

export const teamRoutes = standardRoutes(teamStore, {
  at: '/v5/teams',
  audited: {
    create: 'team.created',
    update: 'team.updated',
    delete: 'team.deleted',
    restore: 'team.restored',
  },
})
