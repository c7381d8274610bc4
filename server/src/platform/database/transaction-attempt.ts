import type pg from 'pg'
import { ApiError } from '../http/errors.ts'
import { raceDeadline } from './deadline.ts'
import { CredentialChanged, DeadlineExceeded, isConnectionLoss, isStalePreparation, isUnusable } from './failures.ts'
import { render, type Sql } from './sql.ts'

/** Sends a statement within a transaction. */
export type Send = <Row extends object>(statement: Sql) => Promise<Row[]>

/** The connection was dead before the transaction did anything: safe to repeat. */
export class NothingSent extends Error {
  constructor(cause: unknown) {
    super('nothing sent', { cause })
  }
}

/** One attempt at a transaction, on one client of the pool, which it gives back. */
export class TransactionAttempt {
  readonly #client: pg.PoolClient
  #hasBegun = true
  #isCommitting = false
  #isOver = false
  /** The first: without savepoints it is the cause of whatever fails behind it. */
  #failure: unknown

  constructor(client: pg.PoolClient) {
    this.#client = client
  }

  /** `check` answers whether the credential is `live`. */
  async run<Result>(check: Sql, work: (send: Send) => Promise<Result>, deadline: number): Promise<Result> {
    let broken: Error | undefined
    try {
      return await raceDeadline(this.#run(check, work), deadline)
    } catch (error) {
      if (isWithoutRollback(error)) broken = error as Error
      if (!this.#hasBegun && isConnectionLoss(error)) throw new NothingSent(error)
      if (this.#isCommitting && (isConnectionLoss(error) || error instanceof DeadlineExceeded)) {
        throw new ApiError('timeout', unknownOutcome, { headers: { 'retry-after': '1' }, cause: error })
      }
      throw error
    } finally {
      // Closing would wait for the answers that are under way, which may never come.
      if (broken) this.#client.connection.stream.destroy()
      this.#client.release(broken)
    }
  }

  async #run<Result>(check: Sql, work: (send: Send) => Promise<Result>): Promise<Result> {
    const checked = this.#begin(check)
    checked.catch(() => undefined)
    const send: Send = async <Row extends object>(statement: Sql) => {
      // One of several that were sent together has failed: on its own the next one would be committed.
      if (this.#isOver) throw new Error('the transaction is over')
      const asked = this.#ask<Row>(statement)
      // Not waited for before the work begins, whose first statements go with it, but before the work learns anything.
      await checked
      try {
        return (await asked).rows
      } catch {
        throw this.#failure
      }
    }
    let result: Result
    try {
      // Whatever came of the work, a credential that no longer holds comes first.
      result = await (async () => work(send))().finally(() => checked)
    } catch (error) {
      this.#isOver = true
      // The work may have told it in words of its own.
      const cause = isStalePreparation(this.#failure) ? this.#failure : error
      // The next user of the connection would be within it.
      if (!isWithoutRollback(cause)) await this.#client.query('rollback')
      throw cause
    }
    await this.#commit()
    return result
  }

  async #begin(check: Sql): Promise<void> {
    const begun = inOneWrite(this.#client, () =>
      Promise.all([this.#client.query('begin'), this.#ask<{ live: boolean }>(check)]),
    )
    const [, { rows }] = await begun.catch((error: unknown) => {
      this.#hasBegun = false
      throw error
    })
    if (!rows[0]?.live) throw new CredentialChanged()
  }

  #ask<Row extends object>(statement: Sql): Promise<pg.QueryResult<Row & pg.QueryResultRow>> {
    const asked = inOneWrite(this.#client, () => this.#client.query<Row & pg.QueryResultRow>(render(statement)))
    asked.catch((error: unknown) => (this.#failure ??= error))
    return asked
  }

  /** The database takes back a transaction in which anything failed, and does not call that an error. */
  async #commit(): Promise<void> {
    this.#isOver = true
    this.#isCommitting = true
    const { command } = await this.#client.query('commit')
    if (command === 'COMMIT') return
    this.#isCommitting = false
    throw this.#failure
  }
}

/**
 * After these the client is thrown away, which ends its transaction. One whose credential no longer holds is not waited
 * for: a statement of it may wait for a lock.
 */
const isWithoutRollback = (error: unknown): boolean =>
  error instanceof DeadlineExceeded || error instanceof CredentialChanged || isUnusable(error)

/** What is sent before this process next waits goes in one write, as each one has to wake the process that reads it. */
function inOneWrite<Result>({ connection: { stream } }: pg.PoolClient, send: () => Result): Result {
  stream.cork()
  process.nextTick(() => stream.uncork())
  return send()
}

const unknownOutcome =
  'The database did not confirm in time, so the change may or may not have been made. Repeat the request with the same Idempotency-Key.'
