import { invalidBody } from '../../platform/model/errors.ts'
import { document } from '../../platform/records/declare/object-fields.ts'
import { bodyShapeOf } from '../../platform/records/request/body.ts'
import { type Lead, pushExample, parsePush } from '../payload/payload.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** The body of a correction of a row, and of an acceptance of a refused push. */
export const correctedPayload = bodyShapeOf({
  payload: document({
    label: 'Payload',
    description: 'The whole corrected payload, as in a push',
    required: true,
    schema: { type: 'object', additionalProperties: true, examples: [pushExample] },
  }),
})

/** Errors: 422, which names fields as `payload.contact.email`. */
export function parseCorrectedPush(payload: JsonObject): Lead {
  const read = parsePush(payload, {})
  if ('errors' in read)
    throw invalidBody(read.errors.map(({ field, message }) => ({ field: `payload.${field}`, message })))
  return read.lead
}
