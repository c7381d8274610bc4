import type { FastifyReply, FastifyRequest } from 'fastify'
import { sha256 } from '../../../platform/secret/encryption.ts'
import type { JsonValue } from '../../../platform/model/fields.ts'
import { readId, showId } from '../../../platform/model/ids.ts'
import { ApiError } from '../../../platform/model/errors.ts'
import {
  charge,
  nilUuid,
  type RequestContext,
  singleHeader,
  requestTarget,
} from '../../../platform/http/request-context.ts'
import { checkIdempotencyKey, requestHash } from '../../../platform/http/idempotency.ts'
import { type PushKey, type Trigger, TriggerClosed } from './push.ts'
import { type QueryParameter, readQuery } from '../../../platform/query/query-string.ts'
import { addressKey } from '../../../platform/http/rate-limit.ts'
import { readBytes } from '../../../platform/http/request-body.ts'
import type { RouteResponse, Serve, Services } from '../../../platform/http/route.ts'
import { imports } from '../resource.ts'

/** A push with a valid secret. */
export interface PushRequest {
  services: Services
  trigger: Trigger
  query: readonly QueryParameter[]
  bytes: Uint8Array
  /** Creates the push key from the Idempotency-Key header and the parsed payload; undefined without the header. */
  keyOf: ((payload: JsonValue) => PushKey) | undefined
}

type Handle = (request: PushRequest) => Promise<RouteResponse>

/** Handles a push: checks the secret in its path, the rate limit, the query and the body; then `handle` stores it. */
export const servePush =
  (handle: Handle): Serve =>
  async (services, request, reply, progress) => {
    const { importId = '', hash = '' } = request.params as Record<string, string | undefined>
    const trigger = await services.intake.find(readId(imports.idPrefix, importId) ?? nilUuid, hash)
    if (!trigger) throw await unknownTrigger(services, request, reply, progress)
    progress.organization = showId('org', trigger.organizationId)
    progress.credential = showId(imports.idPrefix, trigger.importId)
    try {
      await charge(services, reply, progress, 'push', trigger.importId)
      const response = await handlePush(handle, services, request, trigger)
      services.refusals.accepted(request, trigger)
      return response
    } catch (error) {
      // A cached import that has been disabled since must give the same response as an unknown one.
      if (await isClosed(services, trigger, error)) throw await unknownTrigger(services, request, reply, progress)
      throw error
    }
  }

/** Records a push that was answered with an error, unless its URL is invalid or the service could not do its work. */
export function recordRefusal({ intake, refusals }: Services, request: FastifyRequest, error: ApiError): void {
  if (error.status === 404 || error.status >= 500) return
  const { importId = '', hash = '' } = request.params as Record<string, string | undefined>
  const find = async () => {
    const trigger = await intake.find(readId(imports.idPrefix, importId) ?? nilUuid, hash)
    return trigger && (await intake.isOpen(trigger)) ? trigger : undefined
  }
  refusals.refused(request, hash, find, error)
}

async function handlePush(
  handle: Handle,
  services: Services,
  request: FastifyRequest,
  trigger: Trigger,
): Promise<RouteResponse> {
  const url = requestTarget(request)
  const query = readQuery(url)
  const header = singleHeader(request, 'idempotency-key')
  if (header !== undefined) checkIdempotencyKey(header)
  const bytes = await readBytes({ kind: 'push' }, request)
  const keyOf = header === undefined ? undefined : pushKey(header, url)
  return handle({ services, trigger, query, bytes, keyOf })
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
async function unknownTrigger(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  progress: RequestContext,
): Promise<ApiError> {
  await charge(services, reply, progress, 'key', addressKey(request.address))
  return new ApiError(
    'not_found',
    'No import accepts pushes at this URL. Check the URL, and whether the import is enabled.',
  )
}
