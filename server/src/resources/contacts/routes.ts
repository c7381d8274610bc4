import type { Route, WriteRequest } from '../../platform/http/route.ts'
import { changeOne, Place, standardRoutes } from '../../platform/resource/routes.ts'
import { contactStore, teamContactStore } from './store.ts'

const place = new Place(contactStore, '/v5/contacts')

export const contactRoutes: Route[] = [
  ...standardRoutes(contactStore, { at: place.at }),
  {
    ...place.change('block'),
    summary: 'Block a contact',
    description: 'Sets `blockedAt`. A contact that is blocked already keeps its time.',
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
]
