import type { FastifyRequest } from 'fastify'
import { sha256 } from '../../platform/secret/encryption.ts'
import { decodeId, encodeId } from '../../platform/model/ids.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { charge, nilUuid } from '../../platform/http/request-context.ts'
import { isIdempotencyKey, requestHash } from '../../platform/http/effects/idempotency.ts'
import { type Parameters, type PushKey, type Trigger, TriggerClosed } from './push.ts'
import type { ContentHeaders } from './push-body.ts'
import type { QueryParameter } from '../../platform/records/request/query-string.ts'
import { addressKey } from '../../platform/http/limits/rate-limit.ts'
import { isPlaceholder } from '../../platform/model/placeholders.ts'
import { readBytes } from '../../platform/http/limits/request-body.ts'
import type { Content, Enter, Exchange, RouteResponse, Services } from '../../platform/http/route.ts'
import { imports } from '../imports/resource.ts'
import { singleHeader } from '../../platform/http/protocol/header.ts'
import type { JsonValue } from '../../platform/model/json.ts'

/** A push with a valid secret. */
export interface PushRequest {
  services: Services
  trigger: Trigger
  parameters: Parameters
  headers: ContentHeaders
  bytes: Uint8Array
  /** Creates the push key from the Idempotency-Key header and the parsed payload; undefined without the header. */
  keyOf: ((payload: JsonValue) => PushKey) | undefined
}

type Handle = (request: PushRequest) => Promise<RouteResponse>

/** Lets in a push with a valid secret in its path; then `handle` stores it. */
export const enterPush =
  (handle: Handle): Enter =>
  async (exchange) => {
    const { services, request, requestContext } = exchange
    const { importId = '', hash = '' } = request.params as Record<string, string | undefined>
    const trigger = await services.intake.find(decodeId(imports.idPrefix, importId) ?? nilUuid, hash)
    if (!trigger) throw await unknownTrigger(exchange)
    requestContext.organization = encodeId('org', trigger.organizationId)
    requestContext.credential = encodeId(imports.idPrefix, trigger.importId)
    // Pushes are not in the turn of the organization's people, who would wait for its senders.
    requestContext.setTenant(`pushes of ${trigger.organizationId}`)
    // A cached import that has been disabled since must give the same response as an unknown one.
    const reasonFor = async (error: unknown) =>
      (await isClosed(services, trigger, error)) ? unknownTrigger(exchange) : error
    try {
      await charge(exchange, 'push', trigger.importId)
      // Before the body is read.
      await services.intake.checkQuota(trigger)
    } catch (error) {
      throw await reasonFor(error)
    }
    return {
      reasonFor,
      async run(content) {
        const response = await handlePush(handle, services, request, trigger, content)
        services.refusals.accepted(request, trigger)
        return response
      },
    }
  }

/** Records a push that was answered with an error, unless its URL is invalid or the service could not do its work. */
export function recordRefusal({ intake, refusals }: Services, request: FastifyRequest, error: ApiError): void {
  if (error.status === 404 || error.status >= 500) return
  const { importId = '', hash = '' } = request.params as Record<string, string | undefined>
  const find = async () => {
    const trigger = await intake.find(decodeId(imports.idPrefix, importId) ?? nilUuid, hash)
    return trigger && (await intake.isOpen(trigger)) ? trigger : undefined
  }
  refusals.refused(request, hash, find, error)
}

async function handlePush(
  handle: Handle,
  services: Services,
  request: FastifyRequest,
  trigger: Trigger,
  { query, url }: Content,
): Promise<RouteResponse> {
  const header = singleHeader(request, 'idempotency-key')
  const isUsable = header !== undefined && isIdempotencyKey(header) && !isPlaceholder(header)
  const parameters = parametersOf(query, header !== undefined && !isUsable)
  const bytes = await readBytes({ kind: 'push' }, request)
  const keyOf = isUsable ? pushKey(header, url) : undefined
  const headers = {
    contentType: singleHeader(request, 'content-type'),
    contentEncoding: singleHeader(request, 'content-encoding'),
  }
  return handle({ services, trigger, parameters, headers, bytes, keyOf })
}

/** A repeated parameter becomes a list of its values. */
function parametersOf(query: readonly QueryParameter[], ignoresKey: boolean): Parameters {
  const values = new Map<string, string | string[] | null>()
  for (const { name, value } of query) {
    const known = values.get(name)
    if (Array.isArray(known)) known.push(value)
    else values.set(name, typeof known === 'string' ? [known, value] : value)
  }
  if (ignoresKey) values.set('Idempotency-Key', null)
  // Not by assignment: `__proto__` is a valid name here.
  return Object.fromEntries(values)
}

/** The secret is not part of the hash, so that a push may be repeated at the new URL after a rotation. */
function pushKey(header: string, url: string): (payload: JsonValue) => PushKey {
  const start = url.indexOf('?')
  const query = start < 0 ? '' : url.slice(start)
  return (payload) => ({
    keyHash: sha256(header),
    requestHash: requestHash('POST', query, payload),
  })
}

async function isClosed(services: Services, trigger: Trigger, error: unknown): Promise<boolean> {
  if (error instanceof TriggerClosed) return true
  return error instanceof ApiError && error.status < 500 && !(await services.intake.isOpen(trigger))
}

/** The same response for any invalid URL. Only failed attempts are charged to the address. */
async function unknownTrigger(exchange: Exchange): Promise<ApiError> {
  await charge(exchange, 'key', addressKey(exchange.request.address))
  return new ApiError(
    'not_found',
    'No import accepts pushes at this URL. Check the URL, and whether the import is enabled.',
  )
}
