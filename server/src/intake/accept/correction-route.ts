import { writeRoute } from '../../platform/http/route.ts'
import { changeOne, RouteGroup } from '../../platform/records/routes/standard-routes.ts'
import { correctColumns, replacePayload, rowDetailsStore } from '../rows/store.ts'
import { assertMayPush } from '../imports/store.ts'
import { addressOf } from '../payload/payload.ts'
import { correctedPayload, parseCorrectedPush } from './corrected-payload.ts'

const group = new RouteGroup(rowDetailsStore, '/v5/imports/{importId}/rows')

/** Corrects the payload of a row: a second push instead of the first one, with the response of a REST request. */
export const correctionRoute = writeRoute({
  ...group.changeRoute('update'),
  summary: 'Correct a row',
  description:
    'Replaces the payload of an unsuccessful row (`PARTIAL`, `INVALID`, `CONFLICT`, `DEAD`, `CANCELLED`), or of a successful one with warnings, and queues it again, as a retry does. The payload is validated like a push. A contact that the row has already created is changed, and no second one is created.',
  body: { component: 'ImportRowCorrection', shape: correctedPayload, required: true },
  audited: 'row.corrected',
  async handle(request) {
    const { db, params, body } = request
    const lead = parseCorrectedPush(body.payload)
    assertMayPush(db)
    await replacePayload(db, group.id(params), { payload: body.payload, email: addressOf(lead) })
    const response = await changeOne(group, request, { values: {}, columns: correctColumns })
    return {
      ...response,
      effect: { fields: ['payload'] },
      afterCommit: () => request.services.importWork.wake(db.organizationId),
    }
  },
})
