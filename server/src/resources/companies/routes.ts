import { standardRoutes } from '../../platform/resource/routes.ts'
import { companyStore } from './store.ts'

export const companyRoutes = standardRoutes(companyStore, { at: '/v5/companies' })
