import { ApiError } from '../../platform/model/errors.ts'

/** 401 for a request without any credential. */
export const missingAuthorization = (): ApiError =>
  new ApiError(
    'missing_authorization',
    'Send an access token or an API key in the Authorization header: "Authorization: Bearer <credential>".',
    { headers: { 'www-authenticate': 'Bearer realm="rapport"' } },
  )

/** 401 for a malformed, unknown, expired or revoked credential; the response does not say which. */
export const invalidToken = (
  description = 'The access token or API key is malformed, unknown, expired or revoked.',
): ApiError =>
  new ApiError('invalid_token', description, {
    headers: { 'www-authenticate': 'Bearer realm="rapport", error="invalid_token"' },
  })

/** 403 for an organization that the caller is not a member of, or that does not exist. */
export const foreignOrganization = (): ApiError =>
  new ApiError(
    'insufficient_permissions',
    'The credential has no access to the organization in Service-Organization-ID, or it does not exist.',
  )

/** 403 for a session in an organization that the person has left. */
export const formerOrganization = (): ApiError =>
  new ApiError(
    'insufficient_permissions',
    'You are no longer a member of this session’s organization. Choose another one with POST /v5/me/organization.',
  )

/** 403 for a person without an organization. */
export const noOrganization = (): ApiError =>
  new ApiError(
    'insufficient_permissions',
    'You are not a member of any organization. Accept an invitation or create an organization.',
  )

/** 403 for an API key on an account route. */
export const apiKeyNotAllowed = (): ApiError =>
  new ApiError(
    'insufficient_permissions',
    'This request is about a person’s own account. Send the access token of a login, not an API key.',
  )

/** 403 for a sensitive action without recent re-authentication. */
export const reauthenticationRequired = (): ApiError =>
  new ApiError(
    'reauthentication_required',
    'Re-authenticate at /v5/me/reauthenticate, then repeat the request within five minutes.',
  )

/** 403 in an organization that is being deleted. */
export const organizationBeingDeleted = (deletesAt: Date): ApiError =>
  new ApiError(
    'insufficient_permissions',
    `This organization will be deleted at ${deletesAt.toISOString()} and refuses access until then. An owner can undo this with DELETE /v5/me/organizations/{organizationId}/deletion.`,
  )

/** 403 in an organization that requires a second factor. */
export const secondFactorRequired = (): ApiError =>
  new ApiError(
    'second_factor_required',
    'This organization requires a second factor. Set one up under /v5/me, or log in again with it.',
  )

/** 401 for a failed login. The same whatever is wrong. */
export const invalidCredentials = (): ApiError =>
  new ApiError('invalid_credentials', 'The address, password or code is wrong.', {
    headers: { 'www-authenticate': 'Bearer realm="rapport"' },
  })
