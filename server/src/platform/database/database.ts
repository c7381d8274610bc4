import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Actor } from '../model/caller.ts'
import { ApiError } from '../model/errors.ts'
import {
  checkedRows,
  credentialCheck,
  type CredentialChecked,
  credentialIsLive,
  scoped,
  withCredentialCheck,
  writeWithCredentialCheck,
} from './credential-check.ts'
import { StatementAttempt } from './statement-attempt.ts'
import { raceDeadline } from './deadline.ts'
import { isStalePreparedStatement, isRetryableTransaction, isRetryableStatement, toApiError } from './failures.ts'
import { commonTenant, ConnectionQueue, maxConcurrentStatements } from './connection-queue.ts'
import type { CrossTenantPurpose } from './cross-tenant-purposes.ts'
import { nameOf, type Parameter, render, Sql, sql } from '../model/sql.ts'
import type { Engine } from './distribution/engine.ts'
import { single } from './distribution/single.ts'
import { type FixedStatement, FixedTexts, type OrganizationStatement, toSql } from './fixed-statements.ts'
import { SharedConnections } from './shared-connections.ts'
import { type Ahead, type Combine, NothingSent, type Sender, TransactionAttempt } from './transaction-attempt.ts'

/** Runs statements for one organization, which every statement must reference. */
export interface Connection {
  readonly organizationId: string
  /** The organization as a bound parameter; a statement without it is rejected. */
  readonly organization: Sql
  /** On whose behalf the statements run. */
  readonly actor: Actor
  query<Row extends object>(statement: Sql | FixedStatement): Promise<Row[]>
}

/** A connection inside a transaction: its writes are committed together or not at all. */
export interface Transaction extends Connection, Ahead {
  readonly isTransaction: true
  /**
   * Runs the only statement of this transaction, in one round trip with the credential check and the commit. Undefined
   * if credentials are on another server than records.
   */
  readonly runSingle: (<Row extends object>(statement: SingleStatement) => Promise<Row[]>) | undefined
  /** May one statement write several tables? Otherwise a statement for each, sent together, is quicker. */
  readonly writesTablesTogether: boolean
}

/** A writing statement whose text is the same for all values. */
export interface SingleStatement {
  name: string
  /** The values that change from request to request. */
  values: readonly string[]
  /** Its common table expressions, which write nothing unless `live` is true, and the result from them. */
  build: (values: readonly Parameter[], live: Sql) => { tables: Sql; result: Sql }
}

export interface CrossTenantConnection {
  query<Row extends object>(statement: Sql): Promise<Row[]>
}

/** Always true; references the organization. For statements about a person's own rows, which belong to none. */
export const anyOrganization = (db: CrossTenantConnection | Transaction): Sql =>
  'organization' in db ? sql`${db.organization} is not null` : sql`true`

export interface DatabaseOptions {
  connection: pg.ClientConfig
  size: number
  /** Milliseconds that a request may wait for the database in total, including connecting. */
  deadline?: number
  /** Shares the connections fairly among organizations, and limits statements if the database is on the same machine. */
  limitConcurrency?: boolean
  /** Number of processes that share this limit. */
  processes?: number
  /** How many of them are shared by cheap reads (`SharedConnections`); none by default. */
  shared?: number
  /** Reports errors of idle connections; they never end the process. */
  onIdleError?: (error: Error) => void
}

export type EngineName = Engine['name']

/** Settings of every connection that affect plans and results. */
export const sessionOptions = [
  '-c timezone=UTC',
  '-c jit=off',
  // Starting parallel workers costs more than the pages they would help with.
  '-c max_parallel_workers_per_gather=0',
  // The default of 4 assumes a spinning disk. With it, the plan that PostgreSQL could keep for a prepared page seems more
  // expensive than planning the page each time, and planning takes longer than reading the page.
  '-c random_page_cost=1.1',
].join(' ')

const statementTimeout = 3500
/** Milliseconds to open a connection: several round trips to a server that may be far away, with TLS. */
const connectionSetupTime = 1000
const maxAttempts = 3

/** The connection pool, and the only place that sends statements. */
export class Database {
  readonly #pool: pg.Pool
  readonly #size: number
  readonly #deadline: number
  #fixedTexts = new WeakMap<Actor, FixedTexts>()
  readonly #crossTenantTexts = new FixedTexts()
  readonly #queue: ConnectionQueue
  readonly #shared: SharedConnections
  readonly #connectedClients = new Set<pg.PoolClient>()
  #onFailure: ((error: unknown) => void) | undefined
  #engine: Engine = single

