import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../model/errors.ts'
import { urlTooLong } from './request-limits.ts'
import { basePath, errorPage, wantsPage } from './html.ts'
import type { Services } from './route.ts'

/** Answers with an error: a page for browsers, JSON for everyone else. */
export function sendError(services: Services, request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  const refusal = toApiError(error)
  // A refusal of ours without a cause (not ready, too many wait) is told whole by the line of its request.
  if (refusal.status >= 500 && refusal.cause !== undefined) {
    const level = refusal.code === 'internal_error' ? 'error' : 'warn'
    const { id: requestId, requestContext } = request
    services.log[level]({ requestId, route: requestContext.route, err: errorForLog(refusal.cause) }, refusal.code)
  }
  void reply.code(refusal.status).headers(refusal.headers)
  if (wantsPage(request)) {
    const { text, headers } = errorPage(refusal, { requestId: request.id, home: `${basePath(services.origin)}/` })
    void reply.headers(headers).send(text)
  } else void reply.type('application/json; charset=utf-8').send(JSON.stringify(refusal.body()))
}

/** What PostgreSQL adds to its errors (the row, the value) would bring records into the log. */
function errorForLog(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack } = error
  return { type: name, message, code: (error as NodeJS.ErrnoException).code, stack }
}

/** Faults of the framework and bugs, in the interface's words; what a bug says stays in the log. */
function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const { code } = error as { code?: string }
  if (code === 'FST_ERR_BAD_URL') {
    const details = [{ field: 'path', message: 'is not valid percent-encoded UTF-8' }]
    return new ApiError('invalid_parameters', 'path: is not valid percent-encoded UTF-8', { details })
  }
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return urlTooLong()
  return new ApiError(
    'internal_error',
    'Something went wrong in the service. Include the X-Request-Id when you report it.',
    {
      cause: error,
    },
  )
}
