import type { Part } from '../../platform/http/part.ts'
import type { WriteRequest } from '../../platform/http/route.ts'
import { changeOne, Place, standardRoutes } from '../../platform/routes/standard-routes.ts'
import { contacts } from './resource.ts'
import { contactStore, teamContactStore } from './store.ts'

const place = new Place(contactStore, '/v5/contacts')

export const contactPart: Part = {
  resources: [contacts],
  routes: [
    ...standardRoutes(contactStore, { at: place.at }),
    {
      ...place.change('block'),
      summary: 'Block a contact',
      description: 'Sets `blockedAt`. If the contact is already blocked, nothing changes.',
      handle: (request: WriteRequest) =>
        changeOne(place, request, {
          values: {},
          columns: ({ blockedAt }) => (blockedAt === null ? { blocked_at: 'now' } : {}),
        }),
    },
    {
      ...place.change('block'),
      method: 'DELETE',
      operation: 'unblockContact',
      summary: 'Unblock a contact',
      handle: (request: WriteRequest) =>
        changeOne(place, request, {
          values: {},
          columns: ({ blockedAt }) => (blockedAt === null ? {} : { blocked_at: null }),
        }),
    },
    ...standardRoutes(teamContactStore, {
      at: '/api/teams/{teamId}/contacts',
      operations: ['list', 'count', 'get', 'update'],
      suffix: 'OfTeam',
    }),
  ],
}
