import { availableParallelism } from 'node:os'
import pg from 'pg'
import { createFairSemaphore, type FairSemaphore, type Release } from '../background/concurrency-limiter.ts'
import { DeadlineExceeded } from './failures.ts'

interface Waiter {
  since: number
  deadline: number
}

export interface ConnectionQueueOptions {
  connections: number
  /** Statements that run at a time; Infinity if the database is on another machine. */
  statements: number
  /** Do the tenants have shares? Otherwise, everybody waits in one queue, that of the pool. */
  isShared: boolean
}

/** Of statements that belong to no organization or person. */
export const commonTenant = ''

/** Maximum waiters per connection: about a quarter of a second's work. */
const maxQueuePerConnection = 16
/** Milliseconds after which a connection in use no longer counts: it probably waits for a lock or a disk. */
const slotHoldTime = 100

/**
 * Queues statements, each tenant's in order. The tenants get connections in turn, and one of them may hold all but a
 * quarter: the rest is for the others, however long its statements wait for locks. If the database is on this machine, it
 * limits statements, too: more would not finish sooner.
 */
export class ConnectionQueue {
  readonly #connections: FairSemaphore | undefined
  readonly #statements: FairSemaphore | undefined
  readonly #waiting = new Map<string, Set<Waiter>>()
  readonly #size: number
  #length = 0

  constructor({ connections, statements, isShared }: ConnectionQueueOptions) {
    this.#size = connections
    if (!isShared) return
    const options = { queue: Infinity, createError: () => new DeadlineExceeded() }
    // A request may need a second connection while it holds one.
    const reserved = connections < 3 ? 0 : Math.max(1, Math.floor(connections / 4))
    this.#connections = createFairSemaphore({ concurrency: connections - reserved, reserved, ...options })
    if (statements === Infinity) return
    this.#statements = createFairSemaphore({
      concurrency: statements,
      reserved: Math.ceil(statements / 2),
      // Next to others: each statement more makes theirs slower, and keeps no processor busier.
      share: Math.ceil(statements / 2),
      ...options,
    })
  }

  get length(): number {
    return this.#length
  }

  async acquire(tenantKey: string, connect: () => Promise<pg.PoolClient>, deadline: number): Promise<pg.PoolClient> {
    const remove = this.#add(tenantKey, { since: performance.now(), deadline })
    try {
      const { client, releases } = await this.#connect(tenantKey, connect, deadline)
      const releaseClient = client.release
      client.release = (error) => {
        releaseClient(error)
        releaseAll(releases)
      }
      return client
    } finally {
      remove()
    }
  }

  /**
   * Milliseconds that the tenant's longest waiter has been waiting. 0 with fewer than there are connections, and more being
   * opened: they may only wait for this process. Infinity if the queue is full and the tenant has its share.
   */
  longestWait(tenantKey: string, opening: number): number {
    const own = this.#waiting.get(tenantKey)?.size ?? 0
    if (own < this.#size + opening) return 0
    const isFull = this.#length >= maxQueuePerConnection * this.#size
    if (isFull && own >= this.#length / this.#waiting.size) return Infinity
    const now = performance.now()
    // A waiter past its deadline has already been answered.
    for (const { since, deadline } of this.#waiting.get(tenantKey) ?? []) if (deadline > now) return now - since
    return 0
  }

  #add(tenantKey: string, waiter: Waiter): () => void {
    const waiters = this.#waiting.get(tenantKey) ?? new Set()
    this.#waiting.set(tenantKey, waiters.add(waiter))
    this.#length++
    return () => {
      this.#length--
      waiters.delete(waiter)
      if (waiters.size === 0) this.#waiting.delete(tenantKey)
    }
  }

  async #connect(tenantKey: string, connect: () => Promise<pg.PoolClient>, deadline: number) {
    const releases: Release[] = []
    try {
      // A connection first: who waits for one must not hold the place of a statement.
      for (const semaphore of [this.#connections, this.#statements]) {
        if (!semaphore) continue
        const slot = semaphore.acquire(tenantKey, Math.max(0, deadline - performance.now()))
        const release = slot instanceof Promise ? await slot : slot
        releases.push(semaphore === this.#statements ? releaseInTime(release) : release)
      }
      return { client: await connect(), releases }
    } catch (error) {
      releaseAll(releases)
      throw error
    }
  }
}

const releaseAll = (releases: readonly Release[]): void => releases.forEach((release) => release())

function releaseInTime(release: Release): Release {
  const timer = setTimeout(release, slotHoldTime).unref()
  return () => {
    clearTimeout(timer)
    release()
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
