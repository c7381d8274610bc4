import { availableParallelism } from 'node:os'
import { createGate } from '../query/gate.ts'

/** Works that take a core for a while, such as hashing a password. */
export interface HashQueue {
  /** Runs `work` in its turn; `overloaded` (503) when it would wait too long, and then it was not started. */
  run<Result>(work: () => Promise<Result>): Promise<Result>
}

const limits = {
  // A core stays for everything else; more than two would take 19 MiB each and help nobody to log in sooner.
  concurrency: Math.min(2, Math.max(1, availableParallelism() - 1)),
  queue: 32,
  waitMilliseconds: 3000,
}

const refusals = {
  full: 'Too many people are logging in or changing their password at this moment. Try again.',
  late: 'Too many people were logging in or changing their password, so this had to wait too long. Try again.',
}

/** A bounded queue in the order of arrival: those who log in wait for each other, the rest of the service for nobody. */
export function createHashQueue(options: Partial<typeof limits> = {}): HashQueue {
  const gate = createGate({ ...limits, refusals, ...options })
  return { run: (work) => gate.run('', work) }
}
