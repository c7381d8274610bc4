import { availableParallelism } from 'node:os'
import pg from 'pg'
import { DeadlineExceeded } from './failures.ts'

interface Waiter {
  since: number
  deadline: number
}

/** Milliseconds after which whoever has a connection counts as one that waits, for a lock or a disk, and computes nothing. */
const computing = 100

/**
 * Who waits for a connection, in the order they came. Of a database that shares its processors with this process only so
 * many statements run at a time: more would be done no sooner, and keep this process from its turn.
 */
export class Line {
  readonly #atOnce: number
  readonly #waiting = new Set<Waiter>()
  readonly #turns: (Waiter & { begin: () => void; giveUp: (error: Error) => void })[] = []
  #running = 0

  constructor(atOnce: number) {
    this.#atOnce = atOnce
  }

  get length(): number {
    return this.#waiting.size
  }

  /** Waits for a turn and for the connection that `connect` gives then; the turn ends when that is released. */
  async pass(connect: () => Promise<pg.PoolClient>, deadline: number): Promise<pg.PoolClient> {
    const waiter = { since: performance.now(), deadline }
    this.#waiting.add(waiter)
    try {
      return this.#atOnce === Infinity ? await connect() : await this.#inTurn(connect, waiter)
    } finally {
      this.#waiting.delete(waiter)
    }
  }

  /** Milliseconds that the one who has waited longest has waited by now. */
  get longestWait(): number {
    const now = performance.now()
    // Whoever's time is over has been answered, and only waits to be let go.
    for (const { since, deadline } of this.#waiting) if (deadline > now) return now - since
    return 0
  }

  async #inTurn(connect: () => Promise<pg.PoolClient>, waiter: Waiter): Promise<pg.PoolClient> {
    if (this.#running < this.#atOnce) this.#running++
    else await new Promise<void>((begin, giveUp) => this.#turns.push({ ...waiter, begin, giveUp }))
    let isOver = false
    const end = () => {
      clearTimeout(timer)
      if (!isOver) this.#next()
      isOver = true
    }
    const timer = setTimeout(end, computing).unref()
    try {
      const client = await connect()
      const release = client.release
      client.release = (error) => {
        release(error)
        end()
      }
      return client
    } catch (error) {
      end()
      throw error
    }
  }

  /** A turn has ended: the next one's begins. */
  #next(): void {
    const now = performance.now()
    for (let next = this.#turns.shift(); next; next = this.#turns.shift()) {
      if (next.deadline > now) return next.begin()
      next.giveUp(new DeadlineExceeded())
    }
    this.#running--
  }
}

/** What is reached over a Unix socket computes on this machine's processors; one of two statements may wait for a disk. */
export const statementsAtOnce = (connection: pg.ClientConfig): number =>
  isReachedOverSocket(connection) ? 2 * availableParallelism() : Infinity

/** As `pg` reads it: named by itself, within a connection string or by the environment. */
function isReachedOverSocket(connection: pg.ClientConfig): boolean {
  try {
    return new pg.Client(connection).host.startsWith('/')
  } catch {
    // A certificate that cannot be read, for one: whoever connects is told.
    return false
  }
}
