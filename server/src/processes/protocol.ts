import type pg from 'pg'
import type { Allowance, RateKind } from '../platform/http/rate-limit.ts'
import type { MetricsSnapshot } from '../platform/http/metrics.ts'
import type { Queue } from './limits.ts'

/** What there may be more of to do. */
export type WorkKind = 'imports' | 'mail'

/** What a worker process needs to know before it serves. */
export interface Assignment {
  /** Which of the workers it is, from 0 on: the first also sends mails and does maintenance. */
  index: number
  processes: number
  connection: pg.ClientConfig
  /** 32 bytes in hexadecimal. */
  secret: string
  /** Where the primary listens. */
  url: string
  isPrepared: boolean
  isStopping: boolean
}

/** What a worker process calls in the primary one. */
export interface PrimaryFunctions {
  begin(): Assignment
  /** It takes connections from now on. */
  ready(): void
  /** It has taken over one of the connections that it was handed. */
  taken(): void
  charge(kind: RateKind, key: string): Allowance
  refund(kind: RateKind, key: string): Allowance
  /** Resolves when it is the turn of `turn`, a number of the worker's choice; errors: `overloaded`. */
  enter(queue: Queue, tenant: string, slot: number): Promise<void>
  leave(slot: number): void
  notify(work: WorkKind): void
}

/** What the primary process calls in a worker. */
export interface WorkerFunctions {
  /** The database is there and has its tables. */
  prepared(): void
  /** The service was told to stop: no longer ready, and still serving. */
  stopping(): void
  /** Finish the requests under way, and end. */
  close(): void
  notify(work: WorkKind): void
  metrics(): Promise<MetricsSnapshot>
}
