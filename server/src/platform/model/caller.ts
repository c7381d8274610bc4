import { raw, type Sql } from './sql.ts'
import type { MemberRole } from './scopes.ts'
import type { PersonalReach } from './reach.ts'

/** On whose behalf statements run, and for which organization. Created only by `identify.ts` and `serviceActor`. */
export interface Actor {
  /** The service itself: `work` processes what was pushed, `analysis` reads notes, `maintenance` deletes expired rows. */
  kind: 'key' | 'session' | 'command' | 'work' | 'analysis' | 'maintenance'
  organizationId: string
  /** The uuid of the session's user or the key's creator; null for the service itself. */
  userId: string | null
  /** The role of the session's user; undefined for an API key and the service itself. */
  role: MemberRole | undefined
  /** Which records the person's role sees; undefined without any restriction. */
  reach?: PersonalReach
  /** The uuid of the API key or the session; none for the service itself. */
  credentialId?: string
  /** A boolean SQL expression: is this credential still valid and unchanged? Part of every statement. */
  live: Sql
}

/** An authenticated caller and its rights, created by `identify.ts`. */
export interface Caller extends Actor {
  kind: 'key' | 'session'
  /** The uuid of the API key or the session. */
  credentialId: string
  userId: string
  /** The custom role (uuid) of the session's user or the key's creator, if they have one. */
  customRoleId?: string
  /** The granted `urn:service:<resource>:<action>:<permission>` patterns. */
  scopes: readonly string[]
  /** Networks and addresses from which a key may be used; empty means anywhere. */
  allowedAddresses: readonly string[]
  expiresAt: Date | null
}

/** The service itself or its command line, without a credential that could expire. */
export const serviceActor = (
  kind: 'command' | 'work' | 'analysis' | 'maintenance',
  organizationId: string,
  userId: string | null = null,
): Actor => ({ kind, organizationId, userId, role: undefined, live: raw('true') })

/** On whose behalf a statement runs, as far as it decides which records it reaches. */
export type Reader = Pick<Actor, 'kind' | 'userId' | 'role' | 'reach'>
