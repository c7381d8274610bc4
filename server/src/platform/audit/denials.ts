import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import type { Caller } from '../model/caller.ts'
import type { Database } from '../database/database.ts'
import { actorOf } from './actor.ts'
import { recordEvent } from './store.ts'

/** A refusal that an organization should know of. */
export interface Denial {
  action: 'scope.denied' | 'access.denied'
  /** The scope that was lacking, or why the credential was refused. */
  scopeOrReason: string
  /** The path of the route, with its parameters in braces. */
  route: string
}

/** Writes refusals into the audit log, off the request's way. */
export interface Denials {
  /** Each credential and subject once a minute; a fault of the database is told in the log alone. */
  record(caller: Caller, client: { address: string; requestId: string }, denial: Denial): void
  /** Resolves once nothing is on its way into the log. */
  idle(): Promise<void>
}

const interval = 60_000
/** Pairs of credential and subject that are remembered: room for each scope of some hundred credentials. */
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
  const recordedAt = new LRUCache<string, number>({ max: maxRemembered })
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
          // The next one is tried again. One of a credential that has just ended is told by what ended it.
          recordedAt.delete(key)
          log.warn({ action, err: error }, 'a refusal could not be written to the audit log')
        })
        .finally(() => pendingWrites.delete(write))
      pendingWrites.add(write)
    },
    async idle() {
      await Promise.all(pendingWrites)
    },
  }
}
