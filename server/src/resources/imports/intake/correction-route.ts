import { writeRoute } from '../../../platform/http/route.ts'
import { invalidBody } from '../../../platform/model/errors.ts'
import { document } from '../../../platform/model/object-fields.ts'
import { bodyShapeOf } from '../../../platform/resource/body.ts'
import { changeOne, RouteGroup } from '../../../platform/routes/standard-routes.ts'
import { correctColumns, replacePayload, rowDetailsStore } from '../../rows/store.ts'
import { assertMayPush } from '../store.ts'
import { addressOf, pushExample, readPush } from '../payload/payload.ts'

const group = new RouteGroup(rowDetailsStore, '/v5/imports/{importId}/rows')

const correction = bodyShapeOf({
  payload: document({
    label: 'Payload',
    description: 'The whole corrected payload, as in a push',
    required: true,
    schema: { type: 'object', additionalProperties: true, examples: [pushExample] },
  }),
})

/** Corrects the payload of a row: a second push in place of the first one, with the response of a REST request. */
export const correctionRoute = writeRoute({
  ...group.changeRoute('update'),
  summary: 'Correct a row',
  description:
    'Replaces the payload of an unsuccessful row (`PARTIAL`, `INVALID`, `CONFLICT`, `DEAD`, `CANCELLED`) and queues it again, as a retry does. The payload is validated like a push. A contact that the row has already created is changed, and no second one is created.',
  body: { component: 'ImportRowCorrection', shape: correction, required: true },
  audited: 'row.corrected',
  async handle(request) {
    const { db, params, body } = request
    const read = readPush(body.payload, {})
    if ('faults' in read)
      throw invalidBody(read.faults.map(({ field, message }) => ({ field: `payload.${field}`, message })))
    assertMayPush(db)
    await replacePayload(db, group.id(params), { payload: body.payload, email: addressOf(read.lead) })
    const response = await changeOne(group, request, { values: {}, columns: correctColumns })
    return {
      ...response,
      effect: { fields: ['payload'] },
      afterCommit: () => request.services.importWork.wake(db.organizationId),
    }
  },
})
