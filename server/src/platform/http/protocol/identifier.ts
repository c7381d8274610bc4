import type { Caller } from '../../model/caller.ts'
import { ApiError } from '../../model/errors.ts'

/** A credential that was valid when read; `live` of its callers detects changes. `id`: the uuid for rate limits. */
export type Credential = KeyCredential | SessionCredential

export interface KeyCredential {
  kind: 'key'
  id: string
  hash: Buffer
  cacheKey: string
  caller: Caller
  notedAt: number
}

export interface SessionCredential {
  kind: 'session'
  id: string
  userId: string
  cacheKey: string
  /** By the uuid in the header; '' for requests without the header. */
  callers: Map<string, Caller>
  notedAt: number
}

export interface Identifier {
  /** The credential in the Authorization header. Throws 401 if it is missing or invalid. */
  authenticate(authorization: string | undefined): Promise<Credential>
  /** The caller in the given organization or the session's. Throws 400, 403 or `CredentialChanged`. */
  selectOrganization(credential: Credential, organization: string | undefined, address?: string): Promise<Caller>
  /** Records, at most once a minute, that a session is in use and from where. */
  recordSessionUse(credential: Credential, address: string): void
  /** Clears the cache for the caller's credential, after `CredentialChanged`. */
  forget(caller: Caller): void
  /** Throws `CredentialChanged` if the credential is invalid now; for a rejection without a query. */
  confirm(caller: Caller): Promise<void>
  /** Throws 403 `reauthentication_required` unless the caller has re-authenticated within the last five minutes. */
  assertRecentAuthentication(caller: Caller): Promise<void>
}

/** 403 for an API key used from an address that is not on its list. */
export class AddressNotAllowed extends ApiError {
  readonly caller: Caller

  constructor(caller: Caller, address: string | undefined) {
    super(
      'insufficient_permissions',
      `This API key cannot be used from ${address ?? 'an unknown address'}. Send the request from one of its allowedAddresses, or ask for them to be changed.`,
    )
    this.caller = caller
  }
}
