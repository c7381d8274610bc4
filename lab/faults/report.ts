import { describeMachine, type Machine, table } from '../shared/report.ts'
import type { FaultOptions } from './options.ts'
import type { ScenarioResult } from './scenario.ts'

/** The report that `--json` writes. */
export interface FaultReport {
  takenAt: string
  machine: Machine
  options: Pick<FaultOptions, 'cycles' | 'seed' | 'only'>
  scenarios: ({ name: string; seconds: number } & ScenarioResult)[]
}

/** Formats the report as Markdown tables. */
export function describe({ machine: where, options, scenarios }: FaultReport): string {
  return [
    `${describeMachine(where)}; seed ${options.seed}`,
    ...scenarios.flatMap((scenario) => ['', ...linesOf(scenario)]),
  ].join('\n')
}

function linesOf({ name, seconds, figures, broken, skipped }: FaultReport['scenarios'][number]): string[] {
  const outcome = skipped === undefined ? (broken.length === 0 ? 'passed' : 'FAILED') : `skipped: ${skipped}`
  const rows = Object.entries(figures).map(([what, value]) => [what, String(value)])
  return [
    ...table([name, `${outcome}, ${Math.round(seconds)} s`], rows),
    ...broken.map((guarantee) => `  broken: ${guarantee}`),
  ]
}
