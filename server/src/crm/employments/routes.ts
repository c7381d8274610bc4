import type { Part } from '../../platform/http/part.ts'
import { standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { employments } from './resource.ts'
import { employmentStore, listedEmploymentStore } from './store.ts'

export const employmentPart: Part = {
  resources: [employments],
  routes: [
    // Without `create`: an employment is created under its contact.
    ...standardRoutes(listedEmploymentStore, {
      path: '/v5/employments',
      operations: ['list', 'count', 'get', 'update', 'delete', 'restore'],
      suffix: 'OfAllContacts',
    }),
    ...standardRoutes(employmentStore, { path: '/v5/contacts/{contactId}/employments' }),
  ],
}
