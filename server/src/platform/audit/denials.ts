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
  about: string
  /** The path of the route, with its parameters in braces. */
  route: string
}

/** Writes refusals into the audit log, off the request's way. */
export interface Denials {
  /** Each credential and subject once a minute; a fault of the database is told in the log alone. */
  note(caller: Caller, client: { address: string; requestId: string }, denial: Denial): void
  /** Resolves once nothing is on its way into the log. */
  idle(): Promise<void>
}

const interval = 60_000
/** Pairs of credential and subject that are remembered: room for each scope of some hundred credentials. */
const remembered = 10_000

export function createDenials({
  database,
  log,
  clock = Date.now,
}: {
  database: Database
  log: Logger
  clock?: () => number
}): Denials {
  const told = new LRUCache<string, number>({ max: remembered })
  const writing = new Set<Promise<void>>()
  return {
    note(caller, { address, requestId }, { action, about, route }) {
      const key = `${caller.organizationId} ${caller.credentialId} ${about}`
      const now = clock()
      if (now - (told.get(key) ?? -Infinity) < interval) return
      told.set(key, now)
      const { organizationId } = caller
      const details = { [action === 'scope.denied' ? 'scope' : 'reason']: about, route }
      const event = { organizationId, action, ...actorOf(caller), address, requestId, details }
      const written = database
        .transaction(caller, (transaction) => recordEvent(transaction, event))
        .catch((error: unknown) => {
          // The next one is tried again. One of a credential that has just ended is told by what ended it.
          told.delete(key)
          log.warn({ action, err: error }, 'a refusal could not be written to the audit log')
        })
        .finally(() => writing.delete(written))
      writing.add(written)
    },
    async idle() {
      await Promise.all(writing)
    },
  }
}
