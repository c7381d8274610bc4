import type { Part } from '../../platform/http/part.ts'
import type { Route, WriteRequest } from '../../platform/http/route.ts'
import { standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { notes } from './resource.ts'
import { allNoteStore, noteStoreUnder } from './store.ts'

/** Lets new texts be analysed at once. */
const wakingAnalysis = (route: Route): Route =>
  route.kind === 'write'
    ? {
        ...route,
        handle: async (request: WriteRequest) => ({
          ...(await route.handle(request)),
          afterCommit: () => request.services.noteAnalysis.wake(request.db.organizationId),
        }),
      }
    : route

export const notePart: Part = {
  resources: [notes],
  routes: [
    // Without `create`: a note is created under its contact, company or deal.
    ...standardRoutes(allNoteStore, {
      path: '/v5/notes',
      operations: ['list', 'count', 'get', 'update', 'delete', 'restore'],
    }),
    ...standardRoutes(noteStoreUnder('contactId'), { path: '/v5/contacts/{contactId}/notes', suffix: 'OfContact' }),
    ...standardRoutes(noteStoreUnder('companyId'), { path: '/v5/companies/{companyId}/notes', suffix: 'OfCompany' }),
    ...standardRoutes(noteStoreUnder('dealId'), { path: '/v5/deals/{dealId}/notes', suffix: 'OfDeal' }),
  ].map(wakingAnalysis),
}
