import { createGate, type Gate } from '../../platform/background/limiter.ts'

/**
 * What one organization may have of the way out, which all share: how long its provider takes is its own choice. Whoever
 * waits longer than this waits for a provider that is slow, and begins again.
 */
const limits = {
  concurrency: 4,
  queue: 16,
  waitMilliseconds: 2000,
  refusals: {
    full: 'Too many logins are waiting for this provider. Try again in a moment.',
    late: 'Other logins are waiting for this provider. Try again in a moment.',
  },
}

/** Of the organizations (uuid) that ask their provider now. */
const shares = new Map<string, { gate: Gate; inside: number }>()

/** Asks the organization's provider when fewer than four others do; `overloaded` when too many wait, or it takes too long. */
export async function inShare<Result>(organizationId: string, ask: () => Promise<Result>): Promise<Result> {
  const share = shares.get(organizationId) ?? { gate: createGate(limits), inside: 0 }
  shares.set(organizationId, share)
  share.inside++
  try {
    return await share.gate.run(organizationId, ask)
  } finally {
    share.inside--
    if (share.inside === 0) shares.delete(organizationId)
  }
}
