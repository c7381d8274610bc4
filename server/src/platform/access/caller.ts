import type { Sql } from '../database/sql.ts'

/**
 * Who asks, for which organization, with which rights. Only `identify.ts` of this folder makes one, from a credential
 * that the database knows; everything behind it takes the organization from here.
 */
export interface Caller {
  kind: 'key' | 'session'
  /** The uuid of the API key or the session. */
  credentialId: string
  /** The uuid of the user: the session's, or the key's maker. */
  userId: string
  /** The uuid of the organization that the request is about. */
  organizationId: string
  /** `urn:service:<resource>:<action>:<permission>` patterns that were granted. */
  scopes: readonly string[]
  /** A boolean SQL expression: is this credential, as it was read, still good? Goes into each statement's own trip. */
  live: Sql
}
