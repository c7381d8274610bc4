import { ApiError } from '../model/errors.ts'

export interface GateOptions {
  /** Works at a time. */
  concurrency: number
  /** Works that may wait, in all. */
  queue: number
  waitMilliseconds: number
  /** What a work is told that is refused. */
  refusals?: { full: string; late: string }
}

export interface Gate {
  /**
   * Runs `work` when its turn comes; `overloaded` (503) when the queue is full or the wait too long, and then `work`
   * was not started. Works of one party share what there is: those of an organization, or of an address.
   */
  run<Result>(party: string, work: () => Promise<Result>): Promise<Result>
}

const costlyQueries = {
  full: 'Too many expensive queries are waiting. Try again later, or narrow this query with filters on indexed fields.',
  late: 'This expensive query waited too long. Try again later, or narrow it with filters on indexed fields.',
}

interface Waiter {
  admit(): void
  refuse(reason: Rejection): void
}

interface Party {
  running: number
  waiting: Waiter[]
}

/** Why there is no place: too many wait already, or the wait was too long. */
export type Rejection = 'full' | 'late'

export interface LimiterOptions {
  /** Places. */
  concurrency: number
  /** How many may wait for one, in all. */
  queue: number
  rejected: (reason: Rejection) => Error
}

/** Gives a place back; a second call does nothing. */
export type Release = () => void

export interface Limiter {
  /**
   * What gives a place back: at once where there is one, so that the work begins in this turn of the event loop, else after
   * waiting so many milliseconds at most. Parties share the places: the next
   * one goes to the party that has the fewest, among equals to the one whose last start is longest ago, so that one with
   * fifty waiting delays another's one by a single turn at most. Of a full queue a newcomer takes the newest place of the
   * party that holds most, as long as its own would still hold fewer. Error: what `rejected` says.
   */
  acquire(party: string, waitMilliseconds: number): Release | Promise<Release>
}

/** Runs few costly works at a time. */
export function createGate({ waitMilliseconds, refusals = costlyQueries, ...options }: GateOptions): Gate {
  const headers = { 'retry-after': `${Math.ceil(waitMilliseconds / 1000)}` }
  const rejected = (reason: Rejection) => new ApiError('overloaded', refusals[reason], { headers })
  const limiter = createLimiter({ ...options, rejected })
  return {
    async run<Result>(party: string, work: () => Promise<Result>): Promise<Result> {
      const place = limiter.acquire(party, waitMilliseconds)
      const release = place instanceof Promise ? await place : place
      try {
        return await work()
      } finally {
        release()
      }
    },
  }
}

/** The one queue in front of whatever only so many may use at a time. */
export function createLimiter({ concurrency, queue, rejected }: LimiterOptions): Limiter {
  /** By name, those that run or wait, in the order of their last start. */
  const parties = new Map<string, Party>()
  let running = 0
  let waiting = 0

  function start(name: string, party: Party): void {
    running += 1
    party.running += 1
    parties.delete(name)
    parties.set(name, party)
  }

  function finish(name: string, party: Party): void {
    running -= 1
    party.running -= 1
    forgetIfIdle(name, party)
    next()
  }

  function next(): void {
    let chosen: [string, Party] | undefined
    for (const entry of parties) {
      if (entry[1].waiting.length > 0 && entry[1].running < (chosen?.[1].running ?? Infinity)) chosen = entry
    }
    if (!chosen) return
    const [name, party] = chosen
    const waiter = party.waiting.shift()
    waiting -= 1
    start(name, party)
    waiter?.admit()
  }

  function forgetIfIdle(name: string, party: Party): void {
    if (party.running === 0 && party.waiting.length === 0) parties.delete(name)
  }

  /** Makes room in a full queue for one more of `party`, if that is fair. */
  function makeRoom(party: Party): boolean {
    const largest = [...parties.values()].reduce((most, other) =>
      other.waiting.length > most.waiting.length ? other : most,
    )
    if (largest.waiting.length <= party.waiting.length + 1) return false
    largest.waiting.at(-1)?.refuse('full')
    return true
  }

  function turn(name: string, party: Party, waitMilliseconds: number): Promise<void> {
    if (waiting >= queue && !makeRoom(party)) {
      forgetIfIdle(name, party)
      return Promise.reject(rejected('full'))
    }
    waiting += 1
    return new Promise((resolve, reject) => {
      const waiter = {
        admit: () => {
          clearTimeout(timer)
          resolve()
        },
        refuse: (reason: Rejection) => {
          clearTimeout(timer)
          party.waiting.splice(party.waiting.indexOf(waiter), 1)
          waiting -= 1
          forgetIfIdle(name, party)
          reject(rejected(reason))
        },
      }
      const timer = setTimeout(() => waiter.refuse('late'), waitMilliseconds)
      party.waiting.push(waiter)
    })
  }

  function releaseOf(name: string, party: Party): Release {
    let isReleased = false
    return () => {
      if (!isReleased) finish(name, party)
      isReleased = true
    }
  }

  return {
    acquire(name, waitMilliseconds) {
      const party = parties.get(name) ?? { running: 0, waiting: [] }
      parties.set(name, party)
      if (running >= concurrency) return turn(name, party, waitMilliseconds).then(() => releaseOf(name, party))
      start(name, party)
      return releaseOf(name, party)
    },
  }
}
