import type { Part } from '../../platform/http/part.ts'
import { standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { decisionRoutes } from './decision-routes.ts'
import { optOutRoutes } from './opt-outs-routes.ts'
import { noteAnalyses, suggestions } from './resource.ts'
import { statisticsRoute } from './statistics-route.ts'
import { noteAnalysisStore, suggestionStore } from './store.ts'

export const suggestionPart: Part = {
  resources: [suggestions, noteAnalyses],
  routes: [
    ...standardRoutes(suggestionStore, { path: '/v5/suggestions', operations: ['list', 'count', 'get'] }),
    statisticsRoute,
    ...decisionRoutes,
    ...optOutRoutes,
    ...standardRoutes(noteAnalysisStore, { path: '/v5/note-analyses', operations: ['list', 'count', 'get'] }),
  ],
}
