/** Every error a caller can see (interface 7.3 and our additions); docs/errors.md is generated from this table. */
export const errorCodes = {
  malformed_request: { status: 400, message: 'Malformed request' },
  invalid_parameters: { status: 400, message: 'Invalid parameters' },
  missing_authorization: { status: 401, message: 'You are not logged in' },
  invalid_token: { status: 401, message: 'Invalid token' },
  insufficient_permissions: { status: 403, message: 'Insufficient permissions' },
  missing_scopes: { status: 403, message: 'Missing scopes' },
  not_found: { status: 404, message: 'Not found' },
  method_not_allowed: { status: 405, message: 'Method not allowed' },
  not_acceptable: { status: 406, message: 'Not acceptable' },
  already_exists: { status: 409, message: 'Already exists' },
  idempotency_in_progress: { status: 409, message: 'A request with this Idempotency-Key is still running' },
  precondition_failed: { status: 412, message: 'Precondition failed' },
  payload_too_large: { status: 413, message: 'Payload too large' },
  uri_too_long: { status: 414, message: 'URI too long' },
  unsupported_media_type: { status: 415, message: 'Unsupported media type' },
  validation_error: { status: 422, message: 'Validation failed' },
  missing_required_field: { status: 422, message: 'Missing required field' },
  invalid_field_value: { status: 422, message: 'Invalid field value' },
  idempotency_key_reused: { status: 422, message: 'Idempotency-Key reused with another request' },
  resource_locked: { status: 423, message: 'Resource locked' },
  rate_limited: { status: 429, message: 'Too many requests' },
  headers_too_large: { status: 431, message: 'Headers too large' },
  internal_error: { status: 500, message: 'Internal error' },
  overloaded: { status: 503, message: 'Overloaded' },
  timeout: { status: 503, message: 'Timed out' },
} as const

export type ErrorCode = keyof typeof errorCodes

/** One fault of a request; `field` is a dotted path, a parameter's name or a header's. */
export interface Fault {
  field: string
  message: string
}

/** The one way to refuse a request: thrown anywhere, turned into interface 7.1's body in one place. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly description: string
  readonly details: readonly Fault[] | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ErrorCode,
    description: string,
    more: { details?: readonly Fault[]; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(`${code}: ${description}`, more.cause === undefined ? undefined : { cause: more.cause })
    this.code = code
    this.description = description
    this.details = more.details
    this.headers = more.headers ?? {}
  }

  get status(): number {
    return errorCodes[this.code].status
  }

  /** The body of interface 7.1. */
  body(): { code: string; status: number; message: string; description: string; details?: readonly Fault[] } {
    const { status, message } = errorCodes[this.code]
    const body = { code: this.code, status, message, description: this.description }
    return this.details ? { ...body, details: this.details } : body
  }
}

/** 400 for the query string, the path or a header. All faults at once. */
export const invalidParameters = (details: readonly Fault[]): ApiError =>
  new ApiError('invalid_parameters', describe(details), { details })

/** A fault in a body that parsed. `missing` marks an absence, which alone has a code of its own. */
export interface BodyFault extends Fault {
  missing?: boolean
}

/** 422 for a body that parsed and is wrong: the code follows from the faults (docs/errors.md). */
export function invalidBody(faults: readonly BodyFault[]): ApiError {
  const code = faults.every((fault) => fault.missing)
    ? 'missing_required_field'
    : faults.length === 1
      ? 'invalid_field_value'
      : 'validation_error'
  const details = faults.map(({ field, message }) => ({ field, message }))
  return new ApiError(code, describe(details), { details })
}

function describe(details: readonly Fault[]): string {
  const [first, ...rest] = details
  if (!first) return 'The request is not valid.'
  const more = rest.length > 0 ? ` (and ${rest.length} more, see details)` : ''
  return `${first.field}: ${first.message}${more}`
}
