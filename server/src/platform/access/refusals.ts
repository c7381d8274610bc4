import { ApiError } from '../http/errors.ts'

/** 401 for a request without any credential. */
export const missingAuthorization = (): ApiError =>
  new ApiError(
    'missing_authorization',
    'Send an access token or an API key in the Authorization header: "Authorization: Bearer <credential>".',
    { headers: { 'www-authenticate': 'Bearer realm="rapport"' } },
  )

/** 401 for a credential that is malformed, unknown, expired or revoked; which of them is not told. */
export const invalidToken = (
  description = 'The access token or API key is malformed, unknown, expired or revoked.',
): ApiError =>
  new ApiError('invalid_token', description, {
    headers: { 'www-authenticate': 'Bearer realm="rapport", error="invalid_token"' },
  })

/** 403 for an organization that the caller is not in: the same for one that does not exist. */
export const foreignOrganization = (): ApiError =>
  new ApiError(
    'insufficient_permissions',
    'The credential has no access to the organization named in Service-Organization-ID, or there is none of this id.',
  )
