import { createOneTimeToken } from '../identity/access/one-time-token-store.ts'
import type { Database } from '../platform/database/database.ts'
import { beginSetUp, revokeSetUpLinks } from '../identity/auth/store.ts'

const lifetimeSeconds = 30 * 60

/**
 * A link to make the first owner and organization: good once, for 30 minutes, and the links of earlier starts are good no
 * more. Undefined once there is anybody.
 */
export const createSetUpLink = (database: Database, root: string): Promise<string | undefined> =>
  database.crossTenantTransaction('set the service up', async (db) => {
    if (!(await beginSetUp(db))) return undefined
    await revokeSetUpLinks(db)
    return `${root}/account#set-up=${await createOneTimeToken(db, { purpose: 'set-up', lifetimeSeconds })}`
  })
