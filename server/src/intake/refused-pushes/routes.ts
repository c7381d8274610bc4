import type { Part } from '../../platform/http/part.ts'
import type { ReadRoute, WriteRequest } from '../../platform/http/route.ts'
import { parseOne } from '../../platform/records/page/parse.ts'
import { readRecord } from '../../platform/records/page/read.ts'
import { RouteGroup, standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { refusedPushDetails } from './resource.ts'
import { deleteRefusedPush, refusedPushDetailsStore, refusedPushStore, withOpenBody } from './store.ts'

const at = '/v5/imports/{importId}/refused-pushes'
const group = new RouteGroup(refusedPushDetailsStore, at)

const getRoute: ReadRoute = {
  kind: 'read',
  method: 'GET',
  path: group.recordPath,
  operation: group.operation('get'),
  summary: 'Get a refused push',
  description: 'With its `body`, which may contain anything that the sender knows about a person.',
  tag: group.tag,
  params: group.recordParams,
  scope: group.scope('get', 'read'),
  query: { kind: 'one', resource: refusedPushDetails },
  responses: { 200: group.record },
  async handle({ services, db, params, query }) {
    const id = group.id(params)
    const selection = parseOne(refusedPushDetails, query)
    const { text, revision } = await readRecord(db, refusedPushDetails, id, {
      parentId: group.parentId(params),
      selection,
    })
    return { status: 200, text: withOpenBody(services.secret, id, text), revision }
  },
}

export const refusedPushPart: Part = {
  resources: [refusedPushDetails],
  routes: [
    ...standardRoutes(refusedPushStore, { path: at, operations: ['list', 'count'] }),
    getRoute,
    {
      ...group.changeRoute('delete'),
      audited: 'refused-push.deleted',
      supportsIfMatch: false,
      summary: 'Delete a refused push',
      description: 'It cannot be restored. If it was accepted, its row stays.',
      async handle({ db, params }: WriteRequest) {
        await deleteRefusedPush(db, { id: group.id(params), importId: group.parentId(params) ?? '' })
        return { status: 204 }
      },
    },
  ],
}
