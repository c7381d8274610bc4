import { availableParallelism } from 'node:os'
import { createGate, type Gate } from '../query/gate.ts'

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

/**
 * For works that take a core for a while, such as hashing a password: who logs in waits for others who do, the rest of the
 * service for nobody. Whoever asks for many waits for themselves.
 */
export const createHashQueue = (options: Partial<typeof limits> = {}): Gate =>
  createGate({ ...limits, refusals, ...options })
