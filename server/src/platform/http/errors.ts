interface ErrorEntry {
  status: number
  message: string
  /** When a caller gets it. */
  when: string
  /** What the caller can do. */
  remedy: string
}

/** Every error a caller can see (interface 7.3 and our additions); docs/errors.md is generated from this table. */
export const errorCodes = {
  malformed_request: {
    status: 400,
    message: 'Malformed request',
    when: 'The request is not valid HTTP, its body is not valid JSON (a member given twice counts), or it did not arrive whole.',
    remedy: 'Correct what `description` names. The request was not looked at any further.',
  },
  invalid_parameters: {
    status: 400,
    message: 'Invalid parameters',
    when: 'The query string, the path or a header is wrong: an unknown parameter or field, an operator that does not suit the field, a value of the wrong type, no `Service-Organization-ID` beside an API key. On the trigger of an import, which has neither 415 nor 422, also what is wrong with the body or its media type, and a used `Idempotency-Key` with another push.',
    remedy:
      'Correct every parameter that `details` names; where one was probably misspelt, the message says what was meant.',
  },
  missing_authorization: {
    status: 401,
    message: 'You are not logged in',
    when: 'No credential was sent.',
    remedy: 'Send `Authorization: Bearer` with an API key or an access token.',
  },
  invalid_token: {
    status: 401,
    message: 'Invalid token',
    when: 'The API key, access token or refresh token is not valid, has expired or was revoked.',
    remedy: 'Refresh an access token at `POST /auth`. When that is refused too, log in again; make a new API key.',
  },
  invalid_credentials: {
    status: 401,
    message: 'Not logged in',
    when: 'The address and the password, the code or the passkey do not fit together; which of them is wrong is not told.',
    remedy: 'Try again, or ask for a link to set a new password (`POST /auth/forgot-password`).',
  },
  insufficient_permissions: {
    status: 403,
    message: 'Insufficient permissions',
    when: 'The credential is good, but not for this: the caller is not in the organization that `Service-Organization-ID` names, or there is none of that id.',
    remedy: 'Check the organization’s id, or ask one of its owners.',
  },
  missing_scopes: {
    status: 403,
    message: 'Missing scopes',
    when: 'The API key, or the role of the user, does not have the scope that the operation needs.',
    remedy: 'Use a credential with the scopes that `details` names.',
  },
  proof_required: {
    status: 403,
    message: 'Prove that it is you',
    when: 'What was asked for needs a proof of the last five minutes, and the last one of this session is older.',
    remedy: 'Give a password, a code or a passkey at `/v5/me/proof`, then repeat the request.',
  },
  second_factor_required: {
    status: 403,
    message: 'Second factor required',
    when: 'The organization takes only those who have logged in with a second factor, and this session has not.',
    remedy: 'Set one up under `/v5/me`, which counts for the session at once, or log in again with yours.',
  },
  not_found: {
    status: 404,
    message: 'Not found',
    when: 'There is nothing at this path, or no such record in this organization: it never existed, was deleted, or belongs to someone else. A cursor that names no record gives it too, and so does a trigger URL that takes nothing.',
    remedy: 'Check the id and the organization. After a cursor was refused, start again from the first page.',
  },
  method_not_allowed: {
    status: 405,
    message: 'Method not allowed',
    when: 'The path exists and does not take this method.',
    remedy: 'Use a method that the `Allow` header names.',
  },
  not_acceptable: {
    status: 406,
    message: 'Not acceptable',
    when: 'The `Accept` header rules `application/json` out.',
    remedy: 'Accept `application/json`, or leave the header out.',
  },
  already_exists: {
    status: 409,
    message: 'Already exists',
    when: 'Another record holds a value that has to be unique, such as a contact’s email within its team.',
    remedy:
      '`details` names the field and, where the credential may read it, the record. Change that one, or choose another value.',
  },
  idempotency_in_progress: {
    status: 409,
    message: 'A request with this Idempotency-Key is still running',
    when: 'The first request with this `Idempotency-Key` has no answer yet.',
    remedy: 'Repeat the request after `Retry-After`; it then gets the first one’s answer.',
  },
  precondition_failed: {
    status: 412,
    message: 'Precondition failed',
    when: 'The record was changed since the `ETag` in `If-Match` was read.',
    remedy: 'Read the record again, apply the change to what it is now, and send its new `ETag`.',
  },
  payload_too_large: {
    status: 413,
    message: 'Payload too large',
    when: 'The body is larger than 1 MiB.',
    remedy: 'Send less at once.',
  },
  uri_too_long: {
    status: 414,
    message: 'URI too long',
    when: 'The URL is longer than 8 KiB.',
    remedy: 'Use fewer or shorter filters.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'Unsupported media type',
    when: 'The body is not declared as JSON in UTF-8, or is compressed.',
    remedy: 'Send `Content-Type: application/json` and the body as it is.',
  },
  validation_error: {
    status: 422,
    message: 'Validation failed',
    when: 'The body is valid JSON and several of its fields are wrong.',
    remedy: 'Correct every field that `details` names.',
  },
  missing_required_field: {
    status: 422,
    message: 'Missing required field',
    when: 'Required fields are absent, and nothing else is wrong with the body.',
    remedy: 'Add the fields that `details` names.',
  },
  invalid_field_value: {
    status: 422,
    message: 'Invalid field value',
    when: 'Exactly one field of the body is wrong: a bad value, a field that does not exist or cannot be written, a reference to a record that is not there.',
    remedy: 'Correct the field that `details` names.',
  },
  idempotency_key_reused: {
    status: 422,
    message: 'Idempotency-Key reused with another request',
    when: 'The `Idempotency-Key` was used within the last 24 hours for a request with another body.',
    remedy: 'Make a new key for every new request; repeat one only together with its request.',
  },
  resource_locked: {
    status: 423,
    message: 'Resource locked',
    when: 'The record cannot be changed as it stands, such as a team that still has contacts and is to be deleted.',
    remedy: 'Do first what `description` asks for.',
  },
  rate_limited: {
    status: 429,
    message: 'Too many requests',
    when: 'The credential, the trigger or the address sent more requests than `RateLimit-Policy` allows, or too many attempts to log in have failed.',
    remedy: 'Wait for the seconds in `Retry-After`. `RateLimit` tells on every answer how much is left.',
  },
  headers_too_large: {
    status: 431,
    message: 'Headers too large',
    when: 'The headers are larger than 16 KiB in all.',
    remedy: 'Send fewer or shorter headers.',
  },
  internal_error: {
    status: 500,
    message: 'Internal error',
    when: 'Something went wrong in the service.',
    remedy:
      'Report it with the `X-Request-Id`. Whether a change was made is unknown; repeat it with the same `Idempotency-Key`.',
  },
  overloaded: {
    status: 503,
    message: 'Overloaded',
    when: 'The service or its database cannot take the request now.',
    remedy: 'Repeat the request after `Retry-After`, a change with the same `Idempotency-Key`.',
  },
  timeout: {
    status: 503,
    message: 'Timed out',
    when: 'The database took too long, or the connection to it was lost.',
    remedy:
      'Repeat the request after `Retry-After`, a change with the same `Idempotency-Key`: whether it was made is unknown. Narrow a query.',
  },
} as const satisfies Record<string, ErrorEntry>

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
  new ApiError('invalid_parameters', describe(details), { details: told(details) })

