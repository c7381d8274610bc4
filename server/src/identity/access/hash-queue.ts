import { availableParallelism } from 'node:os'
import { createConcurrencyLimiter } from '../../platform/background/concurrency-limiter.ts'

const limits = {
  // One core stays free for everything else. Each hash takes 19 MiB, and more than two at once speed up no login.
  concurrency: Math.min(2, Math.max(1, availableParallelism() - 1)),
  queue: 32,
  waitMilliseconds: 3000,
  /** Known callers get at least every second slot, so a full queue takes longer to drain. */
  knownWaitMilliseconds: 15_000,
}

const messages = {
  full: 'Too many people are logging in or changing their password right now. Try again.',
  late: 'The request waited too long because too many people are logging in or changing their password. Try again.',
}

/** `known` callers have a known device of the account, a session or a one-time link; all others are `unknown`. */
export type CallerKind = 'known' | 'unknown'

export interface HashQueue {
  /**
   * Queues `work`; throws `overloaded` (503), without starting it, if the queue is full or the wait too long. Callers
   * with the same key share their slots.
   */
  run<Result>(callerKind: CallerKind, clientKey: string, work: () => Promise<Result>): Promise<Result>
}

/**
 * Limits CPU-bound work such as password hashing: logins wait for each other, and the rest of the service does not
 * wait. Known and unknown callers have separate queues that alternate, so neither can crowd out the other. Each queue
 * is fair among clients: one that sends many requests delays only itself.
 */
export function createHashQueue(options: Partial<typeof limits> = {}): HashQueue {
  const { concurrency, queue, waitMilliseconds, knownWaitMilliseconds } = { ...limits, ...options }
  const common = { concurrency, queue, messages }
  const queues = {
    known: createConcurrencyLimiter({ ...common, waitMilliseconds: knownWaitMilliseconds }),
    unknown: createConcurrencyLimiter({ ...common, waitMilliseconds }),
  }
  // Each queue admits as many as may run, so a job waits here for at most one job of the other queue.
  const shared = createConcurrencyLimiter({
    ...common,
    queue: 2 * concurrency,
    waitMilliseconds: knownWaitMilliseconds,
  })
  return {
    run: (callerKind, clientKey, work) => queues[callerKind].run(clientKey, () => shared.run(callerKind, work)),
  }
}
