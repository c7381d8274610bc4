import { join, Parameter, raw, type Sql, sql } from '../../model/sql.ts'
import { beginningSql } from './day-range.ts'
import type { JsonObject, JsonValue } from '../../model/json.ts'

const units = ['day', 'week', 'month', 'quarter', 'year'] as const
type Unit = (typeof units)[number]

/** A span of whole days, counted from today: so many units that end or begin with today, or a calendar period. */
export type RelativeDate =
  | { kind: 'last' | 'next'; count: number; unit: Unit }
  | { kind: 'period'; offset: number; unit: Unit }

/** The span in the organization's time zone: its instants, and its days for fields without a time. `end` is exclusive. */
export interface RelativeSpan {
  instants: { start: string; end: string }
  days: { start: string; end: string }
}

export const maxUnits = 1000

const daysByOffset = ['yesterday', 'today', 'tomorrow']
const periodNames = (unit: Unit): readonly string[] =>
  unit === 'day' ? daysByOffset : ['last', 'this', 'next'].map((word) => word + capitalized(unit))

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** The calendar periods by name: `yesterday`, `today`, `lastWeek`, `thisWeek`… Weeks begin on Monday (ISO 8601). */
export const periods: ReadonlyMap<string, RelativeDate> = new Map(
  units.flatMap((unit) =>
    periodNames(unit).map((name, index) => [name, { kind: 'period', offset: index - 1, unit }] as const),
  ),
)

export const countedUnits: readonly string[] = units.map((unit) => `${unit}s`)

const hint = 'such as {"last":{"days":30}}, {"next":{"weeks":2}} or {"period":"thisMonth"}'

/** Reads `{"last":{"days":30}}`, `{"next":{"weeks":2}}` or `{"period":"thisMonth"}`. */
export function parseRelativeDate(value: JsonObject): RelativeDate | { error: string } {
  const [[kind, given] = [], ...others] = Object.entries(value)
  if (kind === undefined || given === undefined || others.length > 0) return { error: `expected one property, ${hint}` }
  if (kind === 'period') {
    return periods.get(String(given)) ?? { error: `period: expected one of ${[...periods.keys()].join(', ')}` }
  }
  if (kind !== 'last' && kind !== 'next') return { error: `expected a date, a timestamp or a relative date, ${hint}` }
  return parseCount(kind, given)
}

function parseCount(kind: 'last' | 'next', given: JsonValue): RelativeDate | { error: string } {
  const entries = typeof given === 'object' && given !== null ? Object.entries(given) : []
  const [[name, count] = []] = entries
  const unit = units.find((one) => `${one}s` === name)
  if (unit === undefined || entries.length !== 1)
    return { error: `${kind}: expected one of ${countedUnits.join(', ')}` }
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1 || count > maxUnits)
    return { error: `${kind}.${name}: expected a whole number from 1 to ${maxUnits}` }
  return { kind, count, unit }
}

/** The spans of relative dates, one row for each, in their order. `now` is the current instant. */
export function relativeSpansSql(
  dates: readonly RelativeDate[],
  { zone, organization, now = raw('now()') }: { zone: string; organization: Sql; now?: Sql },
): Sql {
  const local = new Parameter(zone)
  const rows = dates.map((date, index) => {
    const [first, end] = daysOf(date)
    return sql`(${raw(String(index))}, (${first})::date, (${end})::date)`
  })
  const utc = (instant: Sql) => sql`to_char(${instant}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
  const midnight = (day: string) => utc(sql`${raw(day)}::timestamp`)
  const beginning = (day: string) => utc(sql`${beginningSql(raw(day), sql`${local}::text`)} at time zone 'UTC'`)
  const span = (start: Sql, end: Sql) => sql`json_build_object('start', ${start}, 'end', ${end})`
  return sql`
    select ${span(beginning('first'), beginning('until'))} as instants, ${span(midnight('first'), midnight('until'))} as days
    from (select (${now} at time zone ${local}::text)::date as today) local,
      lateral (values ${join(rows, ', ')}) spans (number, first, until)
    where ${organization} is not null
    order by number`
}

/** The first day and the day after the last one, as SQL over `today`. */
function daysOf(date: RelativeDate): [first: Sql, until: Sql] {
  const length = (count: number) =>
    raw(date.unit === 'quarter' ? `interval '${3 * count} months'` : `interval '${count} ${date.unit}s'`)
  if (date.kind === 'last') return [sql`today - ${length(date.count)} + interval '1 day'`, sql`today + 1`]
  if (date.kind !== 'period') return [sql`today`, sql`today + ${length(date.count)}`]
  const start = sql`date_trunc('${raw(date.unit)}', today::timestamp)`
  return [sql`${start} + ${length(date.offset)}`, sql`${start} + ${length(date.offset + 1)}`]
}
