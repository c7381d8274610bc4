import { type CallerKind, createHashQueue, type HashQueue } from '../identity/access/hash-queue.ts'
import { ApiError } from '../platform/model/errors.ts'
import { createRateLimiter, type LocalRateLimiter, type RateLimiter } from '../platform/http/rate-limit.ts'
import { createConcurrencyLimiter, type ConcurrencyLimiter } from '../platform/background/concurrency-limiter.ts'
import type { Link } from './link.ts'
import type { PrimaryFunctions } from './protocol.ts'

/** What counts for all processes of one service together. */
export interface Limits {
  limiter: RateLimiter
  costlyQueries: ConcurrencyLimiter
  hashing: HashQueue
}

interface LocalLimits extends Limits {
  limiter: LocalRateLimiter
}

/** A queue for turns: of costly queries, or of those who want a password hashed. */
export type Queue = 'costly queries' | CallerKind

/** Limits that this process counts. */
export const createLimits = (config: {
  rateLimitPerMinute: number | undefined
  costlyQueries: number
}): LocalLimits => ({
  limiter: createRateLimiter({ perMinute: config.rateLimitPerMinute }),
  costlyQueries: createConcurrencyLimiter({ concurrency: config.costlyQueries, queue: 64, waitMilliseconds: 3000 }),
  hashing: createHashQueue(),
})

/** What one worker may call of the primary's limits. `end` gives back the turns of a worker that has died. */
export function serveLimits({ limiter, costlyQueries, hashing }: LocalLimits) {
  const slots = new Map<number, () => void>()
  const leave = (slot: number) => {
    slots.get(slot)?.()
    slots.delete(slot)
  }
  let isEnded = false
  const functions = {
    charge: limiter.charge,
    refund: limiter.refund,
    leave,
    enter: (queue: Queue, tenant: string, slot: number) =>
      new Promise<void>((enter, refuse) => {
        const untilReleased = () =>
          new Promise<void>((released) => {
            if (isEnded) return released()
            slots.set(slot, released)
            enter()
          })
        const run =
          queue === 'costly queries'
            ? costlyQueries.run(tenant, untilReleased)
            : hashing.run(queue, tenant, untilReleased)
        run.catch(refuse)
      }),
  } satisfies Partial<PrimaryFunctions>
  const end = () => {
    isEnded = true
    for (const slot of slots.keys()) leave(slot)
  }
  return { functions, end }
}

/** Milliseconds that the primary may take to answer, beyond what a queue lets wait: it is stopped or starved then. */
const responseTimeout = 4000
/** Milliseconds that the longest queue lets wait. */
const maxQueueWait = 15_000

/** The primary's limits, for a worker. Errors: `overloaded` when the primary does not answer. */
export function remoteLimits(link: Link<PrimaryFunctions>, timeout = responseTimeout): Limits {
  let lastSlot = 0
  const withSlot = async <Result>(queue: Queue, tenant: string, work: () => Promise<Result>): Promise<Result> => {
    const slot = ++lastSlot
    const acquired = link.request('enter', queue, tenant, slot)
    const leave = () => link.send('leave', slot)
    try {
      await withTimeout(acquired, maxQueueWait + timeout)
    } catch (error) {
      // A turn that comes too late is given back at once.
      acquired.then(leave, () => undefined)
      throw error
    }
    return work().finally(leave)
  }
  return {
    limiter: {
      charge: (kind, key) => withTimeout(link.request('charge', kind, key), timeout),
      refund: (kind, key) => withTimeout(link.request('refund', kind, key), timeout),
    },
    costlyQueries: { run: (tenant, work) => withSlot('costly queries', tenant, work) },
    hashing: { run: withSlot },
  }
}

function withTimeout<Result>(answer: Promise<Result>, milliseconds: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const refuse = () =>
      reject(new ApiError('overloaded', 'The service cannot keep up. Try again.', { headers: { 'retry-after': '1' } }))
    const timer = setTimeout(refuse, milliseconds)
    const stop = () => clearTimeout(timer)
    answer.then(resolve, reject).then(stop, stop)
  })
}
