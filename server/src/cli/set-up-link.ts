import { createOneTimeToken } from '../identity/access/one-time-token-store.ts'
import type { Database } from '../platform/database/database.ts'
import { beginSetUp, revokeSetUpLinks } from '../identity/auth/store.ts'

const lifetimeSeconds = 30 * 60

/**
 * Creates a link for creating the first owner and organization. It works once, for 30 minutes, and revokes the links of
 * earlier starts. Undefined if a user exists.
 */
export const createSetUpLink = (database: Database, root: string): Promise<string | undefined> =>
  database.crossTenantTransaction('set the service up', async (db) => {
    if (!(await beginSetUp(db))) return undefined
    await revokeSetUpLinks(db)
    return `${root}/account#set-up=${await createOneTimeToken(db, { purpose: 'set-up', lifetimeSeconds })}`
  })
