import type { Part } from '../../platform/http/part.ts'
import type { WriteRequest } from '../../platform/http/route.ts'
import { id } from '../../platform/records/declare/fields.ts'
import { closedObject, dailyStatisticsRoute } from '../../platform/records/routes/daily-statistics.ts'
import { changeOne, RouteGroup, standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { contacts, contactSources } from './resource.ts'
import { readContactStatistics } from './statistics-store.ts'
import { contactStore, teamContactStore } from './store.ts'
import type { Schema } from '../../platform/model/json.ts'

const group = new RouteGroup(contactStore, '/v5/contacts')

const count = { type: 'integer', minimum: 1 }
const orNull = (schema: Schema): Schema => ({ ...schema, type: ['string', 'null'] })

const statisticsRoute = dailyStatisticsRoute({
  resource: contacts,
  path: `${group.path}/statistics`,
  summary: 'Count new contacts by day, and all contacts by country',
  description:
    'For charts: the contacts created on each local day by source and import, and the countries of all contacts, without deleted contacts.',
  counts: {
    type: 'array',
    items: closedObject({
      source: { type: ['string', 'null'], enum: [...contactSources, null] },
      importId: orNull(id('imp').schema),
      count,
    }),
  },
  others: { countries: { type: 'array', items: closedObject({ countryCode: { type: ['string', 'null'] }, count }) } },
  read: readContactStatistics,
})

export const contactPart: Part = {
  resources: [contacts],
  routes: [
    ...standardRoutes(contactStore, { path: group.path }),
    statisticsRoute,
    {
      ...group.changeRoute('block'),
      summary: 'Block a contact',
      description: 'Sets `blockedAt`. If the contact is already blocked, nothing changes.',
      handle: (request: WriteRequest) =>
        changeOne(
          group,
          request,
          { values: {}, columns: ({ blockedAt }) => (blockedAt === null ? { blocked_at: 'now' } : {}) },
          request,
        ),
    },
    {
      ...group.changeRoute('block'),
      method: 'DELETE',
      operation: 'unblockContact',
      summary: 'Unblock a contact',
      handle: (request: WriteRequest) =>
        changeOne(
          group,
          request,
          { values: {}, columns: ({ blockedAt }) => (blockedAt === null ? {} : { blocked_at: null }) },
          request,
        ),
    },
    ...standardRoutes(teamContactStore, {
      path: '/api/teams/{teamId}/contacts',
      operations: ['list', 'count', 'get', 'update'],
      suffix: 'OfTeam',
    }),
  ],
}
