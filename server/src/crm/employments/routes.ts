import type { Part } from '../../platform/http/part.ts'
import { standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { employments } from './resource.ts'
import { employmentStore } from './store.ts'

export const employmentPart: Part = {
  resources: [employments],
  routes: standardRoutes(employmentStore, { path: '/v5/contacts/{contactId}/employments' }),
}
