import { ApiError } from '../http/errors.ts'

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
  full: 'Too many costly queries are waiting. Try again, or narrow this one.',
  late: 'This costly query waited too long for its turn. Try again, or narrow it.',
}

interface Waiter {
  admit(): void
  refuse(description: string): void
}

interface Party {
  running: number
  waiting: Waiter[]
}

/**
 * Lets few costly works run at a time. The next is of the party with the fewest running, among equals the one
 * whose last start is longest ago: one with fifty waiting delays another's one by a single turn at most. Of a full queue
 * a newcomer takes the newest place of the party that holds most, as long as its own would still hold fewer.
 */
export function createGate({ concurrency, queue, waitMilliseconds, refusals = costlyQueries }: GateOptions): Gate {
  const { full, late } = refusals
  /** By name, those that run or wait, in the order of their last start. */
  const parties = new Map<string, Party>()
  let running = 0
  let waiting = 0

  const overloaded = (description: string) =>
    new ApiError('overloaded', description, { headers: { 'retry-after': `${Math.ceil(waitMilliseconds / 1000)}` } })

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
    largest.waiting.at(-1)?.refuse(full)
    return true
  }

  function turn(name: string, party: Party): Promise<void> {
    if (waiting >= queue && !makeRoom(party)) {
      forgetIfIdle(name, party)
      return Promise.reject(overloaded(full))
    }
    waiting += 1
    return new Promise((resolve, reject) => {
      const waiter = {
        admit: () => {
          clearTimeout(timer)
          resolve()
        },
        refuse: (description: string) => {
          clearTimeout(timer)
          party.waiting.splice(party.waiting.indexOf(waiter), 1)
          waiting -= 1
          forgetIfIdle(name, party)
          reject(overloaded(description))
        },
      }
      const timer = setTimeout(() => waiter.refuse(late), waitMilliseconds)
      party.waiting.push(waiter)
    })
  }

  return {
    async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
      const party = parties.get(name) ?? { running: 0, waiting: [] }
      parties.set(name, party)
      if (running < concurrency) start(name, party)
      else await turn(name, party)
      try {
        return await work()
      } finally {
        finish(name, party)
      }
    },
  }
}
