import { dayMilliseconds, instantOf, localTimeOf } from '../../platform/model/local-time.ts'
import type { Normalize } from '../../platform/model/normalizers.ts'
import { formatRule, parseRule, type RecurrenceRule, RuleProblem } from './recurrence-rule.ts'

/** The rule as it is stored; refuses one that is not understood or has no day at all, such as 30 February. */
export const recurrenceRule: Normalize = (value) => {
  try {
    const rule = parseRule(String(value).trim())
    const everyTime = { ...rule, interval: 1 }
    if (nextDay(everyTime, { last: '2000-01-01', from: '2000-01-01' }) === undefined)
      throw new RuleProblem('has no day: the calendar has none')
    return { value: formatRule(rule) }
  } catch (error) {
    if (error instanceof RuleProblem) return { error: error.message }
    throw error
  }
}

/** When a task with a rule is due. */
export interface Due {
  dueDate: string | null
  dueAt: string | null
  timeZone: string
  /** Of `dueAt`, if clocks skip the time of its day on that day. */
  time: string | null
}

export interface Occurrence {
  dueDate: string | null
  dueAt: string | null
  time: string | null
  /** The rule from then on. */
  recurrence: string
}

/**
 * When the next task of a series is due, strictly after the last one and not in the past: what was missed is not made up
 * for. Undefined if the series ends.
 */
export function nextOccurrence(recurrence: string, due: Due, now: number): Occurrence | undefined {
  const rule = parseRule(recurrence)
  if (rule.count === 1) return undefined
  const next = due.dueAt === null ? nextDueDay(rule, due, now) : nextInstant(rule, due, due.dueAt, now)
  if (!next) return undefined
  const after = rule.count === undefined ? rule : { ...rule, count: rule.count - 1 }
  return { ...next, recurrence: formatRule(after) }
}

type NextDue = Omit<Occurrence, 'recurrence'>

function nextDueDay(rule: RecurrenceRule, { dueDate, timeZone }: Due, now: number): NextDue | undefined {
  if (dueDate === null) return undefined
  const day = nextDay(rule, { last: dueDate, from: localTimeOf(now, timeZone).day })
  if (day === undefined || isAfterDay(day, rule.until)) return undefined
  return { dueDate: day, dueAt: null, time: null }
}

function nextInstant(rule: RecurrenceRule, due: Due, dueAt: string, now: number): NextDue | undefined {
  const last = localTimeOf(Date.parse(dueAt), due.timeZone)
  const time = due.time ?? last.time
  const earliest = Math.max(now, Date.parse(dueAt))
  for (let from = localTimeOf(now, due.timeZone).day; ;) {
    const day = nextDay(rule, { last: last.day, from })
    if (day === undefined || isAfterDay(day, rule.until?.slice(0, 8))) return undefined
    const instant = instantOf({ day, time }, due.timeZone)
    if (instant > earliest) {
      const next = new Date(instant).toISOString()
      return isAfterInstant(next, rule.until) ? undefined : { dueDate: null, dueAt: next, time }
    }
    from = dayText(dayNumber(day) + 1)
  }
}

const isAfterDay = (day: string, until: string | undefined): boolean =>
  until !== undefined && day.replaceAll('-', '') > until.slice(0, 8)

const isAfterInstant = (instant: string, until: string | undefined): boolean =>
  until !== undefined && until.length > 8 && instant.replaceAll(/[-:]|\.\d+/g, '') > until

/** Years that are searched for a day. */
const searchedYears = 400
const lastDay = Date.UTC(9999, 11, 31) / dayMilliseconds

/** The first day after `last`, which belongs to the series, that is not before `from`. */
export function nextDay(rule: RecurrenceRule, { last, from }: { last: string; from: string }): string | undefined {
  const [anchor, earliest] = [dayNumber(last), Math.max(dayNumber(last) + 1, dayNumber(from))]
  const end = Math.min(lastDay, earliest + searchedYears * 366)
  const matches = matcher(rule, anchor)
  for (let number = Math.max(0, periodsUntil(rule, anchor, earliest)); ; number++) {
    const period = periodOf(rule, anchor, number)
    if (period.first > end) return undefined
    const days: number[] = []
    for (let day = period.first; day < period.first + period.length; day++) if (matches(day)) days.push(day)
    const found = select(days, rule.positions).find((day) => day >= earliest)
    if (found !== undefined) return found > lastDay ? undefined : dayText(found)
  }
}

