import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Actor } from '../model/caller.ts'
import { StatementAttempt } from './statement-attempt.ts'
import { raceDeadline } from './deadline.ts'
import {
  CredentialChanged,
  isStalePreparedStatement,
  isRetryable,
  isUnusableConnection,
  toApiError,
} from './failures.ts'
import { ConnectionQueue, maxConcurrentStatements } from './connection-queue.ts'
import type { CrossTenantPurpose } from './cross-tenant-purposes.ts'
import { organizationParameter, Parameter, prepared, render, Sql, sql } from '../model/sql.ts'
import { NothingSent, type Send, type SendSingle, TransactionAttempt } from './transaction-attempt.ts'

/** How a statement reaches the database: bound to one organization, which it has to name. */
export interface Connection {
  readonly organizationId: string
  /** The organization as a bound parameter; a statement without it is refused. */
  readonly organization: Sql
  query<Row extends object>(statement: Sql | FixedStatement): Promise<Row[]>
}

/** A connection inside one transaction: what it writes is kept together or not at all. */
export interface Transaction extends Connection {
  readonly isTransaction: true
  /** In whose name it changes things. */
  readonly actor: Actor
  /**
   * Runs the only statement of this transaction, in one round trip with the check of the credential and the commit. Nothing
   * else may be sent before or after it.
   */
  runSingle<Row extends object>(statement: SingleStatement): Promise<Row[]>
}

/** A statement that writes, whose text is the same for every value. */
export interface SingleStatement {
  name: string
  /** What changes from request to request. */
  values: readonly string[]
  /** Its common tables, which write nothing unless `live` holds, and the answer that is selected from them. */
  build: (values: readonly Parameter[], live: Sql) => { tables: Sql; result: Sql }
}

/**
 * A statement whose text is the same for every value, and whose plan no value decides: put together once for each caller,
 * prepared once for each connection.
 */
export interface FixedStatement {
  name: string
  /** What changes from request to request. */
  values: readonly string[]
  build: (values: readonly Parameter[]) => Sql
}

/** The statement with its value, for one use. */
export const toSql = (statement: Sql | FixedStatement): Sql =>
  statement instanceof Sql ? statement : statement.build(statement.values.map((value) => new Parameter(value)))

/** A connection that may span organizations. */
export interface CrossTenantConnection {
  query<Row extends object>(statement: Sql): Promise<Row[]>
}

/**
 * Always true: for a statement about a person's own rows, which belong to no organization. It names the organization of a
 * connection that requires one.
 */
export const anyOrganization = (db: CrossTenantConnection | Transaction): Sql =>
  'organization' in db ? sql`${db.organization} is not null` : sql`true`

export interface DatabaseOptions {
  connection: pg.ClientConfig
  /** Connections at most. */
  size: number
  /** Milliseconds a request may wait for the database in all, connecting included. */
  deadline?: number
  /** On one machine with the database only so many statements run at a time; for requests, which come by the hundred. */
  limitConcurrency?: boolean
  /** Processes of the service, which share these turns. */
  processes?: number
  /** Where faults of idle connections are told; they never end the process. */
  onIdleError?: (error: Error) => void
}

const statementTimeout = 3500
/** Milliseconds: several round trips to a server that may be far away, with TLS. */
const connectionSetupTime = 1000
/** So many wait for each connection at most: about a quarter of a second's work, however many come at once. */
const maxQueuePerConnection = 16
const maxAttempts = 3

/** The pool of connections, and the only place where a statement is sent. */
export class Database {
  readonly #pool: pg.Pool
  readonly #size: number
  readonly #deadline: number
  readonly #fixed = new WeakMap<Actor, Map<string, FixedText>>()
  readonly #line: ConnectionQueue
  readonly #connected = new Set<pg.PoolClient>()

