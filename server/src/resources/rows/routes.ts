import type { Route, WriteRequest, WriteRoute } from '../../platform/http/route.ts'
import { readChange } from '../../platform/query/parse.ts'
import type { Schema } from '../../platform/resource/fields.ts'
import { changeOne, Place, standardRoutes } from '../../platform/resource/routes.ts'
import { changeRows, mostChanged, retried, type RowAction, rowDetailsStore, rowStore } from './store.ts'

const at = '/v5/imports/{importId}/rows'
const place = new Place(rowDetailsStore, at)
const most = mostChanged.toLocaleString('en')

const changedSchema: Schema = {
  type: 'object',
  required: ['dryRun', 'count', 'remaining'],
  additionalProperties: false,
  properties: {
    dryRun: { type: 'boolean', description: 'True when nothing was changed.' },
    count: { type: 'integer', minimum: 0, description: 'Rows that were changed; of a dry run, that would be.' },
    remaining: { type: 'integer', minimum: 0, description: 'Rows that are left for the next call.' },
  },
}

/** A change of every row that the query selects. */
const byFilter = (action: RowAction, summary: string, description: string): WriteRoute => ({
  kind: 'write',
  method: 'POST',
  path: `${at}/${action}`,
  operation: place.operation(action, true),
  summary,
  description: `${description} Takes the filters of the list. One call changes at most ${most} rows, the oldest first: repeat it, with an Idempotency-Key of its own each time, while \`remaining\` is not 0.`,
  tag: place.tag,
  params: place.collectionParams,
  scope: place.scope(action, 'write'),
  query: { kind: 'change', resource: rowStore.resource },
  conditional: false,
  audited: action === 'retry' ? 'rows.retried' : 'rows.cancelled',
  answers: { 200: { kind: 'schema', component: 'RowsChanged', schema: changedSchema } },
  async handle({ db, params, query }) {
    const request = readChange(rowStore.resource, query)
    const changed = await changeRows(db, params.importId ?? '', action, request)
    const { count } = changed
    const effect = request.dryRun || count === 0 ? 'none' : { details: { count } }
    return { status: 200, text: JSON.stringify({ dryRun: request.dryRun, ...changed }), effect }
  },
})

export const rowRoutes: Route[] = [
  ...standardRoutes(rowStore, { at, operations: ['list', 'count'] }),
  byFilter(
    'retry',
    'Retry rows',
    'Puts back into the queue what came to an end other than well (`PARTIAL`, `INVALID`, `CONFLICT`, `DEAD`, `CANCELLED`) and what waits for another attempt (`RETRYING`); other rows are not counted.',
  ),
  byFilter(
    'cancel',
    'Cancel rows',
    'Takes out of the queue what waits in it (`PENDING`, `RETRYING`); other rows are not counted.',
  ),
  ...standardRoutes(rowDetailsStore, { at, operations: ['get'] }),
  {
    ...place.change('retry'),
    summary: 'Retry a row',
    description:
      'Puts a row back into the queue that came to an end other than well (`PARTIAL`, `INVALID`, `CONFLICT`, `DEAD`, `CANCELLED`), or that waits for another attempt (`RETRYING`). Its errors and warnings are forgotten; what it made or changed stays, and is told with what it does next.',
    audited: 'row.retried',
    handle: (request: WriteRequest) => changeOne(place, request, { values: {}, columns: retried }),
  },
]