const select = (days: readonly number[], positions: readonly number[]): readonly number[] =>
  positions.length === 0
    ? days
    : days.filter((_, index) => positions.includes(index + 1) || positions.includes(index - days.length))

interface Period {
  first: number
  length: number
}

/** The period with this number, counted from that of the anchor; those between two intervals have none. */
function periodOf({ frequency, interval, weekStart }: RecurrenceRule, anchor: number, number: number): Period {
  if (frequency === 'DAILY') return { first: anchor + number * interval, length: 1 }
  if (frequency === 'WEEKLY') return { first: weekOf(anchor, weekStart) + number * interval * 7, length: 7 }
  const { year, month } = calendarOf(anchor)
  const isYear = frequency === 'YEARLY'
  const first = isYear ? monthStart(year + number * interval, 1) : monthStart(year, month + number * interval)
  const end = isYear ? monthStart(year + number * interval + 1, 1) : monthStart(year, month + number * interval + 1)
  return { first, length: end - first }
}

/** The number of the last period that begins at this day or before it. */
function periodsUntil({ frequency, interval, weekStart }: RecurrenceRule, anchor: number, day: number): number {
  const [from, to] = [calendarOf(anchor), calendarOf(day)]
  const passed = {
    DAILY: day - anchor,
    WEEKLY: Math.floor((day - weekOf(anchor, weekStart)) / 7),
    MONTHLY: (to.year - from.year) * 12 + to.month - from.month,
    YEARLY: to.year - from.year,
  }
  return Math.floor(passed[frequency] / interval)
}

/** Is a day one of the rule's? What a rule does not say is as on the anchor. */
function matcher(rule: RecurrenceRule, anchor: number): (day: number) => boolean {
  const { frequency, weekdays } = rule
  const start = calendarOf(anchor)
  const isOpen = weekdays.length === 0 && rule.monthDays.length === 0
  const byDayOfMonth = isOpen && (frequency === 'MONTHLY' || frequency === 'YEARLY')
  const months = byDayOfMonth && frequency === 'YEARLY' && rule.months.length === 0 ? [start.month] : rule.months
  const monthDays = byDayOfMonth ? [start.day] : rule.monthDays
  const wanted = isOpen && frequency === 'WEEKLY' ? [{ weekday: weekdayOf(anchor), ordinal: 0 }] : weekdays
  const isInYear = frequency === 'YEARLY' && rule.months.length === 0
  return (number) => {
    const { year, month, day } = calendarOf(number)
    if (months.length > 0 && !months.includes(month)) return false
    const first = monthStart(year, month)
    const length = monthStart(year, month + 1) - first
    if (monthDays.length > 0 && !monthDays.includes(day) && !monthDays.includes(day - length - 1)) return false
    if (wanted.length === 0) return true
    const within = isInYear
      ? { first: monthStart(year, 1), end: monthStart(year + 1, 1) }
      : { first, end: first + length }
    const ordinals = [0, Math.floor((number - within.first) / 7) + 1, -Math.floor((within.end - 1 - number) / 7) - 1]
    return wanted.some(({ weekday, ordinal }) => weekday === weekdayOf(number) && ordinals.includes(ordinal))
  }
}

/** Days since 1970. */
const dayNumber = (day: string): number => Date.parse(`${day}T00:00Z`) / dayMilliseconds
const dayText = (number: number): string => new Date(number * dayMilliseconds).toISOString().slice(0, 10)

/** 0 for Monday; 1970 began on a Thursday. */
const weekdayOf = (number: number): number => (((number + 3) % 7) + 7) % 7
const weekOf = (number: number, weekStart: number): number => number - ((weekdayOf(number) - weekStart + 7) % 7)

function calendarOf(number: number): { year: number; month: number; day: number } {
  const date = new Date(number * dayMilliseconds)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

/** The first day of a month, which may be more than 12. `Date.UTC` takes years before 100 for those of 1900. */
const monthStart = (year: number, month: number): number =>
  new Date(0).setUTCFullYear(year, month - 1, 1) / dayMilliseconds
