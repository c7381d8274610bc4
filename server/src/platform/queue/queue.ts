import type { Database } from '../database/database.ts'
import type { Sql } from '../model/sql.ts'

/**
 * Work of organizations that waits in a table. docs/architecture.md describes what workers do with it, and
 * `queue.laws.test.ts` states what each queue guarantees. The statements are in the store of its noun.
 */
export interface Queue {
  /** Names it in wakeups and in the log. */
  kind: string
  /** The first organization (uuid) after the given one, in id order, that has a due item. */
  findOrganization: (database: Database, after: string) => Promise<string | undefined>
  /** Seconds until the organization's next item is due or its lease ends, 0 or less if one is due; undefined without any. */
  secondsUntilDue: (database: Database, organizationId: string) => Promise<number | undefined>
  /** Whether a sweep of all organizations finds one: at least if it has a due item. */
  hasWork: (organization: Sql) => Sql
}

/** The lease of a worker on items of one organization. */
export interface Lease {
  organizationId: string
  /** The fencing token: an item with a different one must not be finished, released or delayed by this worker. */
  lease: string
}

/** How often an item may have been lost with its process until it is claimed alone, so that it does not affect others. */
export const maxLossesInBatch = 2

/** Precedes all organizations. */
export const nobody = '00000000-0000-0000-0000-000000000000'

/**
 * What is found after the organization `last` (uuid), in id order and wrapping around: each organization gets one batch
 * before any gets a second.
 */
export async function findInTurn<Found>(
  last: string | undefined,
  find: (after: string) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const found = last === undefined ? undefined : await find(last)
  return found ?? find(nobody)
}

/** How often a failing item is tried again, with delays that double. */
export interface RetryPolicy {
  attempts: number
  firstDelaySeconds: number
  maxDelaySeconds: number
}

/** Seconds from this attempt, counted from 1, to the next one, without jitter. */
export const doublingDelay = ({ firstDelaySeconds, maxDelaySeconds }: RetryPolicy, attempt: number): number =>
  Math.min(maxDelaySeconds, firstDelaySeconds * 2 ** (attempt - 1))
