import { standardRoutes } from '../../platform/resource/routes.ts'
import { noteStore } from './store.ts'

export const noteRoutes = standardRoutes(noteStore, { at: '/v5/contacts/{contactId}/notes' })
