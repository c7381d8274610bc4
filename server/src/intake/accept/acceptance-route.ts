import { isDeepStrictEqual } from 'node:util'
import { writeRoute } from '../../platform/http/route.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { readRecord } from '../../platform/records/page/read.ts'
import { changeOne, RouteGroup } from '../../platform/records/routes/standard-routes.ts'
import { lockRefusedPush, refusedPushDetailsStore, withOpenBody } from '../refused-pushes/store.ts'
import { rowDetails } from '../rows/resource.ts'
import { findPayload, insertRow } from '../rows/store.ts'
import { addressOf } from '../payload/payload.ts'
import { assertMayPush } from '../imports/store.ts'
import { correctedPayload, parseCorrectedPush } from './corrected-payload.ts'

const group = new RouteGroup(refusedPushDetailsStore, '/v5/imports/{importId}/refused-pushes')

/** Accepts a refused push with a corrected payload: a second push instead of the first one. */
export const acceptanceRoute = writeRoute({
  ...group.changeRoute('accept'),
  summary: 'Accept a refused push',
  description:
    'Creates a row with the corrected payload, once; `rowId` names it from then on. The payload is validated like a push. If the push was already accepted with this payload, nothing changes; with another payload, the response is 409, and its row can be corrected.',
  body: { component: 'RefusedPushAcceptance', shape: correctedPayload, required: true },
  audited: 'refused-push.accepted',
  errors: [409],
  async handle(request) {
    const { services, db, params, body } = request
    const lead = parseCorrectedPush(body.payload)
    assertMayPush(db)
    const [id, importId] = [group.id(params), params.importId ?? '']
    const { rowId: known } = await lockRefusedPush(db, { id, importId })
    if (known !== null) {
      if (!isDeepStrictEqual(await findPayload(db, known), body.payload)) throw alreadyAccepted(known)
      const { text, revision } = await readRecord(db, group.resource, id, { parentId: importId })
      return { status: 200, text: withOpenBody(services.secret, id, text), revision, effect: 'none' }
    }
    const rowId = await insertRow(db, { importId, payload: body.payload, email: addressOf(lead) })
    const columns = () => ({ row_id: rowId, accepted_at: 'now' })
    const response = await changeOne(group, request, { values: {}, columns })
    return {
      ...response,
      text: withOpenBody(services.secret, id, response.text ?? ''),
      effect: { fields: ['rowId'], details: { rowId: encodeId(rowDetails.idPrefix, rowId) } },
      afterCommit: () => services.importWork.wake(db.organizationId),
    }
  },
})

function alreadyAccepted(rowId: string): ApiError {
  const id = encodeId(rowDetails.idPrefix, rowId)
  const message = `was already accepted as ${id}; correct that row instead`
  return new ApiError('already_decided', `This push ${message}.`, { details: [{ field: 'payload', message }] })
}
