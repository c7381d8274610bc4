import type pg from 'pg'
import { DeadlineExceeded, isUnusableConnection } from './failures.ts'

/** Milliseconds after which a read no longer waits for the statements before it. */
const slowTime = 100
/** Milliseconds after which an unused connection goes back to the pool, as others there are closed after that time. */
const idleTime = 60_000
/** Statements at a time, and those of one tenant: a few milliseconds' work. */
const maxPending = 16
const maxPendingOfOne = 8

/**
 * Connections that cheap reads share. Statements of one turn of the event loop are sent in one write, and their results
 * arrive in few: each write costs as much as the rest of such a statement, and wakes the process at the other end.
 */
export class SharedConnections {
  readonly #connections: readonly SharedConnection[]

  constructor(count: number, connect: () => Promise<pg.PoolClient>) {
    this.#connections = Array.from({ length: count }, () => new SharedConnection(connect))
  }

  /**
   * Throws `DeadlineExceeded` or the database's error. Undefined if the statement needs a connection of its own: none is
   * open yet, all have enough to do, a statement before it takes long, or the connection was lost.
   */
  send<Row extends pg.QueryResultRow>(
    query: pg.QueryConfig,
    { tenantKey, deadline }: { tenantKey: string; deadline: number },
  ): Promise<pg.QueryResult<Row> | undefined> | undefined {
    let chosen: SharedConnection | undefined
    for (const one of this.#connections)
      if (one.isFreeFor(tenantKey) && (!chosen || one.pending < chosen.pending)) chosen = one
    return chosen?.send(query, tenantKey, deadline) as Promise<pg.QueryResult<Row> | undefined> | undefined
  }

  get idle(): number {
    return this.#connections.filter((one) => one.isIdle).length
  }

  get opening(): number {
    return this.#connections.filter((one) => one.isOpening).length
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((one) => one.close()))
  }
}

interface Pending {
  tenantKey: string
  since: number
  deadline: number
  /** Nobody waits for its result any more. */
  isAnswered: boolean
  resolve: (result: pg.QueryResult | undefined) => void
  reject: (error: Error) => void
}

class SharedConnection {
  readonly #connect: () => Promise<pg.PoolClient>
  #client: pg.PoolClient | undefined
  #connecting: Promise<void> | undefined
  #isClosed = false
  #pending: Pending[] = []
  #isCorked = false
  #watch: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined

  constructor(connect: () => Promise<pg.PoolClient>) {
    this.#connect = connect
  }

  get pending(): number {
    return this.#pending.length
  }

  get isIdle(): boolean {
    return this.#client !== undefined && this.#pending.length === 0
  }

  get isOpening(): boolean {
    return this.#connecting !== undefined
  }

  /** If the connection is not open yet, opens it for later statements. */
  isFreeFor(tenantKey: string): boolean {
    if (this.#isClosed) return false
    if (!this.#client) {
      this.#connecting ??= this.#open().finally(() => (this.#connecting = undefined))
      return false
    }
    const [first] = this.#pending
    if (!first) return true
    if (this.#pending.length >= maxPending || performance.now() - first.since > slowTime) return false
    let own = 0
    for (const one of this.#pending) if (one.tenantKey === tenantKey) own++
    return own < maxPendingOfOne
  }

  send(query: pg.QueryConfig, tenantKey: string, deadline: number): Promise<pg.QueryResult | undefined> {
    const client = this.#client
    if (!client) throw new Error('the shared connection is not open')
    return new Promise((resolve, reject) => {
      const pending = { tenantKey, since: performance.now(), deadline, isAnswered: false, resolve, reject }
      this.#pending.push(pending)
      this.#watch ??= setTimeout(() => this.#checkTimes(), slowTime)
      this.#cork(client)
      client.query(query, (error: Error | null, result: pg.QueryResult) => this.#settle(pending, error, result))
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#connecting
    while (this.#pending.length > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    this.#discard()
  }

  async #open(): Promise<void> {
    const client = await this.#connect().catch(() => undefined) // The statement's own connection reports the error.
    client?.once('end', () => {
      if (this.#client === client) this.#discard(new Error('Connection terminated'))
    })
    this.#client = client
    if (this.#isClosed) this.#discard()
    else this.#idle = setTimeout(() => this.#endIdle(), idleTime).unref()
  }

  #cork({ connection: { stream } }: pg.PoolClient): void {
    if (this.#isCorked) return
    this.#isCorked = true
    stream.cork()
    setImmediate(() => {
      this.#isCorked = false
      stream.uncork()
    })
  }

  #settle(pending: Pending, error: Error | null, result: pg.QueryResult): void {
    const index = this.#pending.indexOf(pending)
    if (index < 0) return // Settled before: `pg` reports a query that it cannot send twice.
    this.#pending.splice(index, 1)
    this.#idle?.refresh()
    if (!error) return pending.resolve(result)
    pending.reject(error)
    // An error before the earlier results: `pg` did not send the query, and no longer knows what is prepared.
    if (isUnusableConnection(error) || index > 0) this.#discard(error)
  }

  /** Repeated while results are awaited, after those that have already arrived: this process may have taken so long. */
  #checkTimes(): void {
    setImmediate(() => {
      this.#watch = undefined
      const now = performance.now()
      const [first] = this.#pending
      if (first?.isAnswered) return this.#discard(new DeadlineExceeded())
      for (const one of this.#pending) {
        if (now > one.deadline) answer(one, () => one.reject(new DeadlineExceeded()))
        else if (one !== first && now - one.since > slowTime) answer(one, () => one.resolve(undefined))
      }
      if (first?.isAnswered) return this.#discard(new DeadlineExceeded())
      if (first) this.#watch = setTimeout(() => this.#checkTimes(), slowTime)
    })
  }

  #endIdle(): void {
    if (this.#pending.length === 0) this.#discard()
    else this.#idle?.refresh()
  }

  /** With an error, its statement may never end: ends the connection. What was sent is sent again elsewhere. */
  #discard(error?: Error): void {
    const client = this.#client
    const pending = this.#pending
    this.#client = undefined
    this.#pending = []
    clearTimeout(this.#watch)
    clearTimeout(this.#idle)
    this.#watch = undefined
    this.#idle = undefined
    if (error) client?.connection.stream.destroy()
    client?.release(error)
    for (const { resolve } of pending) resolve(undefined)
  }
}

function answer(pending: Pending, settle: () => void): void {
  pending.isAnswered = true
  settle()
}
