import type { Part } from '../../platform/http/part.ts'
import type { WriteRequest } from '../../platform/http/route.ts'
import { changeOne, RouteGroup, standardRoutes } from '../../platform/routes/standard-routes.ts'
import { contacts } from './resource.ts'
import { contactStore, teamContactStore } from './store.ts'

const group = new RouteGroup(contactStore, '/v5/contacts')

export const contactPart: Part = {
  resources: [contacts],
  routes: [
    ...standardRoutes(contactStore, { path: group.path }),
    {
      ...group.changeRoute('block'),
      summary: 'Block a contact',
      description: 'Sets `blockedAt`. If the contact is already blocked, nothing changes.',
      handle: (request: WriteRequest) =>
        changeOne(group, request, {
          values: {},
          columns: ({ blockedAt }) => (blockedAt === null ? { blocked_at: 'now' } : {}),
        }),
    },
    {
      ...group.changeRoute('block'),
      method: 'DELETE',
      operation: 'unblockContact',
      summary: 'Unblock a contact',
      handle: (request: WriteRequest) =>
        changeOne(group, request, {
          values: {},
          columns: ({ blockedAt }) => (blockedAt === null ? {} : { blocked_at: null }),
        }),
    },
    ...standardRoutes(teamContactStore, {
      path: '/api/teams/{teamId}/contacts',
      operations: ['list', 'count', 'get', 'update'],
      suffix: 'OfTeam',
    }),
  ],
}
