import type pg from 'pg'
import {
  CredentialChanged,
  DeadlineExceeded,
  isStalePreparedStatement,
  isUnusableConnection,
  sqlState,
} from './failures.ts'
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
      const results = await sendAll(client, [{ text: 'begin' }, ...queries, { text: 'commit' }])
      return results
        .map((result) => {
          if (result instanceof Error) throw result
          return result
        })
        .slice(1, -1)
    })
  }

  /** Each query is a transaction of its own. Throws if the connection cannot be used or all of them fail. */
  async each(queries: readonly pg.QueryConfig[]): Promise<(pg.QueryResult | Error)[]> {
    return this.#use(async (client) => {
      const results = await sendAll(client, queries)
      const errors = results.filter((result) => result instanceof Error)
      const isAboutConnection = (error: Error) => sqlState(error) === undefined || isStalePreparedStatement(error)
      const reason = errors.find(isAboutConnection) ?? (errors.length === results.length ? errors[0] : undefined)
      if (reason) throw reason
      return results
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

async function sendAll(client: pg.PoolClient, queries: readonly pg.QueryConfig[]): Promise<(pg.QueryResult | Error)[]> {
  const results = await inOneWrite(client, () => Promise.allSettled(queries.map((query) => client.query(query))))
  return results.map((result) => (result.status === 'fulfilled' ? result.value : (result.reason as Error)))
}
