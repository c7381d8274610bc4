import { mkdir, writeFile } from 'node:fs/promises'
import { arch, cpus, release, totalmem } from 'node:os'
import { dirname } from 'node:path'
import type { LoadResult } from './load.ts'
import type { BenchOptions } from './options.ts'

/** One measurement of one target. */
export interface Measurement extends LoadResult {
  /** Milliseconds of processor time; undefined where the system does not tell. */
  serviceCpu: number | undefined
  databaseCpu: number | undefined
}

/** What the rounds of one target come to. */
export interface Figures {
  /** Of the rounds the middle one. */
  requestsPerSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
  /** Milliseconds of processor time a request; null where the system does not tell. */
  serviceCpu: number | null
  databaseCpu: number | null
}

export interface Row {
  name: string
  connections: number
  service: Figures
  floor: Figures
  /** Requests a second of the service for one of the floor. */
  ratio: number
}

export interface Report {
  takenAt: string
  machine: { processors: string; cores: number; memoryGb: number; system: string; node: string; postgres: string }
  options: Pick<BenchOptions, 'contacts' | 'organizations' | 'seconds' | 'rounds'>
  rows: Row[]
  /** Megabytes; null where the system does not tell. */
  memory: Record<'serviceAtStart' | 'serviceAtEnd' | 'databaseAtStart' | 'databaseAtEnd', number | null>
}

export function figuresOf(rounds: readonly Measurement[]): Figures {
  const answers = sum(rounds.map((round) => round.answers)) ?? 0
  const each = (total: number | undefined) => (total === undefined || answers === 0 ? null : total / answers)
  return {
    requestsPerSecond: middle(rounds.map((round) => round.answers / round.seconds)),
    p50: middle(rounds.map(({ p50 }) => p50)),
    p99: middle(rounds.map(({ p99 }) => p99)),
    serviceCpu: each(sum(rounds.map(({ serviceCpu }) => serviceCpu))),
    databaseCpu: each(sum(rounds.map(({ databaseCpu }) => databaseCpu))),
  }
}

function sum(values: readonly (number | undefined)[]): number | undefined {
  return values.reduce((total, value) => (total === undefined || value === undefined ? undefined : total + value), 0)
}

function middle(values: readonly number[]): number {
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

/** The report as a person reads it: a Markdown table. */
export function describe({ machine: where, options, rows, memory }: Report): string {
  const titles = [
    'row',
    'connections',
    '',
    'requests/s',
    'p50 ms',
    'p99 ms',
    'CPU ms service',
    'CPU ms database',
    'ratio',
  ]
  const lines = rows.flatMap(({ name, connections, service, floor, ratio }) => [
    [name, String(connections), 'service', ...cells(service), ratio.toFixed(2)],
    ['', '', 'floor', ...cells(floor), ''],
  ])
  const table = [titles, titles.map(() => '---'), ...lines]
  const widths = titles.map((_, column) => Math.max(...table.map((line) => line[column]?.length ?? 0)))
  const drawn = table.map(
    (line) =>
      `| ${line.map((cell, column) => (cell === '---' ? '-'.repeat(widths[column] ?? 3) : cell.padEnd(widths[column] ?? 0))).join(' | ')} |`,
  )
  const megabytes = (value: number | null) => (value === null ? 'n/a' : `${value} MB`)
  return [
    `${where.cores} × ${where.processors}, ${where.memoryGb} GB, ${where.system}, Node ${where.node}, PostgreSQL ${where.postgres}`,
    `${options.contacts} contacts, ${options.organizations} organizations; ${options.rounds} rounds of ${options.seconds} s`,
    '',
    ...drawn,
    '',
    `Memory, idle and after the load: service ${megabytes(memory.serviceAtStart)}, ${megabytes(memory.serviceAtEnd)};`,
    `database ${megabytes(memory.databaseAtStart)}, ${megabytes(memory.databaseAtEnd)}.`,
  ].join('\n')
}

const cells = ({ requestsPerSecond, p50, p99, serviceCpu, databaseCpu }: Figures): string[] => [
  String(Math.round(requestsPerSecond)),
  p50.toFixed(2),
  p99.toFixed(2),
  serviceCpu?.toFixed(3) ?? 'n/a',
  databaseCpu?.toFixed(3) ?? 'n/a',
]

export async function writeReport(file: string, report: Report): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `${JSON.stringify(report, null, 2)}\n`)
}
