import { boundedCache } from '../model/bounded-cache.ts'
import type { Logger } from 'pino'
import type { Caller } from '../model/caller.ts'
import type { Database } from '../database/database.ts'
import { actorOf } from './actor.ts'
import { recordEvent } from './store.ts'

/** A rejected request that the organization should know about. */
export interface Denial {
  action: 'scope.denied' | 'access.denied'
  /** The missing scope, or the reason the credential was rejected. */
  scopeOrReason: string
  /** The route's path, with its parameters in braces. */
  route: string
}

/** Writes denials to the audit log without delaying the request. */
export interface Denials {
  /** Records each credential and subject at most once a minute. A database failure is only logged. */
  record(caller: Caller, client: { address: string; requestId: string }, denial: Denial): void
  idle(): Promise<void>
}

const interval = 60_000
/** Maximum pairs of credential and subject to remember: enough for every scope of some hundred credentials. */
const maxRemembered = 10_000

export function createDenials({
  database,
  log,
  clock = Date.now,
}: {
  database: Database
  log: Logger
  clock?: () => number
}): Denials {
  const recordedAt = boundedCache<string, number>(maxRemembered)
  const pendingWrites = new Set<Promise<void>>()
  return {
    record(caller, { address, requestId }, { action, scopeOrReason, route }) {
      const key = `${caller.organizationId} ${caller.credentialId} ${scopeOrReason}`
      const now = clock()
      if (now - (recordedAt.get(key) ?? -Infinity) < interval) return
      recordedAt.set(key, now)
      const { organizationId } = caller
      const details = { [action === 'scope.denied' ? 'scope' : 'reason']: scopeOrReason, route }
      const event = { organizationId, action, ...actorOf(caller), address, requestId, details }
      const write = database
        .transaction(caller, (transaction) => recordEvent(transaction, event))
        .catch((error: unknown) => {
          // Retry on the next denial. If the credential has just been revoked, the revocation itself is in the audit
          // log.
          recordedAt.delete(key)
          log.warn({ action, err: error }, 'a denial could not be written to the audit log')
        })
        .finally(() => pendingWrites.delete(write))
      pendingWrites.add(write)
    },
    async idle() {
      await Promise.all(pendingWrites)
    },
  }
}
