import { roleScopes } from '../src/app.ts'
import { createSecretKey, randomBytes } from 'node:crypto'
import { type BootstrapResult, bootstrap } from '../src/cli/bootstrap.ts'
import { createIdentifier } from '../src/identity/access/identify.ts'
import type { Identifier } from '../src/platform/http/protocol/identifier.ts'
import type { Secret } from '../src/platform/secret/secret.ts'
import { createSessions, type Sessions } from '../src/identity/access/sessions.ts'
import { createTokens, type Tokens } from '../src/identity/access/tokens.ts'
import { Database } from '../src/platform/database/database.ts'
import { createDatabase } from './postgres.ts'

/** The access module with its own database and a clock that the test controls. */
export interface Access {
  database: Database
  /** A second connection pool to the same database, as another process would have. */
  anotherDatabase(): Database
  secret: Secret
  tokens: Tokens
  sessions: Sessions
  identifier: Identifier
  /** Milliseconds since 1970; a test advances it. */
  clock: { now: number }
  /** A second set of instances on the same database, as in another process. */
  anotherProcess(): Pick<Access, 'tokens' | 'sessions' | 'identifier'>
  /** Creates an organization owned by the single user of this database. */
  newOrganization(): Promise<BootstrapResult>
  close(): Promise<void>
}

export const owner = { email: 'Ada@Example.com', password: 'correct horse battery' }

export async function openAccess(): Promise<Access> {
  const { connection, drop } = await createDatabase()
  const database = new Database({ connection, size: 10 })
  const secret = createSecretKey(randomBytes(32))
  const clock = { now: Date.now() }
  const createProcess = () => {
    const tokens = createTokens({ database, secret, roleScopes, clock: () => clock.now })
    return {
      tokens,
      sessions: createSessions({ database, secret, tokens, clock: () => clock.now }),
      identifier: createIdentifier({ database, tokens, roleScopes, clock: () => clock.now }),
    }
  }
  const first = createProcess()
  const addresses = {
    baseUrl: 'http://127.0.0.1:4000/v5',
    authUrl: 'http://127.0.0.1:4000',
    teamBaseUrl: 'http://127.0.0.1:4000',
  }
  let organizations = 0
  return {
    database,
    anotherDatabase: () => new Database({ connection, size: 10 }),
    secret,
    clock,
    ...first,
    anotherProcess: createProcess,
    newOrganization: () =>
      bootstrap({
        database,
        secret,
        tokens: first.tokens,
        addresses,
        ...owner,
        organization: `Acme ${++organizations}`,
      }),
    close: async () => {
      await database.close()
      await drop()
    },
  }
}
