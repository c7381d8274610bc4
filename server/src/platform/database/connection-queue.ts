import { availableParallelism } from 'node:os'
import pg from 'pg'
import { createFairSemaphore, type FairSemaphore } from '../background/concurrency-limiter.ts'
import { DeadlineExceeded } from './failures.ts'

interface Waiter {
  since: number
  deadline: number
}

/** Milliseconds after which whoever has a connection counts as one that waits, for a lock or a disk, and computes nothing. */
const slotHoldTime = 100

/**
 * Who waits for a connection, in the order they came. Of a database that shares its processors with this process only so
 * many statements run at a time: more would be done no sooner, and keep this process from its turn.
 */
export class ConnectionQueue {
  readonly #limiter: FairSemaphore | undefined
  readonly #waiting = new Set<Waiter>()

  constructor(concurrency: number) {
    const createError = () => new DeadlineExceeded()
    if (concurrency < Infinity) this.#limiter = createFairSemaphore({ concurrency, queue: Infinity, createError })
  }

  get length(): number {
    return this.#waiting.size
  }

  /** Waits for a turn and for the connection that `connect` gives then; the turn ends when that is released. */
  async acquire(connect: () => Promise<pg.PoolClient>, deadline: number): Promise<pg.PoolClient> {
    const waiter = { since: performance.now(), deadline }
    this.#waiting.add(waiter)
    try {
      return this.#limiter ? await acquireSlot(this.#limiter, connect, deadline) : await connect()
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
}

async function acquireSlot(semaphore: FairSemaphore, connect: () => Promise<pg.PoolClient>, deadline: number) {
  const slot = semaphore.acquire('', Math.max(0, deadline - performance.now()))
  const release = slot instanceof Promise ? await slot : slot
  const timer = setTimeout(release, slotHoldTime).unref()
  const endSlot = () => {
    clearTimeout(timer)
    release()
  }
  try {
    const client = await connect()
    const releaseClient = client.release
    client.release = (error) => {
      releaseClient(error)
      endSlot()
    }
    return client
  } catch (error) {
    endSlot()
    throw error
  }
}

/**
 * What is reached over a Unix socket computes on this machine's processors; one of two statements may wait for a disk. So
 * many are shared by all processes of the service.
 */
export const maxConcurrentStatements = (connection: pg.ClientConfig, processes = 1): number =>
  usesUnixSocket(connection) ? Math.max(1, Math.ceil((2 * availableParallelism()) / processes)) : Infinity

/** As `pg` reads it: named by itself, within a connection string or by the environment. */
function usesUnixSocket(connection: pg.ClientConfig): boolean {
  try {
    return new pg.Client(connection).host.startsWith('/')
  } catch {
    // A certificate that cannot be read, for one: whoever connects is told.
    return false
  }
}
