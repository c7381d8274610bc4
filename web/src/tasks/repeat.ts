import { dayAfter } from './zones.ts'

/** How a task repeats, as its form shows it. */
export interface Repeat {
  unit: RepeatUnit
  interval: number
  /** The days of a week, 0 for Monday; undefined for that of the due date. */
  weekdays: readonly number[] | undefined
  /** Which day of a month or year: of the due date, or as the rule says. */
  on: string
  ends: Ends
  /** A rule that the form cannot show otherwise. */
  rule: string | undefined
}

export const repeatUnits = ['never', 'day', 'weekdays', 'week', 'month', 'year'] as const
/** `weekdays`: from Monday to Friday. */
export type RepeatUnit = (typeof repeatUnits)[number] | 'rule'

export type Ends = { kind: 'never' } | { kind: 'until'; day: string } | { kind: 'count'; count: number }

/** A rule in parts, as the service stores it. */
export interface RuleParts {
  frequency: string
  interval: number
  /** `MO`, `-1FR` */
  weekdays: readonly string[]
  monthDays: readonly number[]
  months: readonly number[]
  ends: Ends
}

export const weekdayCodes = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const
const workdays = [0, 1, 2, 3, 4]
const known = ['FREQ', 'INTERVAL', 'BYDAY', 'BYMONTHDAY', 'BYMONTH', 'COUNT', 'UNTIL']

/** Undefined for a rule with parts that only programs write. */
export function readRule(rule: string): RuleParts | undefined {
  const parts = new Map(rule.split(';').map((part) => part.split('=') as [string, string]))
  const listOf = (name: string) => parts.get(name)?.split(',') ?? []
  const until = parts.get('UNTIL')
  if ([...parts.keys()].some((name) => !known.includes(name)) || (until?.length ?? 8) !== 8) return undefined
  return {
    frequency: parts.get('FREQ') ?? '',
    interval: Number(parts.get('INTERVAL') ?? 1),
    weekdays: listOf('BYDAY'),
    monthDays: listOf('BYMONTHDAY').map(Number),
    months: listOf('BYMONTH').map(Number),
    ends: endsOf(until, parts.get('COUNT')),
  }
}

function endsOf(until: string | undefined, count: string | undefined): Ends {
  if (until !== undefined) return { kind: 'until', day: until.replace(/(....)(..)(..)/, '$1-$2-$3') }
  return count === undefined ? { kind: 'never' } : { kind: 'count', count: Number(count) }
}

/** 0 for Monday. */
export const weekdayOf = (day: string): number => (new Date(`${day}T12:00Z`).getUTCDay() + 6) % 7

/** The days of a month or a year that a due date suggests, as parts of a rule, by what they are called. */
export function daysLike(due: string, unit: 'month' | 'year'): Readonly<Record<string, string>> {
  const [month, day] = [Number(due.slice(5, 7)), Number(due.slice(8))]
  if (unit === 'year') return { date: `BYMONTH=${month};BYMONTHDAY=${day}` }
  const code = weekdayCodes[weekdayOf(due)]
  const nth = Math.ceil(day / 7)
  const isIn = (days: number) => dayAfter(due, days).slice(0, 7) === due.slice(0, 7)
  return {
    date: `BYMONTHDAY=${day}`,
    ...(nth < 5 && { nth: `BYDAY=${nth}${code}` }),
    ...(!isIn(7) && { last: `BYDAY=-1${code}` }),
    ...(!isIn(1) && { lastDay: 'BYMONTHDAY=-1' }),
  }
}

const never: Repeat = {
  unit: 'never',
  interval: 1,
  weekdays: undefined,
  on: 'date',
  ends: { kind: 'never' },
  rule: undefined,
}

/** What the form shows for a stored rule of a task that is due on a day. */
export function repeatOf(rule: string | null | undefined, due: string | undefined): Repeat {
  if (rule === null || rule === undefined) return never
  const parts = readRule(rule)
  const shown = parts && due !== undefined ? shownRepeat(parts, due) : undefined
  // Only if the form would write the same.
  if (shown && due !== undefined && ruleOf(shown, due) === rule) return shown
  return { ...never, unit: 'rule', rule }
}

function shownRepeat({ frequency, interval, weekdays, monthDays, months, ends }: RuleParts, due: string): Repeat {
  const common = { ...never, interval, ends }
  if (frequency === 'DAILY') return { ...common, unit: 'day' }
  if (frequency === 'WEEKLY') {
    const days = weekdays.map((code) => weekdayCodes.findIndex((one) => one === code))
    if (interval === 1 && String(days) === String(workdays)) return { ...common, unit: 'weekdays' }
    return { ...common, unit: 'week', weekdays: String(days) === String(weekdayOf(due)) ? undefined : days }
  }
  const unit = frequency === 'MONTHLY' ? 'month' : 'year'
  const on = [
    ...(months.length > 0 ? [`BYMONTH=${months.join(',')}`] : []),
    ...(monthDays.length > 0 ? [`BYMONTHDAY=${monthDays.join(',')}`] : []),
    ...(weekdays.length > 0 ? [`BYDAY=${weekdays.join(',')}`] : []),
  ].join(';')
  const like = Object.entries(daysLike(due, unit)).find(([, part]) => part === on)
  return { ...common, unit, on: like?.[0] ?? on }
}

/** The rule that the service stores; null for none. */
export function ruleOf(repeat: Repeat, due: string): string | null {
  const { unit, interval, ends } = repeat
  if (unit === 'never') return null
  if (unit === 'rule') return repeat.rule ?? null
  const frequency = { day: 'DAILY', weekdays: 'WEEKLY', week: 'WEEKLY', month: 'MONTHLY', year: 'YEARLY' }[unit]
  const parts = [
    `FREQ=${frequency}`,
    interval > 1 && unit !== 'weekdays' && `INTERVAL=${interval}`,
    daysOf(repeat, due),
    ends.kind === 'count' && `COUNT=${ends.count}`,
    ends.kind === 'until' && ends.day !== '' && `UNTIL=${ends.day.replaceAll('-', '')}`,
  ]
  return parts.filter(Boolean).join(';')
}

function daysOf({ unit, weekdays, on }: Repeat, due: string): string | undefined {
  if (unit === 'month' || unit === 'year')
    return daysLike(due, unit)[on] ?? (on.includes('=') ? on : daysLike(due, unit).date)
  if (unit === 'day') return undefined
  const days = unit === 'weekdays' ? workdays : (weekdays ?? [weekdayOf(due)])
  return `BYDAY=${days
    .toSorted((one, other) => one - other)
    .map((day) => weekdayCodes[day])
    .join(',')}`
}
