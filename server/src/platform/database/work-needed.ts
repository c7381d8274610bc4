import type { ConcurrencyLimiter } from '../background/concurrency-limiter.ts'
import type { Actor } from '../model/caller.ts'
import type { Database } from './database.ts'

export interface WorkTools {
  database: Database
  queryLimiter: ConcurrencyLimiter
}

/** Its results can belong to `copy`, the actor of the repeated transaction and of no other request. */
type Work = (tools: WorkTools, copy: Actor) => Promise<void>

/** Thrown in a request's transaction that needs work too long for it. It is rolled back, and repeated after the work. */
export class WorkNeeded extends Error {
  readonly work: Work

  constructor(work: Work) {
    super('the transaction needs work that has to be done before it')
    this.work = work
  }
}
