import { standardRoutes } from '../../platform/resource/routes.ts'
import { allNoteStore, noteStore } from './store.ts'

export const noteRoutes = [
  // Without `create`: a note is made where its contact is named.
  ...standardRoutes(allNoteStore, {
    at: '/v5/notes',
    operations: ['list', 'count', 'get', 'update', 'delete', 'restore'],
  }),
  ...standardRoutes(noteStore, { at: '/v5/contacts/{contactId}/notes', suffix: 'OfContact' }),
]
