import { createTokens, type Tokens } from '../identity/access/tokens.ts'
import type { Rapport } from './open.ts'

/** Issues access tokens for commands. The roles’ scopes are loaded here, because they depend on all declarations. */
export async function commandTokens({ database, secret }: Pick<Rapport, 'database' | 'secret'>): Promise<Tokens> {
  const { roleScopes } = await import('../app.ts')
  return createTokens({ database, secret, roleScopes })
}
