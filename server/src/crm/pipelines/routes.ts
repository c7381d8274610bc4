import type { Part } from '../../platform/http/part.ts'
import { standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { pipelines } from './resource.ts'
import { pipelineStore } from './store.ts'

export const pipelinePart: Part = {
  resources: [pipelines],
  routes: standardRoutes(pipelineStore, { path: '/v5/pipelines' }),
}
