import type { Part } from '../../platform/http/part.ts'
import type { WriteRoute } from '../../platform/http/route.ts'
import { invalidParameters } from '../../platform/model/errors.ts'
import { changeOne, RouteGroup, standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { stages } from './resource.ts'
import { emptyStage, stageStore } from './stage-store.ts'

const path = '/v5/pipelines/{pipelineId}/stages'
const group = new RouteGroup(stageStore, path)

const deleteRoute: WriteRoute = {
  ...group.changeRoute('delete'),
  summary: 'Delete a stage',
  description: `A stage with deals is deleted only if \`moveDealsTo\` names the stage, of any pipeline, that they move to; otherwise 423. It can be restored within ${stages.restorableDays} days, without its deals.`,
  query: {
    kind: 'parameters',
    parameters: { moveDealsTo: 'Id of the stage that the deals of this one move to.' },
    examples: { moveDealsTo: 'stg_019aa5b2c1d27e3fa4b5c6d7e8f90123' },
    allowsOthers: false,
  },
  errors: [400, 423],
  async handle(request) {
    const { db, query, params } = request
    const target = query.find(({ name }) => name === 'moveDealsTo')?.value
    if (target !== undefined && !(await emptyStage(db, group.id(params), target))) {
      throw invalidParameters([{ field: 'moveDealsTo', message: 'no other stage with this id exists' }])
    }
    await changeOne(group, request, { values: {}, lifecycle: 'delete' })
    return { status: 204 }
  },
}

export const stagePart: Part = {
  resources: [stages],
  routes: [
    ...standardRoutes(stageStore, { path, operations: ['list', 'count', 'get', 'create', 'update'] }),
    deleteRoute,
    ...standardRoutes(stageStore, { path, operations: ['restore'] }),
  ],
}
