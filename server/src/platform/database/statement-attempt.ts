import type pg from 'pg'
import { CredentialChanged, DeadlineExceeded, isUnusableConnection } from './failures.ts'
import { inOneWrite } from './in-one-write.ts'

/** One statement, or one transaction in one write, on one client of the pool, which can be abandoned at any time. */
export class StatementAttempt {
  readonly #acquire: () => Promise<pg.PoolClient>
  #client: pg.PoolClient | undefined
  #isAbandoned = false

  constructor(acquire: () => Promise<pg.PoolClient>) {
    this.#acquire = acquire
  }

  /** `check`, if given, is sent with it and returns whether the credential is `live`. Throws `CredentialChanged`. */
  query<Row extends pg.QueryResultRow>(
    query: pg.QueryConfig,
    check: pg.QueryConfig | undefined,
  ): Promise<pg.QueryResult<Row>> {
    return this.#use(async (client) => {
      if (!check) return client.query<Row>(query)
      const [checked, result] = await inOneWrite(client, () =>
        Promise.all([client.query<{ live: boolean }>(check), client.query<Row>(query)]),
      )
      if (!checked.rows[0]?.live) throw new CredentialChanged()
      return result
    })
  }

  async transaction(queries: readonly pg.QueryConfig[]): Promise<pg.QueryResult[]> {
    return this.#use(async (client) => {
      const all = [{ text: 'begin' }, ...queries, { text: 'commit' }]
      const results = await inOneWrite(client, () => Promise.allSettled(all.map((query) => client.query(query))))
      return results
        .map((result) => {
          if (result.status === 'rejected') throw result.reason
          return result.value
        })
        .slice(1, -1)
    })
  }

  async #use<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#acquire()
    let broken: Error | undefined
    try {
      if (this.#isAbandoned) throw new DeadlineExceeded()
      this.#client = client
      return await work(client)
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
