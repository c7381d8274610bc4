import { raw } from '../database/sql.ts'
import type { Actor } from './caller.ts'

/** The service itself, at work on the rows that one organization's imports accepted. */
export const importActor = (organizationId: string): Actor => ({
  kind: 'import',
  organizationId,
  userId: null,
  live: raw('true'),
})
