import type { Part } from '../../platform/http/part.ts'
import type { Relations } from '../../platform/records/declare/relations.ts'
import { standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { views } from './resource.ts'
import { viewStore } from './store.ts'

/** `relations`: those that filters can use. */
export const viewPart = (relations: Relations): Part => ({
  resources: [views],
  routes: standardRoutes(viewStore(relations), { path: '/v5/views' }),
})
