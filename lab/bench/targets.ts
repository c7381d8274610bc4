import { firstRowsName, floorName, type Interactions } from './interactions.ts'
import type { Plan } from './plans.ts'
import { formatCount } from '../../server/src/cli/progress.ts'
import { median, type Report, type Row, type TargetLine } from './report.ts'
import { rowNames as names } from './row-names.ts'

type Measured = Pick<Report, 'rows' | 'plans' | 'interactions' | 'starts'>

const million = 1_000_000
const hundredThousand = 100_000

/** Minimum ratio of requests per second, compared with the bare route. */
const ratios: readonly [row: string, min: number][] = [
  [names.one, 0.8],
  [names.page, 0.8],
  [names.email, 0.8],
  [names.created, 0.8],
  [names.createdWithCompany, 0.8],
  // At most 15 % of the time of a write.
  [names.createHistory, 0.87],
  [names.changeHistory, 0.87],
  // At most 5 %.
  [names.reachOne, 0.95],
  [names.reachPage, 0.95],
  [names.reachChange, 0.95],
]

/** Maximum milliseconds of processor time, of service and database together. */
const processorTimes: readonly [row: string, max: number][] = [
  [names.createdWithCompany, 0.8],
  [names.changed, 1],
]

/** Maximum p50 of an organization next to a busy one, relative to its p50 alone. */
const maxNextTo: Readonly<Record<string, number>> = {
  [names.nextToReads]: 3,
  [names.nextToNotes]: 1.5,
  [names.nextToWebhooks]: 3,
}

interface Rate {
  row: string
  connections: number | null
  /** Per second. */
  min: number
  contacts: number | null
}

const rates: readonly Rate[] = [
  { row: names.pushed, connections: 64, min: 3000, contacts: null },
  // One worker processes an organization's rows, and the service has two workers.
  { row: names.processed, connections: null, min: 1500, contacts: hundredThousand },
  { row: names.processedOfTwo, connections: null, min: 1500, contacts: hundredThousand },
  { row: names.delivered, connections: null, min: 1000, contacts: null },
]

/** Maximum memory in the second half of a row, relative to the maximum in the first. */
const growthLimit = { factor: 1.25, megabytes: 20 }

const maxMedian = 30
const searches: readonly string[] = [
  names.rare,
  names.common,
  names.absent,
  names.query,
  names.property,
  names.commonProperty,
]
/** Milliseconds, p75: a person does not notice the delay (docs/decisions/0017-web-application.md). */
const maxInteraction = 100
const maxFirstRows = 300
/** Maximum p50 of a deep page relative to that of the first page. */
const maxDeepRatio = 1.3

/** Rows whose p50 must not grow with the number of contacts, and the permitted factor. */
const steady: readonly string[] = [names.one, names.page, names.deep, names.deepByLink, names.email, names.created]
const maxSteadyRatio = 1.3

/**
 * Compares the measurements with the targets; omits targets that were not measured. `earlier` is a run with fewer
 * contacts.
 */
export function targetsOf(
  { rows, plans, interactions, starts }: Measured,
  earlier?: Pick<Report, 'rows' | 'options'>,
): TargetLine[] {
  const start = median(starts.map(({ seconds }) => seconds))
  const max = highest(rows.flatMap(({ memory }) => memory))
  const atStart = highest(starts.map((one) => one.atStart.service))
  return [
    ...ratios.flatMap(([name, min]) => busiest(rows, name).map((row) => ratioLine(row, min))),
    ...processorTimes.flatMap(([name, limit]) => busiest(rows, name).map((row) => processorLine(row, limit))),
    ...rates.flatMap((rate) => rows.filter((row) => matchesRate(rate, row)).map((row) => rateLine(row, rate))),
    ...rows
      .filter(({ name }) => name === names.deep || name === names.deepByLink)
      .flatMap((row) => deepLine(rows, row)),
    ...rows.flatMap(nextToLine),
    ...rows.filter(({ name }) => searches.includes(name)).map(medianLine),
    ...(earlier ? rows.flatMap((row) => steadyLine(row, earlier)) : []),
    ...plans.map(planLine),
    ...interactions.flatMap(interactionLine),
    ...(max === null ? [] : [memoryLine('maximum memory of the service', 256, max)]),
    ...rows.flatMap(growth).toSorted(byExcess).slice(0, 1).map(growthLine),
    ...(atStart === null ? [] : [memoryLine('maximum memory after a start', 120, atStart)]),
    ...(start === null ? [] : [startLine(start)]),
  ]
}

/** The rows with the most connections. */
function busiest(rows: readonly Row[], name: string): Row[] {
  const own = rows.filter((row) => row.name === name)
  const max = Math.max(...own.map(({ connections }) => connections ?? 0))
  return own.filter(({ connections }) => (connections ?? 0) === max)
}

