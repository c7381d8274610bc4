import type pg from 'pg'
import { DeadlineExceeded, isUnusableConnection } from './failures.ts'

/** One statement on one client of the pool, which can be abandoned at any time. */
export class StatementAttempt {
  readonly #acquire: () => Promise<pg.PoolClient>
  #client: pg.PoolClient | undefined
  #isAbandoned = false

  constructor(acquire: () => Promise<pg.PoolClient>) {
    this.#acquire = acquire
  }

  async query<Row extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<pg.QueryResult<Row>> {
    const client = await this.#acquire()
    let broken: Error | undefined
    try {
      if (this.#isAbandoned) throw new DeadlineExceeded()
      this.#client = client
      return await client.query<Row>(query)
    } catch (error) {
      if (isUnusableConnection(error)) broken = error as Error
      throw error
    } finally {
      this.#client = undefined
      client.release(broken)
    }
  }

  /** Destroys the connection: a graceful close would wait for a response that may never come. */
  abandon(): void {
    this.#isAbandoned = true
    this.#client?.connection.stream.destroy()
  }
}