/** Faults told of one request, so that a long one does not get a longer answer. */
const mostDetails = 100

const told = (faults: readonly Fault[]): Fault[] =>
  faults.slice(0, mostDetails).map(({ field, message }) => ({ field: named(field), message }))

/** Characters of a name that are told: a caller's own may be as long as the request. */
const longestName = 200

/** A name may be empty, and still has to be seen. */
function named(field: string): string {
  if (field === '') return '""'
  return field.length > longestName ? `${[...field].slice(0, longestName).join('')}…` : field
}

/** A fault in a body that parsed. `missing` marks an absence, which alone has a code of its own. */
export interface BodyFault extends Fault {
  missing?: boolean
}

/** 422 for a body that parsed and is wrong: the code follows from the faults (docs/errors.md). */
export function invalidBody(faults: readonly BodyFault[]): ApiError {
  const code = faults.every((fault) => fault.missing)
    ? 'missing_required_field'
    : new Set(faults.map(({ field }) => field.split('.')[0])).size === 1
      ? 'invalid_field_value'
      : 'validation_error'
  return new ApiError(code, describe(faults), { details: told(faults) })
}

function describe(faults: readonly Fault[]): string {
  const [first, ...rest] = faults
  if (!first) return 'The request is not valid.'
  const more = rest.length > 0 ? ` (and ${rest.length} more, see details)` : ''
  return `${named(first.field)}: ${first.message}${more}`
}
