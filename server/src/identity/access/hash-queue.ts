import { availableParallelism } from 'node:os'
import { createConcurrencyLimiter } from '../../platform/background/concurrency-limiter.ts'

const limits = {
  // A core stays for everything else; more than two would take 19 MiB each and help nobody to log in sooner.
  concurrency: Math.min(2, Math.max(1, availableParallelism() - 1)),
  queue: 32,
  waitMilliseconds: 3000,
  /** A full queue of known callers takes half of the turns, so it needs longer. */
  knownWaitMilliseconds: 15_000,
}

const refusals = {
  full: 'Too many people are logging in or changing their password right now. Try again.',
  late: 'The request waited too long because too many people are logging in or changing their password. Try again.',
}

/** Who asks: `known` has shown a device that the account knows, a session or a one-time link. Anybody can be a `stranger`. */
export type CallerKind = 'known' | 'stranger'

export interface HashQueue {
  /**
   * Runs `work` when its turn comes; `overloaded` (503) when the asker's queue is full or the wait too long, and then `work`
   * was not started. Works of one party share the turns.
   */
  run<Result>(callerKind: CallerKind, clientKey: string, work: () => Promise<Result>): Promise<Result>
}

/**
 * For works that take a core for a while, such as hashing a password: who logs in waits for others who do, the rest of the
 * service for nobody. Known callers and strangers have a queue each and take turns, so that no number of strangers keeps a
 * known caller out, nor the other way round. Within a queue, whoever asks for many waits for themselves.
 */
export function createHashQueue(options: Partial<typeof limits> = {}): HashQueue {
  const { concurrency, queue, waitMilliseconds, knownWaitMilliseconds } = { ...limits, ...options }
  const common = { concurrency, queue, messages: refusals }
  const queues = {
    known: createConcurrencyLimiter({ ...common, waitMilliseconds: knownWaitMilliseconds }),
    stranger: createConcurrencyLimiter({ ...common, waitMilliseconds }),
  }
  // Each queue lets in as many as may run, so that one waits here for a single turn of the other's at most.
  const shared = createConcurrencyLimiter({
    ...common,
    queue: 2 * concurrency,
    waitMilliseconds: knownWaitMilliseconds,
  })
  return {
    run: (callerKind, clientKey, work) => queues[callerKind].run(clientKey, () => shared.run(callerKind, work)),
  }
}
