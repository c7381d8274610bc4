interface ErrorEntry {
  status: number
  message: string
  when: string
  remedy: string
}

/** Every error that a caller can see; docs/errors.md is generated from this table. */
export const errorCodes = {
  malformed_request: {
    status: 400,
    message: 'Malformed request',
    when: 'The request is not valid HTTP, does not name exactly one valid host, did not arrive completely, or its body is not valid JSON. A duplicate property makes JSON invalid.',
    remedy: 'Correct the problem that `description` names. The rest of the request was not checked.',
  },
  invalid_parameters: {
    status: 400,
    message: 'Invalid parameters',
    when: 'The query string, the path or a header is invalid: an unknown parameter or field, an operator that the field does not support, a value of the wrong type, a duplicate header, or an API key without `Service-Organization-ID`. The trigger of an import, which never returns 415 or 422, also uses it for an invalid body or media type, and for an `Idempotency-Key` that was used with a different push.',
    remedy: 'Correct every parameter that `details` names; for a likely typo, the message suggests the right name.',
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
    when: 'The API key, access token or refresh token is invalid, expired or revoked.',
    remedy:
      'Refresh the access token at `POST /auth`. If that fails too, log in again. Replace an invalid API key with a new one.',
  },
  invalid_credentials: {
    status: 401,
    message: 'Invalid credentials',
    when: 'The combination of address and password, code or passkey is wrong. For security, the error does not say which part.',
    remedy: 'Try again, or request a link to set a new password (`POST /auth/forgot-password`).',
  },
  insufficient_permissions: {
    status: 403,
    message: 'Insufficient permissions',
    when: 'The credential is valid but does not allow this. For example, the caller is not a member of the organization in `Service-Organization-ID`, that organization does not exist, the API key cannot be used from this address, or only an owner can do this.',
    remedy: 'Read the reason in `description`. Check the organization id, or ask one of its owners for access.',
  },
  missing_scopes: {
    status: 403,
    message: 'Missing scopes',
    when: 'The API key, or the role of the user, does not have the scope that the operation needs.',
    remedy:
      'Use a credential with the scopes that `details` names. Wildcards such as `*:*:read` do not include scopes that change who has access, nor `contact-erasure:create:write` (nothing can be restored), `mail-content:get:read` (mails contain links) and `system:get:read` (the machine): grant them by name.',
  },
  reauthentication_required: {
    status: 403,
    message: 'Re-authentication required',
    when: 'This action requires re-authentication, and the session’s last one is more than five minutes old.',
    remedy: 'Send a password, a code or a passkey to `/v5/me/reauthenticate`, then repeat the request.',
  },
  second_factor_required: {
    status: 403,
    message: 'Second factor required',
    when: 'The organization requires a second factor, and this session has not used one.',
    remedy: 'Set one up under `/v5/me` (it takes effect immediately), or log in again with your second factor.',
  },
  cursor_expired: {
    status: 410,
    message: 'Cursor expired',
    when: 'The feed no longer has the changes after this position: it is older than the feed reaches back, or the database was restored from a backup since.',
    remedy:
      'Start again: keep the position from `GET /v5/events/position`, read all records, and follow the feed from there.',
  },
  not_found: {
    status: 404,
    message: 'Not found',
    when: 'The path does not exist, or the record does not exist in this organization: it was deleted, belongs to another organization, or never existed. Also returned for a cursor of an unknown record and for an invalid trigger URL.',
    remedy: 'Check the id and the organization. For a rejected cursor, start again from the first page.',
  },
  method_not_allowed: {
    status: 405,
    message: 'Method not allowed',
    when: 'The path exists but does not support this method.',
    remedy: 'Use a method from the `Allow` header.',
  },
  not_acceptable: {
    status: 406,
    message: 'Not acceptable',
    when: 'The `Accept` header excludes `application/json`.',
    remedy: 'Accept `application/json`, or omit the header.',
  },
  already_exists: {
    status: 409,
    message: 'Already exists',
    when: 'Another record already has a value that must be unique, such as a contact’s email within its team.',
    remedy:
      '`details` names the field and, if the credential may read it, the `id` of the other record. Change that record, or choose another value.',
  },
  limit_reached: {
    status: 409,
    message: 'Limit reached',
    when: 'The organization has as many views, teams, properties, pipelines, roles, imports, API keys or open invitations as it can have, or the pipeline as many stages.',
    remedy:
      'Delete records that are no longer needed, revoke API keys or withdraw invitations; then repeat the request.',
  },
  already_decided: {
    status: 409,
    message: 'Already decided',
    when: 'The suggestion was accepted or rejected before, or its note was changed or deleted. Or the refused push was accepted before, with another payload.',
    remedy: 'Read the suggestions of the note again, or correct the row of the accepted push.',
  },
  idempotency_in_progress: {
    status: 409,
    message: 'A request with this Idempotency-Key is still in progress',
    when: 'The first request with this `Idempotency-Key` is not finished yet.',
    remedy: 'Repeat the request after the seconds in `Retry-After` to get the response to the first one.',
  },
  precondition_failed: {
    status: 412,
    message: 'Precondition failed',
    when: 'The record has changed since you read the `ETag` in `If-Match`.',
    remedy: 'Read the record again, apply your change to the current version, and send its new `ETag`.',
  },
  payload_too_large: {
    status: 413,
    message: 'Payload too large',
    when: 'The body is larger than 1 MiB, or than 16 KiB on routes without a credential.',
    remedy: 'Split the request into smaller ones.',
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
    when: 'The body is valid JSON, but several of its fields are invalid.',
    remedy: 'Correct every field that `details` names.',
  },
  missing_required_field: {
    status: 422,
    message: 'Missing required field',
    when: 'Required fields are missing; the rest of the body is valid.',
    remedy: 'Add the fields that `details` names.',
  },
  invalid_field_value: {
    status: 422,
    message: 'Invalid field value',
    when: 'Exactly one field of the body is invalid: a wrong value, an unknown or read-only field, or a reference to a record that does not exist.',
    remedy: 'Correct the field that `details` names.',
  },
  idempotency_key_reused: {
    status: 422,
    message: 'Idempotency-Key reused with a different request',
    when: 'The `Idempotency-Key` was used within the last 24 hours for a request with a different body.',
    remedy: 'Use a new key for every new request; reuse a key only to repeat the same request.',
  },
  resource_locked: {
    status: 423,
    message: 'Resource locked',
    when: 'The record cannot be changed in its current state, such as deleting a team that still has contacts.',
    remedy: 'First do what `description` asks for.',
  },
  rate_limited: {
    status: 429,
    message: 'Too many requests',
    when: 'The credential, trigger or address sent more requests than `RateLimit-Policy` allows, too many login attempts have failed, or an import has received the bytes that it may receive in a day.',
    remedy: 'Wait for the seconds in `Retry-After`. The `RateLimit` header of every response shows how much is left.',
  },
  headers_too_large: {
    status: 431,
    message: 'Headers too large',
    when: 'The headers are larger than 16 KiB in total.',
    remedy: 'Send fewer or shorter headers.',
  },
  internal_error: {
    status: 500,
    message: 'Internal error',
    when: 'An unexpected error occurred in the service.',
    remedy:
      'Report it with the `X-Request-Id`. The change may or may not have been made; retry it with the same `Idempotency-Key`.',
  },
  overloaded: {
    status: 503,
    message: 'Overloaded',
    when: 'The service or its database cannot process the request now.',
    remedy: 'Retry after the seconds in `Retry-After`; retry a change with the same `Idempotency-Key`.',
  },
  timeout: {
    status: 503,
    message: 'Timed out',
    when: 'The database took too long, or the connection to it was lost.',
    remedy:
      'Retry after the seconds in `Retry-After`. The change may or may not have been made; retry it with the same `Idempotency-Key`. Narrow slow queries with filters.',
  },
  data_damaged: {
    status: 503,
    message: 'Data damaged',
    when: 'The database cannot read part of its data, because its disk or a file is damaged. Other requests may succeed.',
    remedy:
      'Tell the operator of the service, who finds the damage with `rapport doctor`. Until it is repaired, the request fails again.',
  },
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof errorCodes

/** One error in a request. `field` is a dotted path, or the name of a parameter or header. */
export interface FieldError {
  field: string
  message: string
  /** Id of the record that already has the unique value. */
  id?: string
}

/** The only way to reject a request, from anywhere; converted to the body of the response in one place. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly description: string
  readonly details: readonly FieldError[] | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ErrorCode,
    description: string,
    more: { details?: readonly FieldError[]; headers?: Record<string, string>; cause?: unknown } = {},
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

  body(): { code: string; status: number; message: string; description: string; details?: readonly FieldError[] } {
    const { status, message } = errorCodes[this.code]
    const body = { code: this.code, status, message, description: this.description }
    return this.details ? { ...body, details: this.details } : body
  }
}

/** 400 for invalid HTTP or JSON. */
export const malformed = (description: string, details?: readonly FieldError[]): ApiError =>
  new ApiError('malformed_request', description, details ? { details } : {})

/** 400 for errors in the query string, path or headers, all at once. */
export const invalidParameters = (details: readonly FieldError[]): ApiError =>
  new ApiError('invalid_parameters', describe(details), { details: toDetails(details) })

/** Maximum errors per request, after which checking stops. */
export const maxDetails = 100

/** Maximum suggestions per request: comparing names is the most expensive part. */
export const maxSuggestions = 20

const toDetails = (errors: readonly FieldError[]): FieldError[] =>
  errors.slice(0, maxDetails).map(({ field, message }) => ({ field: displayName(field), message }))

/** Maximum characters of a name in a message: a caller's name may be as long as the request. */
const maxNameLength = 200

/** Makes an empty name visible. */
function displayName(field: string): string {
  if (field === '') return '""'
  return field.length > maxNameLength ? `${[...field].slice(0, maxNameLength).join('')}…` : field
}

/** An error in a body that was parsed. `missing` marks a missing field, which has its own code. */
export interface BodyError extends FieldError {
  missing?: boolean
}

/** 422 for a valid JSON body with invalid values; the code follows from the errors (docs/errors.md). */
export function invalidBody(errors: readonly BodyError[]): ApiError {
  const code = errors.every((error) => error.missing)
    ? 'missing_required_field'
    : new Set(errors.map(({ field }) => field.split('.')[0])).size === 1
      ? 'invalid_field_value'
      : 'validation_error'
  return new ApiError(code, describe(errors), { details: toDetails(errors) })
}

function describe(errors: readonly FieldError[]): string {
  const [first, ...rest] = errors
  if (!first) return 'The request is not valid.'
  const more =
    errors.length >= maxDetails
      ? ` (and more: details lists the first ${maxDetails}; checking stopped there)`
      : rest.length > 0
        ? ` (and ${rest.length} more, see details)`
        : ''
  return `${displayName(first.field)}: ${first.message}${more}`
}
