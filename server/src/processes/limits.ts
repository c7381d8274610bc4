import { createHashQueue, type HashQueue } from '../identity/access/hash-queue.ts'
import { ApiError } from '../platform/model/errors.ts'
import type { Database } from '../platform/database/database.ts'
import { createRateLimiter, type RateKind, type RateLimiter } from '../platform/http/limits/rate-limit.ts'
import { SharedRateLimiter } from '../platform/http/limits/shared-rate-limit.ts'
import { createConcurrencyLimiter, type ConcurrencyLimiter } from '../platform/background/concurrency-limiter.ts'
import type { Link } from './link.ts'
import type { PrimaryFunctions, Queue } from './protocol.ts'

/** Limits that apply to all processes of a service together. */
export interface Limits {
  limiter: RateLimiter
  costlyQueries: ConcurrencyLimiter
  hashing: HashQueue
  close?(): Promise<void>
}

/**
 * Creates limits that are counted in this process. Rate limits are counted in the database, if given: other services may
 * use it, too.
 */
export function createLimits(
  { rateLimitPerMinute: perMinute, costlyQueries }: { rateLimitPerMinute: number | undefined; costlyQueries: number },
  database?: Database,
): Limits {
  const limiter = database && new SharedRateLimiter({ database, perMinute })
  return {
    limiter: limiter ?? createRateLimiter({ perMinute }),
    costlyQueries: createConcurrencyLimiter({ concurrency: costlyQueries, queue: 64, waitMilliseconds: 3000 }),
    hashing: createHashQueue(),
    ...(limiter && { close: () => limiter.close() }),
  }
}

/** The primary's limits for one worker. `end` releases the slots of a worker that has exited. */
export function serveLimits({ limiter, costlyQueries, hashing }: Limits) {
  const slots = new Map<number, () => void>()
  const release = (slot: number) => {
    slots.get(slot)?.()
    slots.delete(slot)
  }
  let isEnded = false
  const functions = {
    charge: (kind: RateKind, key: string) => limiter.charge(kind, key),
    refund: (kind: RateKind, key: string) => limiter.refund(kind, key),
    release,
    acquire: (queue: Queue, tenant: string, slot: number) =>
      new Promise<void>((acquire, refuse) => {
        const untilReleased = () =>
          new Promise<void>((released) => {
            if (isEnded) return released()
            slots.set(slot, released)
            acquire()
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
    for (const slot of slots.keys()) release(slot)
  }
  return { functions, end }
}

/** Milliseconds to wait for the primary beyond the waiting time of a queue, in case it is stopped or overloaded. */
const responseTimeout = 4000
const maxQueueWait = 15_000

/** The limits of the primary, for a worker. Errors: `overloaded` if the primary does not respond. */
export function remoteLimits(link: Link<PrimaryFunctions>, timeout = responseTimeout): Limits {
  let lastSlot = 0
  const withSlot = async <Result>(queue: Queue, tenant: string, work: () => Promise<Result>): Promise<Result> => {
    const slot = ++lastSlot
    const acquired = link.request('acquire', queue, tenant, slot)
    const release = () => link.send('release', slot)
    try {
      await withTimeout(acquired, maxQueueWait + timeout)
    } catch (error) {
      // A slot that is granted too late is released immediately.
      acquired.then(release, () => undefined)
      throw error
    }
    return work().finally(release)
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

function withTimeout<Result>(response: Promise<Result>, milliseconds: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const refuse = () =>
      reject(new ApiError('overloaded', 'The service cannot keep up. Try again.', { headers: { 'retry-after': '1' } }))
    const timer = setTimeout(refuse, milliseconds)
    const stop = () => clearTimeout(timer)
    response.then(resolve, reject).then(stop, stop)
  })
}