const ratioLine = ({ name, connections, ratio }: Row, min: number): TargetLine => ({
  name: `${name}: ratio to the floor`,
  connections,
  wanted: `≥ ${min}`,
  contacts: null,
  measured: (ratio ?? 0).toFixed(2),
  reached: (ratio ?? 0) >= min,
})

function processorLine({ name, connections, service: { serviceCpu, databaseCpu } }: Row, limit: number): TargetLine {
  const measured = (serviceCpu ?? 0) + (databaseCpu ?? 0)
  return {
    name: `${name}: CPU ms of service and database`,
    connections,
    wanted: `≤ ${limit}`,
    contacts: null,
    measured: measured.toFixed(2),
    reached: measured <= limit,
  }
}

const matchesRate = ({ row, connections }: Rate, { name, connections: own }: Row) => name === row && own === connections

const rateLine = ({ name, connections, service: { perSecond } }: Row, { min, contacts }: Rate): TargetLine => ({
  name: `${name}: per second`,
  connections,
  wanted: `≥ ${min}`,
  contacts,
  measured: String(Math.round(perSecond)),
  reached: perSecond >= min,
})

function deepLine(rows: readonly Row[], { name, connections, service }: Row): TargetLine[] {
  const first = rows.find((row) => row.name === names.page && row.connections === connections)?.service.p50
  if (!first || !service.p50) return []
  const measured = service.p50 / first
  return [
    {
      name: `${name}: p50 relative to the first page`,
      connections,
      wanted: `≤ ${maxDeepRatio}`,
      contacts: million,
      measured: measured.toFixed(2),
      reached: measured <= maxDeepRatio,
    },
  ]
}

function nextToLine({ name, connections, service, floor }: Row): TargetLine[] {
  const max = maxNextTo[name]
  if (max === undefined || !service.p50 || !floor?.p50) return []
  const measured = service.p50 / floor.p50
  return [
    {
      name: `${name}: p50 relative to that alone`,
      connections,
      wanted: `≤ ${max}`,
      contacts: null,
      measured: measured.toFixed(2),
      reached: measured <= max,
    },
  ]
}

const medianLine = ({ name, connections, service: { p50 } }: Row): TargetLine => ({
  name: `${name}: p50 ms`,
  connections,
  wanted: `< ${maxMedian}`,
  contacts: million,
  measured: (p50 ?? 0).toFixed(2),
  reached: p50 !== null && p50 < maxMedian,
})

const planLine = ({ name, indexes, expected, sequential }: Plan): TargetLine => ({
  name: `${name}: plan`,
  connections: null,
  wanted: expected.join(' or '),
  contacts: million,
  measured: sequential ? 'the whole table' : indexes.join(', ') || 'none',
  reached: !sequential && expected.some((index) => indexes.includes(index)),
})

function steadyLine({ name, connections, service }: Row, earlier: Pick<Report, 'rows' | 'options'>): TargetLine[] {
  const before = earlier.rows.find((row) => row.name === name && row.connections === connections)?.service.p50
  if (!steady.includes(name) || !before || !service.p50) return []
  const measured = service.p50 / before
  return [
    {
      name: `${name}: p50 relative to ${formatCount(earlier.options.contacts)} contacts`,
      connections,
      wanted: `≤ ${maxSteadyRatio}`,
      contacts: null,
      measured: measured.toFixed(2),
      reached: measured <= maxSteadyRatio,
    },
  ]
}

const memoryLine = (name: string, max: number, measured: number): TargetLine => ({
  name: `${name}, MB`,
  connections: null,
  wanted: `< ${max}`,
  contacts: null,
  measured: String(measured),
  reached: measured < max,
})

function interactionLine({ name, p75 }: Interactions): TargetLine[] {
  if (name === floorName) return []
  const max = name === firstRowsName ? maxFirstRows : maxInteraction
  return [
    {
      name: `${name}: p75 ms`,
      connections: null,
      wanted: `≤ ${max}`,
      contacts: hundredThousand,
      measured: String(Math.round(p75)),
      reached: p75 <= max,
    },
  ]
}

function highest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : Math.max(...known)
}

/** Memory in a row's second half and its limit, in MB. */
function growth({ name, connections, memory: [first, second] }: Row) {
  if (first === null || second === null) return []
  return [{ name, connections, second, max: growthLimit.factor * first + growthLimit.megabytes }]
}

type Growth = ReturnType<typeof growth>[number]
const byExcess = (left: Growth, right: Growth): number => right.second - right.max - (left.second - left.max)

const growthName = 'memory in the second half of a row, MB'

/** The row with the largest growth. */
const growthLine = ({ name, connections, second, max }: Growth): TargetLine => ({
  name: growthName,
  connections,
  wanted: `≤ ${Math.round(max)}`,
  contacts: null,
  measured: `${second} (${name})`,
  reached: second <= max,
})

const startLine = (measured: number): TargetLine => ({
  name: 'warm start, s',
  connections: null,
  wanted: '< 2',
  contacts: null,
  measured: measured.toFixed(2),
  reached: measured < 2,
})
