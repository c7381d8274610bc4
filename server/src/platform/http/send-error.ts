import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../model/errors.ts'
import { urlTooLong } from './limits/request-limits.ts'
import { applicationBase, errorPage, wantsPage } from './pages/html.ts'
import { requestTarget } from './request-context.ts'
import type { Services } from './route.ts'

/** Sends an error: a page for browsers, or the login page if they are not logged in; JSON for everyone else. Returns it. */
export function sendError(services: Services, request: FastifyRequest, reply: FastifyReply, error: unknown): ApiError {
  const apiError = toApiError(error)
  // An error without a cause (not ready, overloaded) is fully described by the request's log line.
  if (apiError.status >= 500 && apiError.cause !== undefined) {
    const level = apiError.code === 'internal_error' ? 'error' : 'warn'
    const { id: requestId, requestContext } = request
    services.log[level]({ requestId, route: requestContext.route, err: errorForLog(apiError.cause) }, apiError.code)
  }
  if (apiError.status === 401 && wantsPage(request)) {
    const next = encodeURIComponent(requestTarget(request))
    void reply.redirect(`${applicationBase(services)}/login?next=${next}`, 303)
    return apiError
  }
  void reply.code(apiError.status).headers(apiError.headers)
  if (wantsPage(request)) {
    const { text, headers } = errorPage(apiError, { requestId: request.id, home: `${applicationBase(services)}/` })
    void reply.headers(headers).send(text)
  } else void reply.type('application/json; charset=utf-8').send(JSON.stringify(apiError.body()))
  return apiError
}

/** Leaves out what PostgreSQL adds to its errors (the row, the value), so that no records enter the log. */
function errorForLog(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack } = error
  return { type: name, message, code: (error as NodeJS.ErrnoException).code, stack }
}

/** Converts errors of the framework and unexpected errors to API errors; details of the latter are only logged. */
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
