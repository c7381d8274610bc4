import type { Part } from '../../platform/http/part.ts'
import { standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { companies } from './resource.ts'
import { companyStore } from './store.ts'

export const companyPart: Part = {
  resources: [companies],
  routes: standardRoutes(companyStore, { path: '/v5/companies' }),
}
