import type { Sql } from '../database/sql.ts'
import type { Role } from './scopes.ts'

/**
 * In whose name statements run, and for which organization. Only this folder makes one; everything behind it takes the
 * organization from here.
 */
export interface Actor {
  /**
   * `command`: the command line; `import`: the service itself, working on rows that it accepted; `upkeep`: taking away
   * what is no longer kept.
   */
  kind: 'key' | 'session' | 'command' | 'import' | 'upkeep'
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
