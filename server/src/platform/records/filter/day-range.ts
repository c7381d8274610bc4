import { type FieldError, invalidParameters } from '../../model/errors.ts'
import { type Sql, sql } from '../../model/sql.ts'
import { timeZoneName } from '../../model/time-zone.ts'
import type { QueryParameter } from '../request/query-string.ts'

/** The days of a statistic; without them, the last ones in the time zone. Without a zone, that of the organization. */
export interface DayRange {
  days: { from: string; to: string } | undefined
  timeZone: string | undefined
}

export interface ZonedDayRange extends DayRange {
  timeZone: string
}

const defaultDays = 30
const maxDays = 366
const millisecondsPerDay = 86_400_000

/** The query of a route that counts by day. */
export const dayRangeQuery = {
  kind: 'parameters',
  parameters: {
    from: `First day. Default: ${defaultDays} days that end with \`to\`.`,
    to: `Last day. At most ${maxDays} days. Default: ${defaultDays} days that begin with \`from\`; without either, today.`,
    timeZone: 'IANA time zone of the days. Default: the time zone of the organization.',
  },
  examples: { from: '2026-10-25', to: '2026-11-23', timeZone: 'Europe/Berlin' },
  allowsOthers: false,
} as const

/** Reads the parameters of `dayRangeQuery`. Throws 400 `invalid_parameters` with every error. */
export function parseDayRange(query: readonly QueryParameter[]): DayRange {
  const values = new Map(query.map(({ name, value }) => [name, value]))
  const errors: FieldError[] = []
  const timeZone = parseTimeZone(values.get('timeZone'), errors)
  const [from, to] = [parseDay('from', values.get('from'), errors), parseDay('to', values.get('to'), errors)]
  if (from !== undefined && to !== undefined) {
    const count = (to - from) / millisecondsPerDay + 1
    if (count < 1) errors.push({ field: 'to', message: 'expected the same day as from, or a later one' })
    if (count > maxDays) errors.push({ field: 'to', message: `expected at most ${maxDays} days, found ${count}` })
  }
  if (errors.length > 0) throw invalidParameters(errors)
  const others = (defaultDays - 1) * millisecondsPerDay
  const [first, last] = [
    from ?? (to === undefined ? undefined : to - others),
    to ?? (from === undefined ? undefined : from + others),
  ]
  const days = first === undefined || last === undefined ? undefined : { from: formatDay(first), to: formatDay(last) }
  return { days, timeZone }
}

function parseTimeZone(text: string | undefined, errors: FieldError[]): string | undefined {
  if (text === undefined) return undefined
  const name = timeZoneName(text)
  if (name === undefined)
    errors.push({ field: 'timeZone', message: 'expected an IANA time zone, such as "Europe/Berlin"' })
  return name
}

/** Milliseconds. */
function parseDay(field: string, text: string | undefined, errors: FieldError[]): number | undefined {
  if (text === undefined) return undefined
  const time = /^(19[7-9]|2\d\d)\d-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(time) && formatDay(time) === text) return time
  errors.push({ field, message: 'expected a day from 1970 to 2999, such as 2026-11-21' })
  return undefined
}

const formatDay = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** Minutes before a local midnight, as PostgreSQL finds it, at which the day may have begun: clocks move in quarters. */
const minutesBefore = sql`generate_series(0, 180, 15) minutes`

/**
 * The instant at which a date begins in a time zone, which is the first one of that date: where clocks change at
 * midnight, 00:00 occurs twice or never.
 */
export const beginningSql = (day: Sql, zone: Sql): Sql => sql`(
  select min(instant) from (
    select ${day}::timestamp at time zone ${zone} - make_interval(mins => minutes) as instant
    from ${minutesBefore}) candidate
  where (instant at time zone ${zone})::date >= ${day})`

/**
 * Common table expressions: `span` with the time zone and the first and last day, and `days` with each day and the
 * instants at which it begins and ends. A date that a time zone has skipped ends where it begins.
 */
export const daySpanSql = ({ days, timeZone }: ZonedDayRange): Sql => sql`
  span as materialized (
    select zone, coalesce(${days?.from ?? null}::date, today - ${defaultDays - 1}::integer) as first,
      coalesce(${days?.to ?? null}::date, today) as last
    from (select zone, (now() at time zone zone)::date as today from (select ${timeZone}::text as zone) chosen) local),
  beginnings as (
    select first + number as day, ${beginningSql(sql`(first + number)`, sql`zone`)} as begins
    from span, generate_series(0, last - first + 1) number),
  days as materialized (
    select * from (select day, begins, lead(begins) over (order by day) as ends from beginnings) whole
    where ends is not null)`

/** What all statistics by day return of their range. */
export const spanColumns = sql`(select to_char(first, 'YYYY-MM-DD') from span) as "from",
  (select to_char(last, 'YYYY-MM-DD') from span) as "to", (select zone from span) as "timeZone"`
