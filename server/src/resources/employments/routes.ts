import { standardRoutes } from '../../platform/resource/routes.ts'
import { employmentStore } from './store.ts'

export const employmentRoutes = standardRoutes(employmentStore, { at: '/v5/contacts/{contactId}/employments' })
