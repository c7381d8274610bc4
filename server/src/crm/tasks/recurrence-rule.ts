/** A recurrence rule of RFC 5545, for whole days: a task keeps its time of the day. */
export interface RecurrenceRule {
  frequency: Frequency
  interval: number
  months: readonly number[]
  /** From the end of the month if negative. */
  monthDays: readonly number[]
  weekdays: readonly RuleWeekday[]
  /** Which of the days in a period count, from its end if negative; all if empty. */
  positions: readonly number[]
  /** How many tasks there are, with this one. */
  count: number | undefined
  /** `20261231` or `20261231T160000Z` */
  until: string | undefined
  /** The first day of a week, 0 for Monday. */
  weekStart: number
}

/** `ordinal`: which one in the month or year, from the end if negative; 0 for each. */
export interface RuleWeekday {
  weekday: number
  ordinal: number
}

const frequencies = ['DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'] as const
export type Frequency = (typeof frequencies)[number]

const weekdayNames = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU']
const partNames = ['FREQ', 'INTERVAL', 'BYMONTH', 'BYMONTHDAY', 'BYDAY', 'BYSETPOS', 'COUNT', 'UNTIL', 'WKST'] as const
type PartName = (typeof partNames)[number]
type Parts = Partial<Record<PartName, string>>

export const maxInterval = 999
export const maxCount = 999
/** Items of a list. */
const maxItems = 40

/** A problem of a rule, as the caller sees it. */
export class RuleProblem extends Error {}

/** Reads a rule; throws `RuleProblem`. */
export function parseRule(text: string): RecurrenceRule {
  const parts = partsOf(text)
  const frequency = frequencies.find((name) => name === parts.FREQ)
  if (!frequency) throw new RuleProblem('FREQ: expected DAILY, WEEKLY, MONTHLY or YEARLY')
  const rule: RecurrenceRule = {
    frequency,
    interval: integer(parts, 'INTERVAL', maxInterval) ?? 1,
    months: integers(parts, 'BYMONTH', { max: 12 }),
    monthDays: integers(parts, 'BYMONTHDAY', { max: 31, isSigned: true }),
    weekdays: weekdaysOf(parts.BYDAY),
    positions: integers(parts, 'BYSETPOS', { max: 366, isSigned: true }),
    count: integer(parts, 'COUNT', maxCount),
    until: untilOf(parts.UNTIL),
    weekStart: parts.WKST === undefined ? 0 : weekdayOf('WKST', parts.WKST),
  }
  checkCombinations(rule)
  return rule
}

function partsOf(text: string): Parts {
  const parts: Parts = {}
  for (const part of text
    .toUpperCase()
    .replace(/^RRULE:/, '')
    .replace(/;$/, '')
    .split(';')) {
    const [, given = '', value = ''] = /^([A-Z-]+)=(.+)$/.exec(part) ?? []
    const name = partNames.find((one) => one === given)
    if (given === '') throw new RuleProblem('expected an RRULE of RFC 5545, such as "FREQ=WEEKLY;BYDAY=MO"')
    if (!name) throw new RuleProblem(`${given.slice(0, 20)} is not supported; expected ${partNames.join(', ')}`)
    if (parts[name] !== undefined) throw new RuleProblem(`${name}: expected only once`)
    parts[name] = value
  }
  return parts
}

function integer(parts: Parts, name: PartName, max: number): number | undefined {
  const value = parts[name]
  if (value === undefined) return undefined
  const number = /^\d{1,6}$/.test(value) ? Number(value) : 0
  if (number < 1 || number > max) throw new RuleProblem(`${name}: expected a number from 1 to ${max}`)
  return number
}

function integers(
  parts: Parts,
  name: PartName,
  { max, isSigned = false }: { max: number; isSigned?: boolean },
): readonly number[] {
  const items = itemsOf(name, parts[name])
  const numbers = items.map((item) => {
    const number = /^[+-]?\d{1,3}$/.test(item) ? Number(item) : 0
    const isValid = number !== 0 && Math.abs(number) <= max && (isSigned || number > 0)
    if (!isValid)
      throw new RuleProblem(`${name}: expected numbers from 1 to ${max}${isSigned ? ', or negative ones' : ''}`)
    return number
  })
  return sorted(numbers)
}

