import type { Part } from '../../platform/http/part.ts'
import { standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { tasks } from './resource.ts'
import { taskStore } from './store.ts'

export const taskPart: Part = {
  resources: [tasks],
  routes: standardRoutes(taskStore, { path: '/v5/tasks' }),
}