  constructor({
    connection,
    size,
    deadline = 4500,
    limitConcurrency = false,
    processes,
    onIdleError,
  }: DatabaseOptions) {
    this.#size = size
    this.#deadline = deadline
    this.#line = new ConnectionQueue(limitConcurrency ? maxConcurrentStatements(connection, processes) : Infinity)
    this.#pool = new pg.Pool({
      ...connection,
      max: size,
      connectionTimeoutMillis: 3000,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      application_name: connection.application_name ?? 'rapport',
      options: [
        `-c statement_timeout=${statementTimeout}`,
        '-c lock_timeout=3000',
        '-c idle_in_transaction_session_timeout=30000',
        '-c timezone=UTC',
        '-c jit=off',
        // Starting workers costs more than the pages they would help with.
        '-c max_parallel_workers_per_gather=0',
      ].join(' '),
      pipeline: true,
    } as pg.PoolConfig)
    this.#pool.on('error', (error) => onIdleError?.(error))
    // A client in use tells the one who waits for its answer.
    this.#pool.on('connect', (client) => {
      client.on('error', () => undefined)
      this.#connected.add(client)
    })
    this.#pool.on('remove', (client) => this.#connected.delete(client))
  }

  /**
   * Milliseconds that whoever has waited longest for a connection has waited by now, beyond what making one may take; 0
   * while no more are there than twice the connections, for they may only have waited for this process, and Infinity when
   * the line is so long that nobody should join it.
   */
  get longestWait(): number {
    const { totalCount: made, idleCount: idle } = this.#pool
    // Whoever has one made for them is in the line.
    if (this.#line.length + this.#connected.size - idle < 2 * this.#size) return 0
    if (this.#line.length >= maxQueuePerConnection * this.#size) return Infinity
    const setupTime = this.#connected.size < made ? connectionSetupTime : 0
    return Math.max(0, this.#line.longestWait - setupTime)
  }

  /** What the pool holds now, for metrics and the doctor. */
  get counts(): { total: number; idle: number; waiting: number } {
    return { total: this.#pool.totalCount, idle: this.#pool.idleCount, waiting: this.#line.length }
  }

  /** A connection for reads: each statement stands alone and checks the credential in the same trip. */
  reader(actor: Actor): Connection {
    const organization = organizationParameter(actor.organizationId)
    return {
      organizationId: actor.organizationId,
      organization,
      query: async <Row extends object>(statement: Sql | FixedStatement) => {
        const query =
          statement instanceof Sql ? render(withCredentialCheck(actor, statement)) : this.#fixedRead(actor, statement)
        return checkedRows(await this.#send<CredentialChecked<Row>>(query))
      },
    }
  }

  #fixedRead(actor: Actor, { name, values, build }: FixedStatement): pg.QueryConfig {
    return this.#fixedQuery(actor, { name, values, build: (given) => withCredentialCheck(actor, build(given)) })
  }

  #fixedQuery(actor: Actor, { name, values: given, build }: FixedStatement): pg.QueryConfig {
    const known = this.#fixed.get(actor) ?? new Map<string, FixedText>()
    this.#fixed.set(actor, known)
    let fixed = known.get(name)
    if (!fixed) {
      // Values that no other can equal mark the places: an id of the request might be the organization's own.
      const markers = given.map(() => randomUUID())
      const { text, values } = render(build(markers.map((marker) => new Parameter(marker))))
      fixed = { text, values, positions: markers.map((marker) => values.indexOf(marker)) }
      known.set(name, fixed)
    }
    const values = [...fixed.values]
    fixed.positions.forEach((position, index) => (values[position] = given[index]))
    return { name: `${actor.kind} ${name}`, text: fixed.text, values }
  }

  /**
   * Runs `work` in a transaction of the caller's organization; a deadlock or a serialization failure repeats it.
   * Resolves only once the commit is durable. Errors: `ApiError` (503 when the outcome is unknown), `CredentialChanged`.
   */
  async transaction<Result>(actor: Actor, work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    const organization = organizationParameter(actor.organizationId)
    return this.#transact(prepared(sql`select ${actor.live} as live`), (send, sendSingle) =>
      work({
        isTransaction: true,
        actor,
        organizationId: actor.organizationId,
        organization,
        query: async <Row extends object>(given: Sql | FixedStatement) => {
          const statement = toSql(given)
          assertScoped(statement)
          return send<Row>(statement)
        },
        runSingle: async <Row extends object>({ name, values, build }: SingleStatement) => {
          const whole = (given: readonly Parameter[]) => writeWithCredentialCheck(actor, build(given, credentialIsLive))
          return checkedRows(
            await sendSingle<CredentialChecked<Row>>(this.#fixedQuery(actor, { name, values, build: whole })),
          )
        },
      }),
    )
  }

  /**
   * One statement that may span organizations. One with a name has the same text each time, and a plan that no value
   * decides: it is prepared once for each connection.
   */
  async crossTenantQuery<Row extends object>(
    _purpose: CrossTenantPurpose,
    statement: Sql,
    name?: string,
  ): Promise<Row[]> {
    return this.#send({ ...render(statement), name })
  }

  /**
   * A transaction that may span organizations; `CredentialChanged` unless `live`, where it is given, holds. `patience`: milliseconds for it,
   * instead of the deadline of all.
   */
  async crossTenantTransaction<Result>(
    _purpose: CrossTenantPurpose,
    work: (crossTenantQuery: CrossTenantConnection) => Promise<Result>,
    live?: Sql,
    timeout?: number,
  ): Promise<Result> {
    return this.#transact(live && sql`select ${live} as live`, (send) => work({ query: send }), timeout)
  }

  /** Does the database answer? Throws as any statement does. */
  async ping(): Promise<void> {
    await this.#send(render(sql`select 1`))
  }

  /** Waits for running statements, then closes every connection. */
  async close(): Promise<void> {
    await this.#pool.end()
  }

  /** A single statement is its own transaction; one that met a connection of no more use is repeated on another. */
  #send<Row extends object>(query: pg.QueryConfig): Promise<Row[]> {
    return this.#repeat(isUnusableConnection, undefined, async (deadline) => {
      const attempt = new StatementAttempt(() => this.#acquire(deadline))
      return (await raceDeadline(attempt.query<Row & pg.QueryResultRow>(query), deadline, () => attempt.abandon())).rows
    })
  }

  async #transact<Result>(
    check: Sql | undefined,
    work: (send: Send, sendSingle: SendSingle) => Promise<Result>,
    timeout?: number,
  ): Promise<Result> {
    return this.#repeat(isRetryable, timeout, async (deadline) =>
      new TransactionAttempt(await this.#connect(deadline)).run(check, work, deadline),
    )
  }

  #acquire(deadline: number): Promise<pg.PoolClient> {
    return this.#line.acquire(() => this.#pool.connect(), deadline)
  }

  async #connect(deadline: number): Promise<pg.PoolClient> {
    const connecting = this.#acquire(deadline)
    return raceDeadline(connecting, deadline, () => {
      connecting.then((client) => client.release()).catch(() => undefined)
    })
  }

  async #repeat<Result>(
    isRetryableError: (error: unknown) => boolean,
    timeout = this.#deadline,
    attempt: (deadline: number) => Promise<Result>,
  ) {
    const deadline = performance.now() + timeout
    for (let count = 1; ; count++) {
      try {
        return await attempt(deadline)
      } catch (error) {
        const cause = error instanceof NothingSent ? error.cause : error
        const mayRetry = error instanceof NothingSent || isRetryableError(error)
        // Every connection may know a statement as it was, and each attempt does away with one of them.
        const maxCount = isStalePreparedStatement(cause) ? maxAttempts + this.#size : maxAttempts
        if (!mayRetry || count >= maxCount || performance.now() > deadline) throw toApiError(cause)
        await delay(Math.random() * 20 * count)
      }
    }
  }
}