const sorted = (numbers: readonly number[]): number[] => [...new Set(numbers)].sort((one, other) => one - other)

function itemsOf(name: PartName, value: string | undefined): readonly string[] {
  const items = value?.split(',') ?? []
  if (items.length > maxItems) throw new RuleProblem(`${name}: expected at most ${maxItems} items`)
  return items
}

function weekdaysOf(value: string | undefined): readonly RuleWeekday[] {
  const byKey = new Map<number, RuleWeekday>()
  for (const item of itemsOf('BYDAY', value)) {
    const [, number = '0', name = ''] = /^([+-]?\d{1,2})?([A-Z]{2})$/.exec(item) ?? []
    const [weekday, ordinal] = [weekdayOf('BYDAY', name), Number(number)]
    if (Math.abs(ordinal) > 53) throw new RuleProblem('BYDAY: expected weekdays such as MO, 1MO or -1FR')
    byKey.set(ordinal * 7 + weekday, { weekday, ordinal })
  }
  return [...byKey].sort(([one], [other]) => one - other).map(([, weekday]) => weekday)
}

function weekdayOf(part: PartName, name: string): number {
  const weekday = weekdayNames.indexOf(name)
  if (weekday < 0) throw new RuleProblem(`${part}: expected ${weekdayNames.join(', ')}`)
  return weekday
}

function untilOf(value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const [, year, month, day, time] = /^(\d{4})(\d{2})(\d{2})(T(?:[01]\d|2[0-3])(?:[0-5]\d){2}Z)?$/.exec(value) ?? []
  const date = `${year}-${month}-${day}`
  const parsed = Date.parse(`${date}T00:00Z`)
  const isReal = !Number.isNaN(parsed) && new Date(parsed).toISOString().startsWith(date)
  if (!isReal || (value.length > 8 && time === undefined))
    throw new RuleProblem('UNTIL: expected a day or an instant in UTC, such as 20261231 or 20261231T160000Z')
  return value
}

function checkCombinations({ frequency, months, monthDays, weekdays, positions, count, until }: RecurrenceRule): void {
  if (count !== undefined && until !== undefined) throw new RuleProblem('COUNT cannot be combined with UNTIL')
  if (frequency === 'WEEKLY' && monthDays.length > 0)
    throw new RuleProblem('BYMONTHDAY cannot be combined with FREQ=WEEKLY')
  const isInYear = frequency === 'YEARLY' && months.length === 0
  const hasOrdinal = weekdays.some(({ ordinal }) => ordinal !== 0)
  if (hasOrdinal && frequency !== 'MONTHLY' && frequency !== 'YEARLY')
    throw new RuleProblem('BYDAY: only months and years have a first or last weekday')
  if (!isInYear && weekdays.some(({ ordinal }) => Math.abs(ordinal) > 5))
    throw new RuleProblem('BYDAY: a month has at most five of each weekday')
  if (positions.length > 0 && months.length + monthDays.length + weekdays.length === 0)
    throw new RuleProblem('BYSETPOS: expected BYDAY, BYMONTHDAY or BYMONTH, too')
}

/** The same rule, written in one way. */
export function formatRule(rule: RecurrenceRule): string {
  const { frequency, interval, months, monthDays, weekdays, positions, count, until, weekStart } = rule
  const names = weekdays.map(({ weekday, ordinal }) => `${ordinal === 0 ? '' : ordinal}${weekdayNames[weekday]}`)
  const values: Record<PartName, string> = {
    FREQ: frequency,
    INTERVAL: interval === 1 ? '' : String(interval),
    BYMONTH: months.join(','),
    BYMONTHDAY: monthDays.join(','),
    BYDAY: names.join(','),
    BYSETPOS: positions.join(','),
    COUNT: String(count ?? ''),
    UNTIL: until ?? '',
    WKST: weekStart === 0 ? '' : (weekdayNames[weekStart] ?? ''),
  }
  return partNames.flatMap((name) => (values[name] === '' ? [] : [`${name}=${values[name]}`])).join(';')
}
