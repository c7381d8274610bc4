import { ApiError } from '../http/errors.ts'
import type { Caller } from './caller.ts'

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

/** 403 for a session whose organization the person has left. */
export const formerOrganization = (): ApiError =>
  new ApiError(
    'insufficient_permissions',
    'You are no longer in the organization of this session: choose another one with POST /v5/me/organization.',
  )

/** 403 for a person who is in no organization. */
export const homeless = (): ApiError =>
  new ApiError('insufficient_permissions', 'You are in no organization: accept an invitation, or make one.')

/** 403 for an API key where a person is wanted. */
export const insufficientKind = (): ApiError =>
  new ApiError(
    'insufficient_permissions',
    'This is about a person’s own account: send the access token of a login, not an API key.',
  )

/** 403 for what needs a proof of the last five minutes. */
export const proofRequired = (): ApiError =>
  new ApiError('proof_required', 'Prove that it is you at /v5/me/proof, then send this again within five minutes.')

/** 403 in an organization that takes only those with a second factor. */
export const secondFactorRequired = (): ApiError =>
  new ApiError(
    'second_factor_required',
    'This organization requires a second factor. Set one up under /v5/me, or log in again with yours.',
  )

/** 401 for a login that is not one. The same whatever is wrong. */
export const invalidCredentials = (): ApiError =>
  new ApiError('invalid_credentials', 'The address and the password or code do not fit together.', {
    headers: { 'www-authenticate': 'Bearer realm="rapport"' },
  })

/** 403 for an API key that is used from an address outside its list. */
export class AddressRefused extends ApiError {
  readonly caller: Caller

  constructor(caller: Caller, address: string | undefined) {
    super(
      'insufficient_permissions',
      `This API key is not to be used from ${address ?? 'an unknown address'}. Send the request from an address that its allowedAddresses name, or have them changed.`,
    )
    this.caller = caller
  }
}
