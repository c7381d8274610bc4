import type pg from 'pg'
import { DeadlineExceeded, isUnusableConnection } from './failures.ts'

/** One statement on one client of the pool, which may be given up at any moment. */
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

  /** Closing would wait for the answer that is under way, which may never come: the statement fails, its client is gone. */
  abandon(): void {
    this.#isAbandoned = true
    this.#client?.connection.stream.destroy()
  }
}
