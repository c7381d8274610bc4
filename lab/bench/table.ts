import { formatCount } from '../../server/src/cli/progress.ts'
import { describeMachine, table } from '../shared/report.ts'
import type { Interactions } from './interactions.ts'
import type { Plan } from './plans.ts'
import { type Figures, type Report, type Row, type Start, type TargetLine } from './report.ts'

const rowTitles = [
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
  'database MB',
]

const startTitles = ['service start for', 'ready after s', 'service MB', 'database MB']

/** Formats the report as Markdown tables. */
export function describe({ machine: where, options, rows, plans, interactions, targets, starts }: Report): string {
  return [
    describeMachine(where),
    `${formatCount(options.contacts)} contacts, ${options.organizations} organizations; ${options.rounds} rounds of ${options.seconds} s or ${formatCount(options.queue)} rows`,
    '',
    ...(rows.length === 0 ? [] : [...table(rowTitles, rows.flatMap(linesOf)), '']),
    ...table(startTitles, starts.map(startLine)),
    ...(plans.length === 0
      ? []
      : ['', ...table(['plan of', 'indexes of contacts', 'whole table'], plans.map(planLine))]),
    ...(interactions.length === 0
      ? []
      : ['', ...table(['interaction', 'times', 'p50 ms', 'p75 ms', 'maximum ms'], interactions.map(interactionLine))]),
    ...(targets.length === 0
      ? []
      : [
          '',
          ...table(['target', 'connections', 'wanted', 'for contacts', 'measured', 'reached'], targets.map(targetLine)),
        ]),
  ].join('\n')
}

function linesOf({
  name,
  processes,
  connections,
  service,
  floor,
  driver,
  ratio,
  memory,
  databaseMemory,
  meanwhile,
}: Row): string[][] {
  const halves = memory.map((value) => value ?? 'n/a').join(', ')
  const more = [ratio?.toFixed(2) ?? '', halves, databaseMemory?.toString() ?? 'n/a']
  const lines = [[withProcesses(name, processes), connections?.toString() ?? '', 'service', ...cells(service), ...more]]
  if (floor) lines.push(['', '', 'floor', ...cells(floor)])
  if (driver) lines.push(['', '', 'driver', ...cells(driver)])
  if (meanwhile !== undefined) lines.push(['', '', 'rows', meanwhile === null ? 'n/a' : String(Math.round(meanwhile))])
  return lines
}

const withProcesses = (name: string, processes = 1): string =>
  processes === 1 ? name : `${name}, ${processes} processes`

const cells = ({ perSecond, p50, p99, serviceCpu, databaseCpu }: Figures): string[] => [
  String(Math.round(perSecond)),
  p50?.toFixed(2) ?? '',
  p99?.toFixed(2) ?? '',
  serviceCpu?.toFixed(3) ?? 'n/a',
  databaseCpu?.toFixed(3) ?? 'n/a',
]

/** Memory is shown after the start and at the end. */
const startLine = ({ rows, processes, seconds, atStart, atEnd }: Start): string[] => [
  withProcesses(rows.length > 2 ? `${rows[0]} … ${rows.at(-1)}` : rows.join('; '), processes),
  seconds.toFixed(2),
  ...(['service', 'database'] as const).map((name) => `${atStart[name] ?? 'n/a'}, ${atEnd[name] ?? 'n/a'}`),
]

const planLine = ({ name, indexes, sequential }: Plan): string[] => [
  name,
  indexes.join(', ') || 'none',
  sequential ? 'READ' : 'not read',
]

const interactionLine = ({ name, count, p50, p75, max }: Interactions): string[] => [
  name,
  ...[count, p50, p75, max].map((figure) => String(Math.round(figure))),
]

const targetLine = ({ name, connections, wanted, contacts, measured, reached }: TargetLine): string[] => [
  name,
  connections?.toString() ?? '',
  wanted,
  contacts === null ? 'any' : formatCount(contacts),
  measured,
  reached ? 'yes' : 'NO',
]
