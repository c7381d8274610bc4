import type { Part } from '../../platform/http/part.ts'
import { standardRoutes } from '../../platform/routes/standard-routes.ts'
import { notes } from './resource.ts'
import { allNoteStore, noteStoreUnder } from './store.ts'

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
  ],
}
