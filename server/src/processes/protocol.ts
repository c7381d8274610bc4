import type pg from 'pg'
import type { CallerKind } from '../identity/access/hash-queue.ts'
import type { EngineName } from '../platform/database/database.ts'
import type { Allowance, RateKind } from '../platform/http/limits/rate-limit.ts'
import type { MetricsSnapshot } from '../platform/http/metrics.ts'

/** Kinds of background work that a process announces to others. */
export type WorkKind = 'imports' | 'notes' | 'mail'

export interface Assignment {
  /** Index of the worker, from 0. The first one also sends mails and does maintenance. */
  index: number
  processes: number
  connection: pg.ClientConfig
  /** 32 bytes as hexadecimal. */
  secret: string
  /** When the service was started; ISO 8601. */
  startedAt: string
  /** Where the primary listens. */
  url: string
  isPrepared: boolean
  engine: EngineName
  isStopping: boolean
}

/** Functions of the primary process that a worker calls. */
export interface PrimaryFunctions {
  begin(): Assignment
  /** The worker accepts connections from now on. */
  ready(): void
  /** The worker has accepted over a connection. */
  accepted(): void
  charge(kind: RateKind, key: string): Allowance | Promise<Allowance>
  refund(kind: RateKind, key: string): Allowance | Promise<Allowance>
  /** Resolves when the slot is granted. `slot` is a number that the worker chooses. Errors: `overloaded`. */
  acquire(queue: Queue, tenant: string, slot: number): Promise<void>
  release(slot: number): void
  notify(work: WorkKind): void
}

/** Functions of a worker that the primary process calls. */
export interface WorkerFunctions {
  /** The database is available and migrated. */
  prepared(engine: EngineName): void
  /** The service is stopping: no longer ready, but still serving. */
  stopping(): void
  /** Finish the requests in progress, then exit. */
  close(): void
  notify(work: WorkKind): void
  metrics(): Promise<MetricsSnapshot>
}

/** A queue: of unindexed queries, or of callers that need a password hash. */
export type Queue = 'costly queries' | CallerKind
