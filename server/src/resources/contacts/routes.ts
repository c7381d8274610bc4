import type { Route, WriteRequest, WriteRoute } from '../../platform/http/route.ts'
import { changeOne, Place, standardRoutes } from '../../platform/resource/routes.ts'
import { contactStore, teamContactStore } from './store.ts'

const place = new Place(contactStore, '/v5/contacts')

const block = {
  kind: 'write',
  path: `${place.one}/block`,
  tag: place.tag,
  params: place.recordParams,
  scope: place.scope('block', 'write'),
  query: { kind: 'none' },
  conditional: true,
  answers: { 200: place.record },
} satisfies Partial<WriteRoute>

export const contactRoutes: Route[] = [
  ...standardRoutes(contactStore, { at: place.at }),
  {
    ...block,
    method: 'POST',
    operation: 'blockContact',
    summary: 'Block a contact',
    description: 'Sets `blockedAt`. A contact that is blocked already keeps its time.',
    handle: (request: WriteRequest) =>
      changeOne(place, request, {
        values: {},
        columns: ({ blockedAt }) => (blockedAt === null ? { blocked_at: 'now' } : {}),
      }),
  },
  {
    ...block,
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
