import { raw } from '../database/sql.ts'
import type { Actor } from './caller.ts'

/** The service itself, taking away what an organization no longer needs. */
export const upkeepActor = (organizationId: string): Actor => ({
  kind: 'upkeep',
  organizationId,
  userId: null,
  live: raw('true'),
})