  constructor({
    connection,
    size,
    deadline = 4500,
    limitConcurrency = false,
    processes,
    shared = 0,
    onIdleError,
  }: DatabaseOptions) {
    this.#size = size
    this.#deadline = deadline
    const statements = limitConcurrency ? maxConcurrentStatements(connection, processes) : Infinity
    this.#queue = new ConnectionQueue({ connections: size - shared, statements, isShared: limitConcurrency })
    this.#pool = new pg.Pool({
      ...connection,
      max: size,
      connectionTimeoutMillis: 3000,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 30_000,
      application_name: connection.application_name ?? 'rapport',
      options: [
        `-c statement_timeout=${statementTimeout}`,
        '-c lock_timeout=3000',
        '-c idle_in_transaction_session_timeout=30000',
        sessionOptions,
      ].join(' '),
      pipeline: true,
    } as pg.PoolConfig)
    this.#pool.on('error', (error) => onIdleError?.(error))
    // A client in use reports its errors through its pending query.
    this.#pool.on('connect', (client) => {
      client.on('error', () => undefined)
      this.#connectedClients.add(client)
    })
    this.#pool.on('remove', (client) => this.#connectedClients.delete(client))
    this.#shared = new SharedConnections(shared, () => this.#pool.connect())
  }

  /** Milliseconds that the tenant's requests wait (`ConnectionQueue`), minus the time for opening a connection. */
  longestWait(tenantKey: string): number {
    // A request whose connection is being opened is in the queue.
    const opening = this.#pool.totalCount - this.#connectedClients.size - this.#shared.opening
    const setupTime = opening > 0 ? connectionSetupTime : 0
    return Math.max(0, this.#queue.longestWait(tenantKey, opening) - setupTime)
  }

  /** From now on, statements are written and sent for this engine. */
  useEngine(engine: Engine): void {
    this.#engine = engine
    this.#fixedTexts = new WeakMap()
  }

  /** From now on, reports each error that a caller gets. */
  reportFailures(listener: (error: unknown) => void): void {
    this.#onFailure = listener
  }

  get isDistributed(): boolean {
    return this.#engine.isDistributed
  }

  get writesTablesTogether(): boolean {
    return !this.isDistributed
  }

  get engine(): Engine {
    return this.#engine
  }

  get counts(): { total: number; idle: number; waiting: number } {
    const idle = this.#pool.idleCount + this.#shared.idle
    return { total: this.#pool.totalCount, idle, waiting: this.#queue.length }
  }

  /** A connection for reads: each statement is independent and checks the credential in the same round trip. */
  reader(actor: Actor): Connection {
    const organization = this.#engine.organizationOf(actor.organizationId)
    const complete = (statement: Sql) =>
      this.isDistributed ? scoped(statement) : withCredentialCheck(actor, scoped(statement))
    return {
      organizationId: actor.organizationId,
      organization,
      actor,
      query: async <Row extends object>(statement: Sql | FixedStatement) => {
        const query =
          statement instanceof Sql
            ? render(complete(statement))
            : this.#fixedQuery(actor, { ...statement, build: (given) => complete(statement.build(given)) })
        const tenantKey = actor.organizationId
        if (this.isDistributed) return this.#send<Row>(query, { tenantKey, check: render(credentialCheck(actor)) })
        const isCheap = !(statement instanceof Sql) && statement.isCheap === true
        return checkedRows(await this.#send<CredentialChecked<Row>>(query, { tenantKey, isCheap }))
      },
    }
  }

  #fixedQuery(actor: Actor, statement: FixedStatement): pg.QueryConfig {
    const texts = this.#fixedTexts.get(actor) ?? new FixedTexts()
    this.#fixedTexts.set(actor, texts)
    // A custom role changes the text, for each kind of reach.
    const isOwnText = actor.role === 'custom' || actor.reach
    return texts.queryOf(statement, (text) => (isOwnText ? nameOf(text) : `${actor.kind} ${statement.name}`))
  }

  /** Retries after conflicts; resolves once durable. Throws `ApiError` (503: outcome unknown), `CredentialChanged`. */
  async transaction<Result>(actor: Actor, work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    const run = ({ send, sendAhead, finish, sendSingle }: Sender) => {
      const runSingle = async <Row extends object>({ name, values, build }: SingleStatement) => {
        const whole = (given: readonly Parameter[]) => writeWithCredentialCheck(actor, build(given, credentialIsLive))
        return checkedRows(
          await sendSingle<CredentialChecked<Row>>(this.#fixedQuery(actor, { name, values, build: whole })),
        )
      }
      return work({
        isTransaction: true,
        actor,
        organizationId: actor.organizationId,
        organization: this.#engine.organizationOf(actor.organizationId),
        query: async <Row extends object>(given: Sql | FixedStatement) => send<Row>(scoped(toSql(given))),
        send: (statement, toError) => sendAhead(scoped(statement), toError),
        finish,
        runSingle: this.isDistributed ? undefined : runSingle,
        writesTablesTogether: this.writesTablesTogether,
      })
    }
    const { organizationId: tenantKey } = actor
    return this.#transact(credentialCheck(actor), run, { tenantKey, combine: this.#engine.combine(tenantKey) })
  }

  /** Runs one cross-tenant statement. With a name it is prepared once per connection, with one plan for all values. */
  async crossTenantQuery<Row extends object>(
    _purpose: CrossTenantPurpose,
    statement: Sql,
    name?: string,
    tenantKey = commonTenant,
  ): Promise<Row[]> {
    return this.#send({ ...render(statement), name }, { tenantKey })
  }

  /**
   * Runs statements, prepared by name, in one network write: as one transaction, which costs less than one for each, or in
   * a distributed database each on its own, because they may be on different servers. Resolves to the rows of each, or to
   * its `ApiError` while others succeed. Repeated after a conflict or a lost connection, which must do no harm.
   */
  async crossTenantBatch<Row extends object>(
    _purpose: CrossTenantPurpose,
    statements: readonly OrganizationStatement[],
  ): Promise<(Row[] | ApiError)[]> {
    const calls = statements.map((given) => {
      const { statement } = given
      const call = this.#engine.callOf(given)
      if (call) return call
      const query =
        statement instanceof Sql ? render(statement) : this.#crossTenantTexts.queryOf(statement, () => statement.name)
      return { query, rowsOf: ({ rows }: pg.QueryResult) => rows }
    })
    const queries = calls.map(({ query }) => query)
    const isTransaction = queries.length > 1 && !this.isDistributed
    return this.#retry(isRetryableStatement, undefined, async (deadline) => {
      const attempt = new StatementAttempt(() => this.#acquire(commonTenant, deadline))
      const pending = isTransaction ? attempt.transaction(queries) : attempt.each(queries)
      const results = await raceDeadline(pending, deadline, () => attempt.abandon())
      return results.map((result, index) => {
        if (!(result instanceof Error)) return calls[index]?.rowsOf(result) as Row[]
        this.#onFailure?.(result)
        const error = toApiError(result)
        if (error instanceof ApiError) return error
        throw error
      })
    })
  }

  /** Runs a cross-tenant transaction. Throws `CredentialChanged` if `live` is false. `timeout`: milliseconds. */
  async crossTenantTransaction<Result>(
    _purpose: CrossTenantPurpose,
    work: (connection: CrossTenantConnection) => Promise<Result>,
    { live, timeout, tenantKey = commonTenant }: { live?: Sql; timeout?: number; tenantKey?: string } = {},
  ): Promise<Result> {
    return this.#transact(live && sql`select ${live} as live`, ({ send }) => work({ query: send }), {
      tenantKey,
      timeout,
    })
  }

  async ping(): Promise<void> {
    await this.#send(render(sql`select 1`), { tenantKey: commonTenant })
  }

  /** Waits for running statements, then closes every connection. */
  async close(): Promise<void> {
    await this.#shared.close()
    await this.#pool.end()
  }

  /**
   * A single statement is its own transaction; repeated after a conflict, and on another connection if this one is
   * unusable. `check`, if given, is sent before it and returns whether the credential is `live`. Cheap ones share connections.
   */
  #send<Row extends object>(
    query: pg.QueryConfig,
    { tenantKey, check, isCheap }: { tenantKey: string; check?: pg.QueryConfig; isCheap?: boolean },
  ): Promise<Row[]> {
    return this.#retry(isRetryableStatement, undefined, async (deadline) => {
      const result = isCheap && (await this.#shared.send<Row & pg.QueryResultRow>(query, { tenantKey, deadline }))
      if (result) return result.rows
      const attempt = new StatementAttempt(() => this.#acquire(tenantKey, deadline))
      const pending = attempt.query<Row & pg.QueryResultRow>(query, check)
      return (await raceDeadline(pending, deadline, () => attempt.abandon())).rows
    })
  }

  async #transact<Result>(
    check: Sql | undefined,
    work: (sender: Sender) => Promise<Result>,
    { tenantKey, combine, timeout }: TransactionOptions,
  ): Promise<Result> {
    return this.#retry(isRetryableTransaction, timeout, async (deadline) =>
      new TransactionAttempt(await this.#connect(tenantKey, deadline), combine).run(check, work, deadline),
    )
  }

  #acquire(tenantKey: string, deadline: number): Promise<pg.PoolClient> {
    return this.#queue.acquire(tenantKey, () => this.#pool.connect(), deadline)
  }

  async #connect(tenantKey: string, deadline: number): Promise<pg.PoolClient> {
    const connecting = this.#acquire(tenantKey, deadline)
    return raceDeadline(connecting, deadline, () => {
      connecting.then((client) => client.release()).catch(() => undefined)
    })
  }

  async #retry<Result>(
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
        // Every connection may have the stale statement, and each attempt discards one of them.
        const maxCount = isStalePreparedStatement(cause) ? maxAttempts + this.#size : maxAttempts
        if (!mayRetry || count >= maxCount || performance.now() > deadline) {
          this.#onFailure?.(cause)
          throw toApiError(cause)
        }
        await delay(Math.random() * 20 * count)
      }
    }
  }
}

interface TransactionOptions {
  /** Whose share of the connections it uses. */
  tenantKey: string
  combine?: Combine | undefined
  timeout?: number | undefined
}
