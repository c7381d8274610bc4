import type { Logger } from 'pino'
import { errorForLog } from '../background/error-for-log.ts'
import { type Loop, startLoop, withJitter } from '../background/loop.ts'
import type { Database } from '../database/database.ts'
import { isTransient } from '../database/failures.ts'
import type { Sql } from '../model/sql.ts'
import { findInTurn, type Queue } from './queue.ts'
import { RecentTouches } from './recent-touches.ts'
import {
  claimSweep,
  findDue,
  findWork,
  postpone,
  remove,
  retryLater,
  touch,
  type Wakeup,
  type SweptQueue,
} from './wakeups-store.ts'

export interface WakeupsOptions {
  database: Database
  log: Logger
}

/** Works on a batch of the organization (uuid); resolves to false if other workers have taken all of it. */
export type Work = (organizationId: string, signal: AbortSignal) => Promise<boolean>

/** What a worker does again and again. */
export interface Turns {
  /** The organization (uuid) whose turn is after that of the last one; undefined if the queue is empty. */
  choose: (last: string | undefined) => Promise<string | undefined>
  work: Work
}

/** Seconds until the work of an organization is tried again whose shard cannot be used. */
const retrySeconds = 5
const sweepSeconds = 60
/** Milliseconds until a process asks again whether it is its turn to visit all shards. */
export const turnInterval = 5000

/**
 * Where there may be work, so that workers do not search all shards of a distributed database. Work is announced after it
 * is committed: a crash in between delays it until the next sweep. On a single server, workers search the queue itself.
 */
export class Wakeups {
  readonly #database: Database
  readonly #log: Logger
  readonly #recent: RecentTouches
  readonly #pending = new Set<Promise<void>>()

  constructor({ database, log }: WakeupsOptions, recent = new RecentTouches()) {
    this.#database = database
    this.#log = log
    this.#recent = recent
  }

  /** Whether workers search the queues themselves, without wakeups. */
  get searchesQueues(): boolean {
    return !this.#database.isDistributed
  }

  /** Calls `wake` when workers can find the work. */
  announce(kind: string, organizationIds: Iterable<string>, wake: () => void): void {
    if (!this.#database.isDistributed) return wake()
    const touched = this.touch(kind, organizationIds)
      .catch((error: unknown) => {
        if (!isTransient(error)) this.#log.error(errorForLog(error), 'wakeups: announcing work failed')
      })
      .then(wake)
      .finally(() => this.#pending.delete(touched))
    this.#pending.add(touched)
  }

  async touch(kind: string, organizationIds: Iterable<string>): Promise<void> {
    const uncovered = this.#recent.takeUncovered(kind, organizationIds)
    if (uncovered.length === 0) return
    try {
      await touch(this.#database, kind, uncovered)
    } catch (error) {
      this.#recent.forget(kind, uncovered)
      throw error
    }
  }

  async idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }

  /** The turns of one worker. In a distributed database, they follow the wakeups: without any, nothing is sent to the shards. */
  turns(
    { kind, findOrganization, secondsUntilDue }: Omit<Queue, 'hasWork'>,
    { work, onError }: { work: Work; onError: (error: unknown) => void },
  ): Turns {
    const database = this.#database
    let wakeup: Wakeup | undefined
    const respond = async (found: Wakeup, signal: AbortSignal): Promise<boolean> => {
      const seconds = await secondsUntilDue(database, found.organizationId)
      if (seconds === undefined || seconds > 0) {
        await putOff(database, found, seconds)
        return true
      }
      const hasWorked = await work(found.organizationId, signal)
      // Another worker may have postponed it to the end of a lease that is over now.
      await this.touch(kind, [found.organizationId])
      return hasWorked
    }
    return {
      choose: async (last) => {
        if (!database.isDistributed) return findInTurn(last, (after) => findOrganization(database, after))
        wakeup = await findDue(database, kind, last)
        return wakeup?.organizationId
      },
      work: async (organizationId, signal) => {
        if (wakeup === undefined) return work(organizationId, signal)
        try {
          return await respond(wakeup, signal)
        } catch (error) {
          onError(error)
          await retryLater(database, wakeup, retrySeconds)
          return false
        }
      },
    }
  }
}

async function putOff(database: Database, wakeup: Wakeup, seconds: number | undefined): Promise<void> {
  if (wakeup.coveredSeconds > 0) await postpone(database, wakeup, Math.min(seconds ?? Infinity, wakeup.coveredSeconds))
  else if (seconds === undefined) await remove(database, wakeup)
  else await postpone(database, wakeup, seconds)
}

export interface SweepOptions extends WakeupsOptions {
  ready: Promise<unknown>
  /** A relation with one row of each organization, stored with its records. */
  organizations: Sql
  kinds: readonly SweptQueue[]
  /** What names the turns, and the seconds between two of them: for work that nobody announces. */
  name?: string
  seconds?: number
}

/** Finds work that was not announced: at the start, and once a minute in one of all processes. */
export function startSweep({
  database,
  log,
  ready,
  organizations,
  kinds,
  name = 'sweep',
  seconds = sweepSeconds,
}: SweepOptions): Loop {
  const takeTurn = sharedTurns(database, name, seconds)
  return startLoop({
    ready,
    retryMilliseconds: turnInterval,
    onError: (error) => {
      if (!isTransient(error)) log.error(errorForLog(error), 'wakeups: a sweep failed; it will be retried')
    },
    run: async () => {
      if (!database.isDistributed) return sweepSeconds * 1000
      if (await takeTurn()) await sweep(database, organizations, kinds)
      return withJitter(Math.min(turnInterval, seconds * 1000))
    },
  })
}

/** In a distributed database: true once at the start, and then for one of all processes in this time. */
export function sharedTurns(database: Database, kind: string, seconds: number): () => Promise<boolean> {
  let isFirst = true
  return async () => {
    if (!database.isDistributed) return true
    const isClaimed = await claimSweep(database, kind, seconds)
    const isTurn = isClaimed || isFirst
    isFirst = false
    return isTurn
  }
}

export async function sweep(database: Database, organizations: Sql, kinds: readonly SweptQueue[]): Promise<void> {
  const found = await findWork(database, organizations, kinds)
  for (const [kind, organizationIds] of found)
    if (organizationIds.length > 0) await touch(database, kind, organizationIds)
}
