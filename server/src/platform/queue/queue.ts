import type { Database } from '../database/database.ts'
import type { Sql } from '../model/sql.ts'

/** Work of organizations that waits in a table: docs/architecture.md describes it, `queue.laws.test.ts` states its laws. */
export interface Queue {
  kind: string
  /** The first organization (uuid) after the given one, in id order, that has a due item. */
  findOrganization: (database: Database, after: string) => Promise<string | undefined>
  /** Seconds until the organization's next item is due or its lease ends, 0 or less if one is due; undefined without any. */
  secondsUntilDue: (database: Database, organizationId: string) => Promise<number | undefined>
  /** Whether a sweep of all organizations finds one: at least if it has a due item. */
  hasWork: (organization: Sql) => Sql
}

export interface Lease {
  organizationId: string
  /** The fencing token: items with a different one must not be finished, released or delayed by this worker. */
  lease: string
}

/** How often an item may have been lost with its process until it is claimed alone, so that it does not affect others. */
export const maxLossesInBatch = 2

export const nobody = '00000000-0000-0000-0000-000000000000'

/** The next one after the organization `last` (uuid), wrapping around: each gets one batch before any gets a second. */
export async function findInTurn<Found>(
  last: string | undefined,
  find: (after: string) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const found = last === undefined ? undefined : await find(last)
  return found ?? find(nobody)
}

export interface RetryPolicy {
  attempts: number
  firstDelaySeconds: number
  maxDelaySeconds: number
}

/** Seconds from this attempt, counted from 1, to the next one, without jitter. */
export const doublingDelay = ({ firstDelaySeconds, maxDelaySeconds }: RetryPolicy, attempt: number): number =>
  Math.min(maxDelaySeconds, firstDelaySeconds * 2 ** (attempt - 1))
