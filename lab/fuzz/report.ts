import { describeMachine, type Machine, table } from '../shared/report.ts'
import type { FuzzOptions } from './options.ts'
import type { Result } from './run.ts'
import { undrawable } from './undrawable.ts'
import type { Violation } from './violations.ts'

export interface Report extends Result {
  takenAt: string
  machine: Machine
  options: Omit<FuzzOptions, 'json'>
  /** Memory of the service in MB after a tenth of the requests, and its maximum in the second half. */
  memory: { early: number; late: number } | null
  /** Problems found after the run. */
  aftermath: string[]
}

/** Formats the report as text. */
export function describe(report: Report): string {
  const { options, seconds, statuses, operations, memory, aftermath, violations, machine: where } = report
  const total = Object.values(statuses).reduce((sum, count) => sum + count, 0)
  const all = Object.entries(operations)
  const reached = all.filter(([, { requests }]) => requests > 0)
  const succeeded = all.filter(([, { successes }]) => successes > 0)
  const slow = [...reached].sort(([, left], [, right]) => right.slowest - left.slowest).slice(0, 5)
  const lines = [
    describeMachine(where),
    `${total} requests in ${seconds.toFixed(1)} s (${Math.round(total / seconds)} a second), seed ${options.seed}, ${options.connections} connections`,
    '',
    ...table(
      ['status', 'responses', 'share'],
      Object.entries(statuses).map(([status, count]) => [
        status.replace(/^0$/, 'none'),
        String(count),
        `${((100 * count) / total).toFixed(1)} %`,
      ]),
    ),
    '',
    `Operations: ${reached.length} of ${all.length} were requested, ${succeeded.length} of them with success.`,
    ...missing(all.filter(([, { successes }]) => successes === 0).map(([name]) => name)),
    '',
    ...table(
      ['slowest operations', 'slowest ms', 'mean ms'],
      slow.map(([name, { slowest, total: sum, requests }]) => [name, slowest.toFixed(0), (sum / requests).toFixed(1)]),
    ),
    '',
    ...(memory
      ? [`Memory of the service: ${memory.early} MB after a tenth of the requests, at most ${memory.late} MB later.`]
      : []),
  ]
  const broken = violations.map((violation) => `\n${describeViolation(violation)}`)
  const end =
    broken.length + aftermath.length === 0 ? ['No rule was broken.'] : ['', 'BROKEN RULES', ...broken, ...aftermath]
  return [...lines, ...end].join('\n')
}

export const describeViolation = ({ operation, law, number, times, what, changes, isRepeatable, command }: Violation) =>
  [
    `${operation}: ${law} (request ${number}, ${times} times)`,
    `  ${what}`,
    `  mutations: ${changes.join('; ') || 'none'}`,
    `  ${isRepeatable ? 'reproduce with' : 'not reproducible; the request was'}: ${command}`,
  ].join('\n')

function missing(names: readonly string[]): string[] {
  const drawable = names.filter((name) => !undrawable.has(name))
  return [
    ...(drawable.length > 0 ? [`Without success: ${drawable.join(', ')}.`] : []),
    ...(drawable.length < names.length
      ? [`${names.length - drawable.length} others need input that cannot be generated (lab/fuzz/undrawable.ts).`]
      : []),
  ]
}
