import type { Part } from '../../platform/http/part.ts'
import type { Route } from '../../platform/http/route.ts'
import type { Resource } from '../../platform/records/declare/define.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { companyTimeline, contactTimeline, dealTimeline } from './resource.ts'

const routesOf = (timeline: Resource, path: string, suffix: string): Route[] =>
  standardRoutes(standardStore(timeline), { path, operations: ['list', 'count', 'get'], suffix })

export const timelinePart: Part = {
  routes: [
    ...routesOf(contactTimeline, '/v5/contacts/{contactId}/timeline', 'OfContact'),
    ...routesOf(companyTimeline, '/v5/companies/{companyId}/timeline', 'OfCompany'),
    ...routesOf(dealTimeline, '/v5/deals/{dealId}/timeline', 'OfDeal'),
  ],
  headings: {
    'timeline-entries':
      'What has happened to a contact, a company or a deal, in one order: notes, tasks, changes of fields, imports and moves between stages. The timeline of a company includes its contacts and deals.',
  },
  roleGroups: { 'timeline-entry': 'visible' },
}
