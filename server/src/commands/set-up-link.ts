import { makeOneTimeToken } from '../identity/access/one-time-token-store.ts'
import type { Database } from '../platform/database/database.ts'
import { beginSetUp, revokeSetUpLinks } from '../identity/auth/store.ts'

const lifetimeSeconds = 30 * 60

/**
 * A link to make the first owner and organization: good once, for 30 minutes, and the links of earlier starts are good no
 * more. Undefined once there is anybody.
 */
export const makeSetUpLink = (database: Database, root: string): Promise<string | undefined> =>
  database.spanningTransaction('set the service up', async (spanning) => {
    if (!(await beginSetUp(spanning))) return undefined
    await revokeSetUpLinks(spanning)
    return `${root}/account#set-up=${await makeOneTimeToken(spanning, { purpose: 'set-up', lifetimeSeconds })}`
  })
