import type { Caller } from '../model/caller.ts'
import { ApiError } from '../model/errors.ts'

/**
 * A credential that was good when it was read, before the organization of the request is chosen. It remembers the
 * callers made from it; whatever has changed since, their `live` tells. `id` is the uuid that rates are counted by.
 */
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
  /** By the uuid that the header named; '' for a request that named none. */
  callers: Map<string, Caller>
  notedAt: number
}

/** Turns the headers of requests into callers. */
export interface Identifier {
  /** Whose credential the Authorization header holds: 401 when there is none, or none that is good. */
  authenticate(authorization: string | undefined): Promise<Credential>
  /**
   * The caller, for the organization that Service-Organization-ID names, or the session's own; `address` is where the
   * request came from. Errors: 400, 403, `CredentialChanged`.
   */
  selectOrganization(credential: Credential, organization: string | undefined, address?: string): Promise<Caller>
  /** Writes down, at most once a minute, that a session is in use, and from where. */
  recordSessionUse(credential: Credential, address: string): void
  /** Forgets what is remembered of the caller's credential, after `CredentialChanged`. */
  forget(caller: Caller): void
  /** For a refusal that never reached the database: throws `CredentialChanged` when the credential is no longer good. */
  confirm(caller: Caller): Promise<void>
  /** Lets the caller go on when they proved who they are within five minutes. Error: 403 `reauthentication_required`. */
  assertRecentAuthentication(caller: Caller): Promise<void>
}

/** 403 for an API key that is used from an address outside its list. */
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
