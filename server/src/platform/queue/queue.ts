import type { Database } from '../database/database.ts'
import type { SweptWork } from './wakeups-store.ts'

/**
 * Work of organizations that waits in a table. docs/architecture.md describes the steps of a worker, and
 * `queue.laws.test.ts` states what each queue guarantees. Its statements are in the store of its noun.
 */
export interface Queue extends SweptWork {
  /** The first organization (uuid) after the given one, in id order, that has a due item. */
  findOrganization: (database: Database, after: string) => Promise<string | undefined>
  /** Seconds until the organization's next item is due or its lease ends, 0 or less if one is due; undefined without any. */
  secondsUntilDue: (database: Database, organizationId: string) => Promise<number | undefined>
}

/** The lease of a worker on items of one organization. */
export interface Lease {
  organizationId: string
  /** The fencing token: an item with a different one must not be finished, released or delayed by this worker. */
  lease: string
}

/** Number of processes that an item may end, or seem to, before it is claimed alone, so that it does not affect others. */
export const maxLossesInBatch = 2

const beforeAll = '00000000-0000-0000-0000-000000000000'

/**
 * The organization (uuid) whose turn is after `last`, wrapping around: each gets one batch before any gets a second.
 * Undefined if no organization has a due item.
 */
export async function nextOrganization(
  { findOrganization }: Pick<Queue, 'findOrganization'>,
  database: Database,
  last: string | undefined,
): Promise<string | undefined> {
  const found = last === undefined ? undefined : await findOrganization(database, last)
  return found ?? findOrganization(database, beforeAll)
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
