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
import { inOneWrite } from './in-one-write.ts'
import { render, type Sql } from '../model/sql.ts'

export type Send = <Row extends object>(statement: Sql) => Promise<Row[]>

/** Sends the only statement of a transaction, which is a transaction by itself. */
export type SendSingle = <Row extends object>(query: pg.QueryConfig) => Promise<Row[]>

/** Statements of a transaction that wait to be sent as one command. */
export interface Batch {
  takes(statement: Sql): boolean
  add<Row extends object>(statement: Sql): Promise<Row[]>
  /** Sends what is waiting, before another statement is sent. */
  flush(): void
  /** Sends nothing of what is waiting: the transaction is over. */
  cancel(error: unknown): void
}

export type SendCall = (query: pg.QueryConfig) => Promise<pg.QueryResult<{ results: object[][] }>>

export type Combine = (send: SendCall) => Batch

/** Explains an error of a statement if it is about that. */
type ToError = (error: unknown) => unknown

/** How the work of a transaction avoids round trips. */
export interface Ahead {
  /** Sends a statement whose rows nobody needs: its error, explained by `toError`, fails the next result. */
  send: (statement: Sql, toError?: ToError) => void
  /** Commits together with what was just sent, if the credential is known to be valid. Nothing may be sent afterwards. */
  finish: () => void
}

export interface Sender extends Pick<Ahead, 'finish'> {
  send: Send
  sendAhead: Ahead['send']
  sendSingle: SendSingle
}

type Work<Result> = (sender: Sender) => Promise<Result>

/** The connection was lost before anything was sent, so the transaction can be repeated. */
export class NothingSent extends Error {
  constructor(cause: unknown) {
    super('nothing sent', { cause })
  }
}

/** One attempt at a transaction, on one client of the pool, which it releases. */
export class TransactionAttempt {
  readonly #client: pg.PoolClient
  #hasBegun = true
  #isCommitting = false
  #isFinished = false
  /** True if one statement is the whole transaction, without `begin` and `commit`. */
  #isSingleStatement = false
  #credentialCheck: Promise<void> | undefined
  #isChecked = false
  readonly #explanations: ToError[] = []
  /** The answer to a commit that was sent before the work ended. */
  #committed: Promise<void> | undefined
  /** The first error: without savepoints it causes all later ones. */
  #failure: unknown
  readonly #batch: Batch | undefined

  constructor(client: pg.PoolClient, combine?: Combine) {
    this.#client = client
    this.#batch = combine?.((query) => this.#query<{ results: object[][] }>(query))
  }

  /** `check`, if given, returns whether the credential is `live`. */
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
      // A graceful close would wait for responses that may never come.
      if (broken) this.#client.connection.stream.destroy()
      this.#client.release(broken)
    }
  }

  async #run<Result>(check: Sql | undefined, work: Work<Result>): Promise<Result> {
    const send: Send = async <Row extends object>(statement: Sql) => {
      const { checked, pending } = this.#start<Row>(check, statement)
      // Not awaited before the work starts, whose first statements are sent together with it, but before the work gets
      // a result.
      await checked
      try {
        return await pending
      } catch (error) {
        throw this.#failure ?? error
      }
    }
    const sendAhead: Ahead['send'] = (statement, toError) => {
      if (toError) this.#explanations.push(toError)
      this.#start(check, statement)
    }
    const finish = () => {
      // Otherwise it would be committed whatever the check says.
      if (!this.#isChecked) return
      this.#committed = this.#commit()
      this.#committed.catch(() => undefined)
    }
    const sendSingle: SendSingle = async <Row extends object>(query: pg.QueryConfig) => {
      if (this.#credentialCheck || this.#isFinished) throw new Error('something else was sent in this transaction')
      this.#isSingleStatement = true
      this.#isFinished = true
      this.#isCommitting = true
      return (await this.#client.query<Row & pg.QueryResultRow>(query)).rows
    }
    let result: Result
    try {
      // An invalid credential takes precedence over whatever the work returned or threw.
      result = await (async () => work({ send, sendAhead, finish, sendSingle }))().finally(() =>
        this.#isSingleStatement ? undefined : this.#begin(check),
      )
    } catch (error) {
      this.#isFinished = true
      this.#batch?.cancel(error)
      // The work may have wrapped the error.
      const cause = isStalePreparedStatement(this.#failure) ? this.#failure : error
      if (this.#committed) await this.#committed.catch(() => undefined)
      // Otherwise the next user of the connection would be inside this transaction.
      else if (!this.#isSingleStatement && !skipsRollback(cause)) await this.#client.query('rollback')
      throw cause
    }
    if (!this.#isSingleStatement) await (this.#committed ?? this.#commit())
    return result
  }

  #start<Row extends object>(check: Sql | undefined, statement: Sql) {
    // One of several statements sent together has failed: the next one would be committed on its own.
    if (this.#isFinished) throw new Error('the transaction is over')
    if (this.#batch?.takes(statement)) {
      // First, so that it is sent in the same write as the beginning of the transaction.
      const pending = this.#batch.add<Row>(statement)
      pending.catch(() => undefined)
      return { checked: this.#begin(check), pending }
    }
    const checked = this.#begin(check)
    this.#batch?.flush()
    const pending = this.#query<Row>(render(statement)).then(({ rows }) => rows)
    pending.catch(() => undefined)
    return { checked, pending }
  }

  /** Sent with the first statement, or at the end if the work sent none. */
  #begin(check: Sql | undefined): Promise<void> {
    if (this.#credentialCheck) return this.#credentialCheck
    this.#credentialCheck = this.#sendBegin(check)
    this.#credentialCheck.catch(() => undefined)
    return this.#credentialCheck
  }

  async #sendBegin(check: Sql | undefined): Promise<void> {
    const begun = inOneWrite(this.#client, () =>
      Promise.all([this.#client.query('begin'), check && this.#query<{ live: boolean }>(render(check))]),
    )
    const [, checked] = await begun.catch((error: unknown) => {
      this.#hasBegun = false
      throw error
    })
    if (checked && !checked.rows[0]?.live) throw new CredentialChanged()
    this.#isChecked = true
  }

  #query<Row extends object>(query: pg.QueryConfig): Promise<pg.QueryResult<Row & pg.QueryResultRow>> {
    const pending = inOneWrite(this.#client, () => this.#client.query<Row & pg.QueryResultRow>(query))
    pending.catch((error: unknown) => (this.#failure ??= this.#explain(error)))
    return pending
  }

  #explain(error: unknown): unknown {
    return this.#explanations.reduce((known, toError) => toError(known), error)
  }

  /** PostgreSQL answers `commit` with ROLLBACK, not with an error, if a statement of the transaction failed. */
  async #commit(): Promise<void> {
    this.#isFinished = true
    this.#isCommitting = true
    this.#batch?.flush()
    const { command } = await inOneWrite(this.#client, () => this.#client.query('commit'))
    if (command === 'COMMIT') return
    this.#isCommitting = false
    throw this.#failure
  }
}

/** After these errors the client is discarded instead: one of its statements may be waiting for a lock. */
const skipsRollback = (error: unknown): boolean =>
  error instanceof DeadlineExceeded || error instanceof CredentialChanged || isUnusableConnection(error)

const unknownOutcomeMessage =
  'The database did not confirm the change in time, so it may or may not have been made. Repeat the request with the same Idempotency-Key.'
