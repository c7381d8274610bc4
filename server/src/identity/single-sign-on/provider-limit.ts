import { createConcurrencyLimiter, type ConcurrencyLimiter } from '../../platform/background/concurrency-limiter.ts'

/**
 * What one organization may have of the way out, which all share: how long its provider takes is its own choice. Whoever
 * waits longer than this waits for a provider that is slow, and begins again.
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

/** Of the organizations (uuid) that ask their provider now. */
const limiters = new Map<string, { limiter: ConcurrencyLimiter; active: number }>()

/** Asks the organization's provider when fewer than four others do; `overloaded` when too many wait, or it takes too long. */
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
