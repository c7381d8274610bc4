import { createConcurrencyLimiter, type ConcurrencyLimiter } from '../../platform/background/concurrency-limiter.ts'

/**
 * The limits per organization for requests to its provider: a slow provider must not use up the outgoing requests that
 * all organizations share. A login that waits longer is rejected and can be started again.
 */
const limits = {
  concurrency: 4,
  queue: 16,
  waitMilliseconds: 2000,
  messages: {
    full: 'Too many logins are waiting for this provider. Try again in a moment.',
    late: 'Other logins are waiting for this provider. Try again in a moment.',
  },
}

/** By organization (uuid), while it has requests. */
const limiters = new Map<string, { limiter: ConcurrencyLimiter; active: number }>()

/**
 * Runs at most four requests to an organization's provider at once; `overloaded` if too many wait or the wait is too
 * long.
 */
export async function limitPerOrganization<Result>(
  organizationId: string,
  request: () => Promise<Result>,
): Promise<Result> {
  const entry = limiters.get(organizationId) ?? { limiter: createConcurrencyLimiter(limits), active: 0 }
  limiters.set(organizationId, entry)
  entry.active++
  try {
    return await entry.limiter.run(organizationId, request)
  } finally {
    entry.active--
    if (entry.active === 0) limiters.delete(organizationId)
  }
}
