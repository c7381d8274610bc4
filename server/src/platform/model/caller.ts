import { raw, type Sql } from './sql.ts'
import type { Role } from './scopes.ts'

/**
 * In whose name statements run, and for which organization. Only `identify.ts` and `serviceActor` make one; everything else takes the
 * organization from here.
 */
export interface Actor {
  /** `command`: the command line; `work`: the service, processing what it accepted; `upkeep`: the service, deleting expired rows. */
  kind: 'key' | 'session' | 'command' | 'work' | 'upkeep'
  /** The uuid of the organization that it is about. */
  organizationId: string
  /** The uuid of the user: the session's, or the key's maker. Null for the service itself. */
  userId: string | null
  /** A boolean SQL expression: is this credential, as it was read, still good? Goes into each statement's own trip. */
  live: Sql
}

/** Who asks, with which rights: made by `identify.ts` from a credential that the database knows. */
export interface Caller extends Actor {
  kind: 'key' | 'session'
  /** The uuid of the API key or the session. */
  credentialId: string
  userId: string
  /** `urn:service:<resource>:<action>:<permission>` patterns that were granted. */
  scopes: readonly string[]
  /** The role of the session's user; undefined for a key, whatever its maker is. */
  role: Role | undefined
  /** Networks and addresses that a key is good from; everywhere when there are none. */
  allowedAddresses: readonly string[]
  /** When a key ends. */
  expiresAt: Date | null
}

/** The service itself or its command line, without a credential that could end. */
export const serviceActor = (
  kind: 'command' | 'work' | 'upkeep',
  organizationId: string,
  userId: string | null = null,
): Actor => ({ kind, organizationId, userId, live: raw('true') })
