import { raw } from '../database/sql.ts'
import type { Actor } from './caller.ts'

/** Who runs a command on the service's own machine: may do everything, in the name of an organization's user. */
export const commandActor = (organizationId: string, userId: string): Actor => ({
  kind: 'command',
  organizationId,
  userId,
  live: raw('true'),
})
