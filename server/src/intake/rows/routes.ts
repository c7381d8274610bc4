import type { Part } from '../../platform/http/part.ts'
import type { WriteRequest, WriteRoute } from '../../platform/http/route.ts'
import { parseChange } from '../../platform/records/page/parse.ts'
import { changeOne, RouteGroup, standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { rowDetails } from './resource.ts'
import { changeRows, maxChangedRows, retryColumns, type RowAction, rowDetailsStore, rowStore } from './store.ts'
import type { Schema } from '../../platform/model/json.ts'

const at = '/v5/imports/{importId}/rows'
const group = new RouteGroup(rowDetailsStore, at)
const maxChanged = maxChangedRows.toLocaleString('en')

const changedSchema: Schema = {
  type: 'object',
  required: ['dryRun', 'count', 'remaining'],
  additionalProperties: false,
  properties: {
    dryRun: { type: 'boolean', description: 'True if this was a dry run, which changes nothing.' },
    count: {
      type: 'integer',
      minimum: 0,
      description: 'Number of rows changed; for a dry run, the number that would be changed.',
    },
    remaining: { type: 'integer', minimum: 0, description: 'Number of matching rows left for the next call.' },
  },
}

/** An action on all rows that the query selects. */
const byFilter = (action: RowAction, summary: string, description: string): WriteRoute => ({
  kind: 'write',
  method: 'POST',
  path: `${at}/${action}`,
  operation: group.operation(action, true),
  summary,
  description: `${description} Supports the filters of the list. One call changes at most ${maxChanged} rows, oldest first. Repeat it, with a new Idempotency-Key each time, until \`remaining\` is 0.`,
  tag: group.tag,
  params: group.collectionParams,
  scope: group.scope(action, 'write'),
  query: { kind: 'change', resource: rowStore.resource },
  supportsIfMatch: false,
  audited: action === 'retry' ? 'rows.retried' : 'rows.cancelled',
  responses: { 200: { kind: 'schema', component: 'RowsChanged', schema: changedSchema } },
  async handle({ services, db, params, query }) {
    const request = parseChange(rowStore.resource, query)
    const changed = await changeRows(db, params.importId ?? '', action, request)
    const { count } = changed
    const effect = request.dryRun || count === 0 ? 'none' : { details: { count } }
    return {
      status: 200,
      text: JSON.stringify({ dryRun: request.dryRun, ...changed }),
      effect,
      ...(action === 'retry' && { afterCommit: () => services.importWork.wake(db.organizationId) }),
    }
  },
})

export const rowPart: Part = {
  resources: [rowDetails],
  routes: [
    ...standardRoutes(rowStore, { path: at, operations: ['list', 'count'] }),
    byFilter(
      'retry',
      'Retry rows',
      'Queues unsuccessful rows again (`PARTIAL`, `INVALID`, `CONFLICT`, `DEAD`, `CANCELLED`, `RETRYING`); other rows are not counted.',
    ),
    byFilter('cancel', 'Cancel rows', 'Cancels waiting rows (`PENDING`, `RETRYING`); other rows are not counted.'),
    ...standardRoutes(rowDetailsStore, { path: at, operations: ['get'] }),
    {
      ...group.changeRoute('retry'),
      summary: 'Retry a row',
      description:
        'Queues an unsuccessful row again (`PARTIAL`, `INVALID`, `CONFLICT`, `DEAD`, `CANCELLED`, `RETRYING`). Its errors and warnings are cleared. Records that it created or changed stay, and its `changes` continue.',
      audited: 'row.retried',
      handle: async (request: WriteRequest) => ({
        ...(await changeOne(group, request, { values: {}, columns: retryColumns })),
        afterCommit: () => request.services.importWork.wake(request.db.organizationId),
      }),
    },
  ],
}
