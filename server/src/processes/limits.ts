import { type Asker, createHashQueue, type HashQueue } from '../identity/access/hash-queue.ts'
import { ApiError } from '../platform/model/errors.ts'
import { createRateLimiter, type LocalRateLimiter, type RateLimiter } from '../platform/http/rate-limit.ts'
import { createGate, type Gate } from '../platform/background/limiter.ts'
import type { Link } from './link.ts'
import type { PrimaryFunctions } from './protocol.ts'

/** What counts for all processes of one service together. */
export interface Limits {
  limiter: RateLimiter
  costlyQueries: Gate
  hashing: HashQueue
}

interface LocalLimits extends Limits {
  limiter: LocalRateLimiter
}

/** A queue for turns: of costly queries, or of those who want a password hashed. */
export type Queue = 'costly queries' | Asker

/** Limits that this process counts. */
export const createLimits = (config: {
  rateLimitPerMinute: number | undefined
  costlyQueries: number
}): LocalLimits => ({
  limiter: createRateLimiter({ perMinute: config.rateLimitPerMinute }),
  costlyQueries: createGate({ concurrency: config.costlyQueries, queue: 64, waitMilliseconds: 3000 }),
  hashing: createHashQueue(),
})

/** What one worker may call of the primary's limits. `end` gives back the turns of a worker that has died. */
export function serveLimits({ limiter, costlyQueries, hashing }: LocalLimits) {
  const turns = new Map<number, () => void>()
  const leave = (turn: number) => {
    turns.get(turn)?.()
    turns.delete(turn)
  }
  let isOver = false
  const functions = {
    charge: limiter.charge,
    refund: limiter.refund,
    leave,
    enter: (queue: Queue, party: string, turn: number) =>
      new Promise<void>((enter, refuse) => {
        const untilItLeaves = () =>
          new Promise<void>((left) => {
            if (isOver) return left()
            turns.set(turn, left)
            enter()
          })
        const run =
          queue === 'costly queries'
            ? costlyQueries.run(party, untilItLeaves)
            : hashing.run(queue, party, untilItLeaves)
        run.catch(refuse)
      }),
  } satisfies Partial<PrimaryFunctions>
  const end = () => {
    isOver = true
    for (const turn of turns.keys()) leave(turn)
  }
  return { functions, end }
}

/** Milliseconds that the primary may take to answer, beyond what a queue lets wait: it is stopped or starved then. */
const answerTimeout = 4000
/** Milliseconds that the longest queue lets wait. */
const longestQueue = 15_000

/** The primary's limits, for a worker. Errors: `overloaded` when the primary does not answer. */
export function remoteLimits(link: Link<PrimaryFunctions>, timeout = answerTimeout): Limits {
  let lastTurn = 0
  const inTurn = async <Result>(queue: Queue, party: string, work: () => Promise<Result>): Promise<Result> => {
    const turn = ++lastTurn
    const entered = link.ask('enter', queue, party, turn)
    const leave = () => link.tell('leave', turn)
    try {
      await inTime(entered, longestQueue + timeout)
    } catch (error) {
      // A turn that comes too late is given back at once.
      entered.then(leave, () => undefined)
      throw error
    }
    return work().finally(leave)
  }
  return {
    limiter: {
      charge: (kind, key) => inTime(link.ask('charge', kind, key), timeout),
      refund: (kind, key) => inTime(link.ask('refund', kind, key), timeout),
    },
    costlyQueries: { run: (party, work) => inTurn('costly queries', party, work) },
    hashing: { run: inTurn },
  }
}

function inTime<Result>(answer: Promise<Result>, milliseconds: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const refuse = () =>
      reject(new ApiError('overloaded', 'The service cannot keep up. Try again.', { headers: { 'retry-after': '1' } }))
    const timer = setTimeout(refuse, milliseconds)
    const stop = () => clearTimeout(timer)
    answer.then(resolve, reject).then(stop, stop)
  })
}
