import type { Part } from '../../platform/http/part.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { stageMoves } from './resource.ts'

export const stageMovePart: Part = {
  resources: [stageMoves],
  routes: standardRoutes(standardStore(stageMoves), {
    path: '/v5/deals/{dealId}/stage-moves',
    operations: ['list', 'count', 'get'],
  }),
}
