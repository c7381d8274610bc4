import type pg from 'pg'
import { ApiError } from '../model/errors.ts'
import { raceDeadline } from './deadline.ts'
import {
  CredentialChanged,
  DeadlineExceeded,
  isConnectionLoss,
  isStalePreparedStatement,
  isUnusableConnection,
} from './failures.ts'
import { render, type Sql } from '../model/sql.ts'

/** Sends a statement within a transaction. */
export type Send = <Row extends object>(statement: Sql) => Promise<Row[]>

/** Sends the only statement of a transaction, which is one by itself. */
export type SendSingle = <Row extends object>(query: pg.QueryConfig) => Promise<Row[]>

type Work<Result> = (send: Send, sendSingle: SendSingle) => Promise<Result>

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
  /** True when one statement is all of it, without `begin` and `commit`. */
  #isWhole = false
  #checked: Promise<void> | undefined
  /** The first: without savepoints it is the cause of whatever fails behind it. */
  #failure: unknown

  constructor(client: pg.PoolClient) {
    this.#client = client
  }

  /** `check`, where there is one, answers whether the credential is `live`. */
  async run<Result>(check: Sql | undefined, work: Work<Result>, deadline: number): Promise<Result> {
    let broken: Error | undefined
    try {
      return await raceDeadline(this.#run(check, work), deadline)
    } catch (error) {
      if (skipsRollback(error)) broken = error as Error
      if (!this.#hasBegun && isConnectionLoss(error)) throw new NothingSent(error)
      if (this.#isCommitting && (isConnectionLoss(error) || error instanceof DeadlineExceeded)) {
        throw new ApiError('timeout', unknownOutcomeMessage, { headers: { 'retry-after': '1' }, cause: error })
      }
      throw error
    } finally {
      // Closing would wait for the answers that are under way, which may never come.
      if (broken) this.#client.connection.stream.destroy()
      this.#client.release(broken)
    }
  }

  async #run<Result>(check: Sql | undefined, work: Work<Result>): Promise<Result> {
    const send: Send = async <Row extends object>(statement: Sql) => {
      // One of several that were sent together has failed: on its own the next one would be committed.
      if (this.#isOver) throw new Error('the transaction is over')
      const checked = this.#begin(check)
      const pending = this.#ask<Row>(statement)
      // Not waited for before the work begins, whose first statements go with it, but before the work learns anything.
      await checked
      try {
        return (await pending).rows
      } catch {
        throw this.#failure
      }
    }
    const sendSingle: SendSingle = async <Row extends object>(query: pg.QueryConfig) => {
      if (this.#checked || this.#isOver) throw new Error('something else was sent in this transaction')
      this.#isWhole = true
      this.#isOver = true
      this.#isCommitting = true
      return (await this.#client.query<Row & pg.QueryResultRow>(query)).rows
    }
    let result: Result
    try {
      // Whatever came of the work, a credential that no longer holds comes first.
      result = await (async () => work(send, sendSingle))().finally(() =>
        this.#isWhole ? undefined : this.#begin(check),
      )
    } catch (error) {
      this.#isOver = true
      // The work may have told it in words of its own.
      const cause = isStalePreparedStatement(this.#failure) ? this.#failure : error
      // The next user of the connection would be within it.
      if (!this.#isWhole && !skipsRollback(cause)) await this.#client.query('rollback')
      throw cause
    }
    if (!this.#isWhole) await this.#commit()
    return result
  }

  /** With the first statement, or at the end of work that sent none. */
  #begin(check: Sql | undefined): Promise<void> {
    if (this.#checked) return this.#checked
    this.#checked = this.#sendBegin(check)
    this.#checked.catch(() => undefined)
    return this.#checked
  }

  async #sendBegin(check: Sql | undefined): Promise<void> {
    const begun = inOneWrite(this.#client, () =>
      Promise.all([this.#client.query('begin'), check && this.#ask<{ live: boolean }>(check)]),
    )
    const [, checked] = await begun.catch((error: unknown) => {
      this.#hasBegun = false
      throw error
    })
    if (checked && !checked.rows[0]?.live) throw new CredentialChanged()
  }

  #ask<Row extends object>(statement: Sql): Promise<pg.QueryResult<Row & pg.QueryResultRow>> {
    const pending = inOneWrite(this.#client, () => this.#client.query<Row & pg.QueryResultRow>(render(statement)))
    pending.catch((error: unknown) => (this.#failure ??= error))
    return pending
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
const skipsRollback = (error: unknown): boolean =>
  error instanceof DeadlineExceeded || error instanceof CredentialChanged || isUnusableConnection(error)

/** What is sent before this process next waits goes in one write, as each one has to wake the process that reads it. */
function inOneWrite<Result>({ connection: { stream } }: pg.PoolClient, send: () => Result): Result {
  stream.cork()
  process.nextTick(() => stream.uncork())
  return send()
}

const unknownOutcomeMessage =
  'The database did not confirm the change in time, so it may or may not have been made. Repeat the request with the same Idempotency-Key.'
