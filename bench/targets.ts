import type { Plan } from './plans.ts'
import { middle, type Report, type Row } from './report.ts'
import { rowNames as names } from './row-names.ts'

/** A figure that we want to reach, and the one that was measured. */
export interface TargetLine {
  name: string
  connections: number | null
  wanted: string
  /** How many contacts it is meant for; null when that does not matter. */
  contacts: number | null
  measured: string
  reached: boolean
}

type Measured = Pick<Report, 'rows' | 'plans' | 'memory' | 'warmStarts'>

const million = 1_000_000
const hundredThousand = 100_000

/** Requests a second for one of the bare route. */
const ratios: readonly [row: string, least: number][] = [
  [names.one, 0.6],
  [names.page, 0.6],
  [names.email, 0.6],
  [names.created, 0.5],
]

/** Milliseconds of processor time of service and database together, for one request. */
const processorTimes: readonly [row: string, most: number][] = [
  [names.page, 0.3],
  [names.one, 0.2],
  [names.email, 0.2],
  [names.rare, 4],
  [names.common, 4],
  [names.absent, 4],
  [names.deep, 0.3],
  [names.created, 0.5],
]

const mostMedian = 30
const searches: readonly string[] = [
  names.rare,
  names.common,
  names.absent,
  names.query,
  names.property,
  names.commonProperty,
]
/** p50 of the deep page for that of the first. */
const mostDeep = 1.3

/** What is wanted beside what was measured; what was not measured is left out. */
export function targetsOf({ rows, plans, memory, warmStarts }: Measured): TargetLine[] {
  const starts = middle(warmStarts)
  const most = Math.max(...rows.flatMap(({ memory }) => memory).filter((value) => value !== null))
  return [
    ...ratios.flatMap(([name, least]) => busiest(rows, name).map((row) => ratioLine(row, least))),
    ...rows
      .filter(({ name }) => name === names.deep || name === names.deepByLink)
      .flatMap((row) => deepLine(rows, row)),
    ...rows.filter(({ name }) => searches.includes(name)).map(medianLine),
    ...plans.map(planLine),
    ...processorTimes.flatMap(([name, limit]) => busiest(rows, name).flatMap((row) => processorLine(row, limit))),
    ...(Number.isFinite(most) ? [memoryLine('memory of the service, at most', 256, most)] : []),
    ...(memory.serviceAtStart === null ? [] : [memoryLine('memory after the start', 120, memory.serviceAtStart)]),
    ...(starts === null ? [] : [startLine(starts)]),
  ]
}

/** The row with the most connections. */
function busiest(rows: readonly Row[], name: string): Row[] {
  const own = rows.filter((row) => row.name === name)
  const most = Math.max(...own.map(({ connections }) => connections ?? 0))
  return own.filter(({ connections }) => connections === most)
}

const ratioLine = ({ name, connections, ratio }: Row, least: number): TargetLine => ({
  name: `${name}: ratio to the floor`,
  connections,
  wanted: `≥ ${least}`,
  contacts: null,
  measured: (ratio ?? 0).toFixed(2),
  reached: (ratio ?? 0) >= least,
})

function deepLine(rows: readonly Row[], { name, connections, service }: Row): TargetLine[] {
  const first = rows.find((row) => row.name === names.page && row.connections === connections)?.service.p50
  if (!first || !service.p50) return []
  const measured = service.p50 / first
  return [
    {
      name: `${name}: p50 for that of the first page`,
      connections,
      wanted: `≤ ${mostDeep}`,
      contacts: million,
      measured: measured.toFixed(2),
      reached: measured <= mostDeep,
    },
  ]
}

const medianLine = ({ name, connections, service: { p50 } }: Row): TargetLine => ({
  name: `${name}: p50 ms`,
  connections,
  wanted: `< ${mostMedian}`,
  contacts: million,
  measured: (p50 ?? 0).toFixed(2),
  reached: p50 !== null && p50 < mostMedian,
})

const planLine = ({ name, indexes, expected, sequential }: Plan): TargetLine => ({
  name: `${name}: plan`,
  connections: null,
  wanted: expected.join(' or '),
  contacts: million,
  measured: sequential ? 'the whole table' : indexes.join(', ') || 'none',
  reached: !sequential && expected.some((index) => indexes.includes(index)),
})

function processorLine({ name, connections, service: { serviceCpu, databaseCpu } }: Row, most: number): TargetLine[] {
  if (serviceCpu === null || databaseCpu === null) return []
  const measured = serviceCpu + databaseCpu
  return [
    {
      name: `${name}: CPU ms`,
      connections,
      wanted: `≤ ${most}`,
      contacts: hundredThousand,
      measured: measured.toFixed(3),
      reached: measured <= most,
    },
  ]
}

const memoryLine = (name: string, most: number, measured: number): TargetLine => ({
  name: `${name}, MB`,
  connections: null,
  wanted: `< ${most}`,
  contacts: null,
  measured: String(measured),
  reached: measured < most,
})

const startLine = (measured: number): TargetLine => ({
  name: 'warm start, s',
  connections: null,
  wanted: '< 2',
  contacts: null,
  measured: measured.toFixed(2),
  reached: measured < 2,
})
