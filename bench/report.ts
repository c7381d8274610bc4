import { mkdir, writeFile } from 'node:fs/promises'
import { arch, cpus, release, totalmem } from 'node:os'
import { dirname } from 'node:path'
import type { LoadResult } from './load.ts'
import type { BenchOptions } from './options.ts'

/** One measurement of one target. What is no answer to a request has no latencies. */
export interface Measurement extends Omit<LoadResult, 'p50' | 'p99'>, Partial<Pick<LoadResult, 'p50' | 'p99'>> {
  /** Milliseconds of processor time; undefined where the system does not tell. */
  serviceCpu: number | undefined
  databaseCpu: number | undefined
}

/** What the rounds of one target come to. */
export interface Figures {
  /** Requests or rows; of the rounds the middle one. */
  perSecond: number
  /** Milliseconds; null for what is no answer to a request. */
  p50: number | null
  p99: number | null
  /** Milliseconds of processor time for each of them; null where the system does not tell. */
  serviceCpu: number | null
  databaseCpu: number | null
}

export interface Row {
  name: string
  /** Null for what comes over none. */
  connections: number | null
  service: Figures
  /** Null where there is nothing to compare with. */
  floor: Figures | null
  /** How many of the service for one of the floor, a second. */
  ratio: number | null
  /** Megabytes of the service at most, in the first and in the second half of the time; null as above. */
  memory: readonly [first: number | null, second: number | null]
  /** Rows that came to their end meanwhile, a second. */
  meanwhile?: number
}

export function rowOf(
  name: string,
  connections: number | null,
  service: Figures,
  floor: Figures | null,
  [first, second]: readonly [first: number | undefined, second: number | undefined],
): Row {
  return {
    name,
    connections,
    service,
    floor,
    ratio: floor && service.perSecond / floor.perSecond,
    memory: [megabytes(first), megabytes(second)],
  }
}

export const megabytes = (bytes: number | undefined) => (bytes === undefined ? null : Math.round(bytes / 1024 ** 2))

export interface Report {
  takenAt: string
  machine: { processors: string; cores: number; memoryGb: number; system: string; node: string; postgres: string }
  options: Pick<BenchOptions, 'contacts' | 'organizations' | 'seconds' | 'rounds' | 'queue'>
  rows: Row[]
  /** Megabytes; null where the system does not tell. */
  memory: Record<'serviceAtStart' | 'serviceAtEnd' | 'databaseAtStart' | 'databaseAtEnd', number | null>
}

export function figuresOf(rounds: readonly Measurement[]): Figures {
  const answers = sum(rounds.map((round) => round.answers)) ?? 0
  const each = (total: number | undefined) => (total === undefined || answers === 0 ? null : total / answers)
  return {
    perSecond: middle(rounds.map((round) => round.answers / round.seconds)) ?? 0,
    p50: middle(rounds.flatMap(({ p50 }) => p50 ?? [])),
    p99: middle(rounds.flatMap(({ p99 }) => p99 ?? [])),
    serviceCpu: each(sum(rounds.map(({ serviceCpu }) => serviceCpu))),
    databaseCpu: each(sum(rounds.map(({ databaseCpu }) => databaseCpu))),
  }
}

function sum(values: readonly (number | undefined)[]): number | undefined {
  return values.reduce((total, value) => (total === undefined || value === undefined ? undefined : total + value), 0)
}

export function middle(values: readonly number[]): number | null {
  if (values.length === 0) return null
  const sorted = [...values].sort((left, right) => left - right)
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.ceil((sorted.length - 1) / 2)]]
  return ((low ?? 0) + (high ?? 0)) / 2
}

/** The machine that the figures belong to. */
export const machine = (postgres: string): Report['machine'] => ({
  processors: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
  memoryGb: Math.round(totalmem() / 1024 ** 3),
  system: `${process.platform} ${release()} ${arch()}`,
  node: process.versions.node,
  postgres,
})

const titles = [
  'row',
  'connections',
  '',
  'a second',
  'p50 ms',
  'p99 ms',
  'CPU ms service',
  'CPU ms database',
  'ratio',
  'service MB',
]

/** The report as a person reads it: a Markdown table. */
export function describe({ machine: where, options, rows, memory }: Report): string {
  const table = [titles, titles.map(() => '---'), ...rows.flatMap(linesOf)]
  const widths = titles.map((_, column) => Math.max(...table.map((line) => line[column]?.length ?? 0)))
  const drawn = table.map(
    (line) =>
      `| ${line.map((cell, column) => (cell === '---' ? '-'.repeat(widths[column] ?? 3) : cell.padEnd(widths[column] ?? 0))).join(' | ')} |`,
  )
  const shown = (value: number | null) => (value === null ? 'n/a' : `${value} MB`)
  return [
    `${where.cores} × ${where.processors}, ${where.memoryGb} GB, ${where.system}, Node ${where.node}, PostgreSQL ${where.postgres}`,
    `${options.contacts} contacts, ${options.organizations} organizations; ${options.rounds} rounds of ${options.seconds} s or ${options.queue} rows`,
    '',
    ...drawn,
    '',
    `Memory at the start and at the end: service ${shown(memory.serviceAtStart)}, ${shown(memory.serviceAtEnd)};`,
    `database ${shown(memory.databaseAtStart)}, ${shown(memory.databaseAtEnd)}.`,
  ].join('\n')
}

function linesOf({ name, connections, service, floor, ratio, memory, meanwhile }: Row): string[][] {
  const halves = memory.map((value) => value ?? 'n/a').join(', ')
  const first = [name, connections?.toString() ?? '', 'service', ...cells(service), ratio?.toFixed(2) ?? '', halves]
  const lines = [first]
  if (floor) lines.push(['', '', 'floor', ...cells(floor), '', ''])
  if (meanwhile !== undefined) {
    lines.push(titles.map((_, column) => ({ 2: 'rows', 3: String(Math.round(meanwhile)) })[column] ?? ''))
  }
  return lines
}

const cells = ({ perSecond, p50, p99, serviceCpu, databaseCpu }: Figures): string[] => [
  String(Math.round(perSecond)),
  p50?.toFixed(2) ?? '',
  p99?.toFixed(2) ?? '',
  serviceCpu?.toFixed(3) ?? 'n/a',
  databaseCpu?.toFixed(3) ?? 'n/a',
]

export async function writeReport(file: string, report: Report): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `${JSON.stringify(report, null, 2)}\n`)
}
