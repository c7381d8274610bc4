import { createTokens, type Tokens } from '../identity/access/tokens.ts'
import type { Rapport } from './open.ts'

/** Access tokens for the commands that make some. Loaded when needed, because the roles' scopes take all declarations. */
export async function commandTokens({ database, secret }: Pick<Rapport, 'database' | 'secret'>): Promise<Tokens> {
  const { roleScopes } = await import('../app.ts')
  return createTokens({ database, secret, roleScopes })
}
