import type { Database } from '../database/database.ts'
import { isFresh } from './account-store.ts'
import type { Caller } from './caller.ts'
import { proofRequired } from './refusals.ts'

/**
 * Lets the caller go on when they proved who they are within five minutes. An API key cannot prove anything: that the
 * scope was given to it by name (`covers`) is what counts. Error: 403 `proof_required`.
 */
export async function assertFresh({ database }: { database: Database }, caller: Caller): Promise<void> {
  if (caller.kind === 'key') return
  const fresh = await database.spanningTransaction('manage an account', (db) => isFresh(db, caller.credentialId))
  if (!fresh) throw proofRequired()
}