interface FixedText {
  text: string
  values: unknown[]
  positions: number[]
}

type CredentialChecked<Row> = Row & { credential_live: boolean; answer_present: boolean | null }

/** The statement, and beside it whether the credential still holds, in one trip. */
function withCredentialCheck(actor: Actor, statement: Sql): Sql {
  assertScoped(statement)
  return sql`select credential.live as credential_live, answer.* from (select ${actor.live} as live) credential
    left join (select true as answer_present, statement.* from (${statement}) statement) answer on true`
}

/** Whether the credential of the statement around it holds. */
const credentialIsLive = sql`(select live from credential)`

/** The same for a statement that writes, and has to begin with its common tables. */
function writeWithCredentialCheck(actor: Actor, { tables, result }: { tables: Sql; result: Sql }): Sql {
  assertScoped(tables)
  return sql`with credential as materialized (select ${actor.live} as live), ${tables}
    select credential.live as credential_live, answer.* from credential
    left join (select true as answer_present, answer.* from (${result}) answer) answer on true`
}

function checkedRows<Row extends object>(rows: CredentialChecked<Row>[]): Row[] {
  if (!rows[0]?.credential_live) throw new CredentialChanged()
  return rows.filter((row) => row.answer_present)
}

function assertScoped(statement: Sql): void {
  if (!statement.scoped) throw new Error('A statement of an organization must contain it (`db.organization`).')
}
