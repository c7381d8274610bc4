import type pg from 'pg'
import { DeadlineExceeded, isUnusableConnection } from './failures.ts'

/** Milliseconds without a result after which statements no longer wait for the one before them. */
const slowTime = 100
/** Statements at a time: a few milliseconds' work. */
const maxPending = 16

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
   * open yet, all have enough to do, or a statement before it takes long.
   */
  send<Row extends pg.QueryResultRow>(
    query: pg.QueryConfig,
    deadline: number,
  ): Promise<pg.QueryResult<Row> | undefined> | undefined {
    let chosen: SharedConnection | undefined
    for (const one of this.#connections) if (one.isFree() && (!chosen || one.pending < chosen.pending)) chosen = one
    return chosen?.send(query, deadline) as Promise<pg.QueryResult<Row> | undefined> | undefined
  }

  get idle(): number {
    return this.#connections.filter((one) => one.isIdle).length
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((one) => one.close()))
  }
}

interface Pending {
  deadline: number
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
  #timer: NodeJS.Timeout | undefined
  /** Nothing is sent after a statement that takes long. */
  #isHeldUp = false

  constructor(connect: () => Promise<pg.PoolClient>) {
    this.#connect = connect
  }

  get pending(): number {
    return this.#pending.length
  }

  get isIdle(): boolean {
    return this.#client !== undefined && this.#pending.length === 0
  }

  /** Opens the connection if there is none, for later statements. */
  isFree(): boolean {
    if (this.#client) return !this.#isHeldUp && this.#pending.length < maxPending
    this.#connecting ??= this.#open()
    return false
  }

  send(query: pg.QueryConfig, deadline: number): Promise<pg.QueryResult | undefined> {
    const client = this.#client
    if (!client) throw new Error('the shared connection is not open')
    return new Promise((resolve, reject) => {
      const pending = { deadline, resolve, reject }
      if (this.#pending.push(pending) === 1) this.#watch()
      this.#cork(client)
      client.query(query, (error: Error | null, result: pg.QueryResult) => this.#settle(client, pending, error, result))
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#connecting
    while (this.#pending.length > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    this.#discard()
  }

  async #open(): Promise<void> {
    try {
      if (this.#isClosed) return
      const client = await this.#connect()
      client.once('end', () => {
        if (this.#client === client) this.#discard(new Error('Connection terminated'))
      })
      this.#client = client
      if (this.#isClosed) this.#discard()
    } catch {
      // Reported by the connection of its own that the statement gets.
    } finally {
      this.#connecting = undefined
    }
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

  #settle(client: pg.PoolClient, pending: Pending, error: Error | null, result: pg.QueryResult): void {
    if (client !== this.#client) return // Its statements have been rejected.
    // Usually the first one, but `pg` rejects a query that it cannot send before it has results of earlier ones.
    this.#pending.splice(this.#pending.indexOf(pending), 1)
    if (this.#pending.length > 0) this.#timer?.refresh()
    else this.#endWatch()
    if (!error) return pending.resolve(result)
    pending.reject(error)
    if (isUnusableConnection(error)) this.#discard(error)
  }

  #watch(): void {
    this.#timer = setTimeout(() => this.#checkProgress(), slowTime)
  }

  #endWatch(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#isHeldUp = false
  }

  /** After the results that have already arrived: this process may have been what took so long. */
  #checkProgress(): void {
    const timer = this.#timer
    const [first] = this.#pending
    setImmediate(() => {
      if (this.#timer !== timer) return
      timer?.refresh()
      if (!first || this.#pending[0] !== first) return
      this.#isHeldUp = true
      if (performance.now() > first.deadline) return this.#discard(new DeadlineExceeded())
      for (const pending of this.#pending.slice(1)) pending.resolve(undefined)
    })
  }

  /** Rejects what was sent, and ends the connection if there is an error: its statement may never end. */
  #discard(error?: Error): void {
    const client = this.#client
    const pending = this.#pending
    this.#client = undefined
    this.#pending = []
    this.#endWatch()
    if (error) client?.connection.stream.destroy()
    client?.release(error)
    for (const { reject } of pending) reject(error ?? new Error('the shared connection is closed'))
  }
}
