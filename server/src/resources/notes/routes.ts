import type { Part } from '../../platform/http/part.ts'
import { standardRoutes } from '../../platform/routes/standard-routes.ts'
import { notes } from './resource.ts'
import { allNoteStore, noteStore } from './store.ts'

export const notePart: Part = {
  resources: [notes],
  routes: [
    // Without `create`: a note is created under its contact.
    ...standardRoutes(allNoteStore, {
      path: '/v5/notes',
      operations: ['list', 'count', 'get', 'update', 'delete', 'restore'],
    }),
    ...standardRoutes(noteStore, { path: '/v5/contacts/{contactId}/notes', suffix: 'OfContact' }),
  ],
}
