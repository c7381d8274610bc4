import { availableParallelism } from 'node:os'
import pg from 'pg'
import { createFairSemaphore, type FairSemaphore } from '../background/concurrency-limiter.ts'
import { DeadlineExceeded } from './failures.ts'

interface Waiter {
  since: number
  deadline: number
}

/** Milliseconds after which a connection in use no longer counts: it probably waits for a lock or a disk. */
const slotHoldTime = 100

/** Queues requests in order. If the database is on this machine, limits statements: more would not finish sooner. */
export class ConnectionQueue {
  readonly #semaphore: FairSemaphore | undefined
  readonly #waiting = new Set<Waiter>()

  constructor(concurrency: number) {
    const createError = () => new DeadlineExceeded()
    if (concurrency < Infinity) this.#semaphore = createFairSemaphore({ concurrency, queue: Infinity, createError })
  }

  get length(): number {
    return this.#waiting.size
  }

  /** Waits for a slot, then for the connection from `connect`. Releasing the connection frees the slot. */
  async acquire(connect: () => Promise<pg.PoolClient>, deadline: number): Promise<pg.PoolClient> {
    const waiter = { since: performance.now(), deadline }
    this.#waiting.add(waiter)
    try {
      return this.#semaphore ? await acquireSlot(this.#semaphore, connect, deadline) : await connect()
    } finally {
      this.#waiting.delete(waiter)
    }
  }

  /** Milliseconds that the longest waiter has been waiting. */
  get longestWait(): number {
    const now = performance.now()
    // A waiter past its deadline has already been answered.
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

/** Two statements per processor if the database is on this machine, because one may be waiting for a disk. */
export const maxConcurrentStatements = (connection: pg.ClientConfig, processes = 1): number =>
  usesUnixSocket(connection) ? Math.max(1, Math.ceil((2 * availableParallelism()) / processes)) : Infinity

/** Parsed by `pg` itself: the host can come from the configuration, a connection string or the environment. */
function usesUnixSocket(connection: pg.ClientConfig): boolean {
  try {
    return new pg.Client(connection).host.startsWith('/')
  } catch {
    // For example, a certificate cannot be read: connecting reports that.
    return false
  }
}
