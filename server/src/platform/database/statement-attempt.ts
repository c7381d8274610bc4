import type pg from 'pg'
import { CredentialChanged, DeadlineExceeded, isUnusableConnection } from './failures.ts'
import { inOneWrite } from './in-one-write.ts'

/** One statement on one client of the pool, which can be abandoned at any time. */
export class StatementAttempt {
  readonly #acquire: () => Promise<pg.PoolClient>
  #client: pg.PoolClient | undefined
  #isAbandoned = false

  constructor(acquire: () => Promise<pg.PoolClient>) {
    this.#acquire = acquire
  }

  /** `check`, if given, is sent with it and returns whether the credential is `live`. Throws `CredentialChanged`. */
  async query<Row extends pg.QueryResultRow>(
    query: pg.QueryConfig,
    check: pg.QueryConfig | undefined,
  ): Promise<pg.QueryResult<Row>> {
    const client = await this.#acquire()
    let broken: Error | undefined
    try {
      if (this.#isAbandoned) throw new DeadlineExceeded()
      this.#client = client
      if (!check) return await client.query<Row>(query)
      const [checked, result] = await inOneWrite(client, () =>
        Promise.all([client.query<{ live: boolean }>(check), client.query<Row>(query)]),
      )
      if (!checked.rows[0]?.live) throw new CredentialChanged()
      return result
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
