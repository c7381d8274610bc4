import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { machine } from '../bench/report.ts'
import type { FaultOptions } from './options.ts'
import type { Finding } from './scenario.ts'

/** The whole run, as `--json` writes it. */
export interface FaultReport {
  takenAt: string
  machine: ReturnType<typeof machine>
  options: Pick<FaultOptions, 'cycles' | 'seed' | 'only'>
  scenarios: ({ name: string; seconds: number } & Finding)[]
}

/** The report as a person reads it: Markdown tables. */
export function describe({ machine: where, options, scenarios }: FaultReport): string {
  return [
    `${where.cores} × ${where.processors}, ${where.memoryGb} GB, ${where.system}, Node ${where.node}, PostgreSQL ${where.postgres}; seed ${options.seed}`,
    ...scenarios.flatMap((scenario) => ['', ...linesOf(scenario)]),
  ].join('\n')
}

function linesOf({ name, seconds, figures, broken, skipped }: FaultReport['scenarios'][number]): string[] {
  const outcome = skipped === undefined ? (broken.length === 0 ? 'kept' : 'BROKEN') : `skipped: ${skipped}`
  const rows = Object.entries(figures).map(([what, value]) => [what, String(value)])
  const table = [[name, `${outcome}, ${Math.round(seconds)} s`], ['---', '---'], ...rows]
  const widths = [0, 1].map((column) => Math.max(...table.map((line) => line[column]?.length ?? 0)))
  const drawn = table.map((line) => `| ${line.map((cell, column) => filled(cell, widths[column] ?? 0)).join(' | ')} |`)
  return [...drawn, ...broken.map((law) => `  broken: ${law}`)]
}

const filled = (cell: string, width: number): string => (cell === '---' ? '-'.repeat(width) : cell.padEnd(width))

export async function writeReport(file: string, report: FaultReport): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `${JSON.stringify(report, null, 2)}\n`)
}
