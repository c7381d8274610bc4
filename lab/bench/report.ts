import type { Machine } from '../shared/report.ts'
import type { TurnResult } from './counter.ts'
import type { Interactions } from './interactions.ts'
import type { BenchOptions } from './options.ts'
import type { Plan } from './plans.ts'

/** One measurement of one target. Processed rows have no latencies. */
export interface Measurement extends Omit<TurnResult, 'p50' | 'p99'>, Partial<Pick<TurnResult, 'p50' | 'p99'>> {
  /** Milliseconds of processor time; undefined if the system does not report it. */
  serviceCpu: number | undefined
  databaseCpu: number | undefined
}

/** Summary of the rounds of one target. */
export interface Figures {
  /** Requests or rows per second; the median of the rounds. */
  perSecond: number
  /** Milliseconds; null for processed rows. */
  p50: number | null
  p99: number | null
  /** Milliseconds of processor time for each; null if the system does not report it. */
  serviceCpu: number | null
  databaseCpu: number | null
}

export interface Row {
  name: string
  /** Processes of the service (1). */
  processes?: number
  /** Null if the row uses no connection. */
  connections: number | null
  service: Figures
  /** A bare route with the same statements; null if nothing is comparable. */
  floor: Figures | null
  /** The same statements without HTTP; null as above. */
  driver: Figures | null
  /** Responses per second of the service divided by those of the floor. */
  ratio: number | null
  /** Maximum memory of the service in MB in the first and second half of the time; null if unknown. */
  memory: readonly [first: number | null, second: number | null]
  /** Memory of the database in MB afterwards. */
  databaseMemory: number | null
  /** Rows per second that were finished during the measurement. */
  meanwhile?: number | null
}

/** Memory in bytes. */
type RowOf = Omit<Row, 'ratio' | 'memory' | 'databaseMemory' | 'meanwhile'> & {
  memory: readonly [first: number | undefined, second: number | undefined]
  databaseMemory: number | undefined
}

export const rowOf = ({ memory: [first, second], databaseMemory, ...row }: RowOf): Row => ({
  ...row,
  ratio: row.floor && row.service.perSecond / row.floor.perSecond,
  memory: [toMegabytes(first), toMegabytes(second)],
  databaseMemory: toMegabytes(databaseMemory),
})

export const toMegabytes = (bytes: number | undefined) => (bytes === undefined ? null : Math.round(bytes / 1024 ** 2))

export interface Report {
  takenAt: string
  machine: Machine
  options: Pick<BenchOptions, 'contacts' | 'organizations' | 'seconds' | 'rounds' | 'processes' | 'queue'>
  rows: Row[]
  plans: Plan[]
  interactions: Interactions[]
  targets: TargetLine[]
  starts: Start[]
}

/** One start of the service on the filled database; the process runs until its rows are measured. */
export interface Start {
  rows: readonly string[]
  /** Processes of the service (1). */
  processes?: number
  /** From the start of the process until it is ready. */
  seconds: number
  atStart: MemoryOf
  atEnd: MemoryOf
}

/** Megabytes; null if the system does not report it. */
type MemoryOf = Record<'service' | 'database', number | null>

export function figuresOf(rounds: readonly Measurement[]): Figures {
  const count = sum(rounds.map((round) => round.responses)) ?? 0
  const perItem = (total: number | undefined) => (total === undefined || count === 0 ? null : total / count)
  return {
    perSecond: median(rounds.map((round) => round.responses / round.seconds)) ?? 0,
    p50: median(rounds.flatMap(({ p50 }) => p50 ?? [])),
    p99: median(rounds.flatMap(({ p99 }) => p99 ?? [])),
    serviceCpu: perItem(sum(rounds.map(({ serviceCpu }) => serviceCpu))),
    databaseCpu: perItem(sum(rounds.map(({ databaseCpu }) => databaseCpu))),
  }
}

function sum(values: readonly (number | undefined)[]): number | undefined {
  return values.reduce((total, value) => (total === undefined || value === undefined ? undefined : total + value), 0)
}

export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null
  const sorted = [...values].sort((left, right) => left - right)
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.ceil((sorted.length - 1) / 2)]]
  return ((low ?? 0) + (high ?? 0)) / 2
}

/** A target and the measured figure. */
export interface TargetLine {
  name: string
  connections: number | null
  wanted: string
  /** Number of contacts for which it is meant; null for any. */
  contacts: number | null
  measured: string
  reached: boolean
}
