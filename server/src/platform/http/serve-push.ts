import type { FastifyReply, FastifyRequest } from 'fastify'
import { readId, showId } from '../resource/ids.ts'
import { ApiError } from './errors.ts'
import { charge, noRecord, type Progress, single, targetOf } from './exchange.ts'
import { readBytes } from './frame.ts'
import { checkIdempotencyKey, idempotencyKeyHash, requestHash } from './idempotency.ts'
import { type PushKey, type Trigger, TriggerClosed } from './push.ts'
import { readQuery } from './query-string.ts'
import { addressKey } from './rate-limit.ts'
import type { Answer, PushRoute, Services } from './route.ts'

/** Answers a push: the secret in its path, the limit, the query, the body; then it is kept. */
export async function servePush(
  route: PushRoute,
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  progress: Progress,
): Promise<Answer> {
  const { importId = '', hash = '' } = request.params as Record<string, string | undefined>
  const prefix = route.params.importId?.prefix ?? ''
  const trigger = await services.intake.find(readId(prefix, importId) ?? noRecord, hash)
  if (!trigger) throw stranger(services, request, reply, progress)
  progress.organization = showId('org', trigger.organizationId)
  progress.credential = showId(prefix, trigger.importId)
  try {
    charge(services, reply, progress, 'trigger', trigger.importId)
    return await take(route, services, request, progress, trigger)
  } catch (error) {
    // What is remembered of an import must not let one that was disabled since answer in another way.
    if (await isClosed(services, trigger, error)) throw stranger(services, request, reply, progress)
    throw error
  }
}

async function take(
  route: PushRoute,
  services: Services,
  request: FastifyRequest,
  progress: Progress,
  trigger: Trigger,
): Promise<Answer> {
  const url = targetOf(request)
  const query = readQuery(url)
  const header = single(request, 'idempotency-key')
  if (header !== undefined) checkIdempotencyKey(header)
  const bytes = (progress.bytes ??= await readBytes(request.raw))
  const key = header === undefined ? undefined : keyOf(header, url, bytes)
  return route.handle({ services, trigger, query, bytes, key })
}

/** The secret is no part of the request: a push may be repeated at the URL that came after a rotation. */
function keyOf(header: string, url: string, bytes: Uint8Array): PushKey {
  const start = url.indexOf('?')
  const query = start < 0 ? '' : url.slice(start)
  return { keyHash: idempotencyKeyHash(header), requestHash: requestHash('POST', query, bytes) }
}

async function isClosed(services: Services, trigger: Trigger, error: unknown): Promise<boolean> {
  if (error instanceof TriggerClosed) return true
  return error instanceof ApiError && error.status < 500 && !(await services.intake.isOpen(trigger))
}

/** The same answer whatever is wrong with the URL. Attempts that fail, and they alone, are charged to their address. */
function stranger(services: Services, request: FastifyRequest, reply: FastifyReply, progress: Progress): ApiError {
  charge(services, reply, progress, 'key', addressKey(request.ip))
  return new ApiError('not_found', 'No import takes pushes at this URL.')
}
