import { invalidParameters } from '../../platform/model/errors.ts'
import type { Push } from './push.ts'
import { parsePushBody } from './push-body.ts'
import type { PushRoute } from '../../platform/http/route.ts'
import { enterPush, type PushRequest, recordRefusal } from './enter-push.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { addressOf, pushExample, pushSchema, parsePush } from '../payload/payload.ts'

const acceptedSchema = {
  type: 'object',
  required: ['id', 'object', 'status', 'createdAt', 'updatedAt'],
  additionalProperties: false,
  properties: {
    id: { type: 'string', pattern: '^row_[0-9a-f]{32}$' },
    object: { type: 'string', enum: ['row'] },
    status: { type: 'string', enum: ['PENDING'] },
    createdAt: { type: 'string', format: 'date-time' },
    updatedAt: { type: 'string', format: 'date-time' },
  },
}

/** Where other systems send leads. */
export const pushRoute: PushRoute = {
  kind: 'push',
  method: 'POST',
  path: '/v5/imports/{importId}/trigger/{hash}',
  operation: 'pushLead',
  summary: 'Push a lead to an import',
  description: [
    'The path is the credential; the Authorization header is ignored. A 200 means that the push is durably stored. It is processed afterwards, and its row shows the result.',
    'Unknown fields and query parameters are stored and listed in the row’s warnings. The body is read as JSON whatever `Content-Type` says. Values of other JSON types are converted if that is certain; the guide to imports lists how. An invalid URL returns 404, whatever the reason.',
  ].join('\n\n'),
  tag: 'imports',
  params: { importId: { prefix: 'imp', resource: 'import' }, hash: { prefix: '', resource: 'import' } },
  query: { kind: 'none' },
  payload: { component: 'Push', schema: pushSchema, example: pushExample },
  responses: { 200: { kind: 'schema', component: 'AcceptedRow', schema: acceptedSchema } },
  usage: `Send the lead to this URL with POST and a JSON body, such as ${JSON.stringify({ contact: { email: 'ada@example.com' } })}.`,
  refused: recordRefusal,
  enter: enterPush(async ({ services, trigger, ...request }) => {
    const { parameters } = request
    const push = { parameters, ...validate(request) }
    const { id, createdAt, isReplay } = await services.intake.store(trigger, push)
    const time = createdAt.toISOString()
    const row = { id: encodeId('row', id), object: 'row', status: 'PENDING', createdAt: time, updatedAt: time }
    return { status: 200, text: JSON.stringify(row), headers: isReplay ? { 'idempotent-replayed': 'true' } : {} }
  }),
}

/**
 * A separate function, so that the parsed payload, several times the size of its text, is not kept in memory while the
 * push waits.
 */
function validate({
  parameters,
  bytes,
  headers,
  keyOf,
}: Omit<PushRequest, 'services' | 'trigger'>): Omit<Push, 'parameters'> {
  const body = parsePushBody(bytes, headers)
  const read = parsePush(body.payload, parameters)
  if ('errors' in read) throw invalidParameters(read.errors)
  return { payload: body.bytes, key: keyOf?.(body.payload), email: addressOf(read.lead) }
}
