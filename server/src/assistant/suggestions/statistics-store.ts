import type { Connection } from '../../platform/database/database.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import { type DayRange, daySpanSql, spanColumns } from '../../platform/records/filter/day-range.ts'
import { withinScope } from '../../platform/records/page/page.ts'
import { scopeOf } from '../../platform/records/page/read.ts'
import { readTimeZone } from '../../identity/organizations/store.ts'
import type { ActionType } from '../analysis/analysis.ts'
import { type engines, suggestions } from './resource.ts'

export interface SuggestionCounts {
  type: ActionType
  engine: (typeof engines)[number]
  pending: number
  accepted: number
  edited: number
  rejected: number
  expired: number
  superseded: number
  autoApplied: number
  precision: number | null
}

export interface SuggestionStatistics {
  from: string
  to: string
  timeZone: string
  weeks: { week: string; counts: SuggestionCounts[] }[]
  totals: SuggestionCounts[]
}

/** Decisions on the suggestions that the caller sees, by the week of the suggestion, which begins on a Monday. */
export async function readSuggestionStatistics(db: Connection, range: DayRange): Promise<SuggestionStatistics> {
  const zone = range.timeZone ?? (await readTimeZone(db))
  const [row] = await db.query<SuggestionStatistics>(sql`
    with ${daySpanSql({ days: range.days, timeZone: zone })},
    counted as (
      select week, type, engine, ${countsSql} as counts
      from (
        select date_trunc('week', record.created_at at time zone (select zone from span))::date as week,
          record.type, record.engine, record.status, record.edits
        from suggestions record
        where ${withinScope(suggestions, scopeOf(db, undefined), { isListed: true, ofMany: true })}
          and record.created_at >= (select min(begins) from days)
          and record.created_at < (select max(ends) from days)) found
      group by grouping sets ((week, type, engine), (type, engine)))
    select ${spanColumns},
      (select coalesce(json_agg(json_build_object('week', to_char(week, 'YYYY-MM-DD'), 'counts', counts) order by week), '[]')
        from (select week, json_agg(counts order by type, engine) as counts from counted
          where week is not null group by week) weekly) as weeks,
      (select coalesce(json_agg(counts order by type, engine), '[]') from counted where week is null) as totals`)
  if (!row) throw new Error('the statistics returned no row')
  const { from, to, timeZone, weeks, totals } = row
  return { from, to, timeZone, weeks, totals }
}

/** Accepted ones include edited ones. The precision is the share of accepted ones among those that people decided. */
const countsSql = raw(`json_build_object('type', type, 'engine', engine,
  'pending', count(*) filter (where status = 'pending'),
  'accepted', count(*) filter (where status = 'accepted'),
  'edited', count(*) filter (where status = 'accepted' and edits is not null),
  'rejected', count(*) filter (where status = 'rejected'),
  'expired', count(*) filter (where status = 'expired'),
  'superseded', count(*) filter (where status = 'superseded'),
  'autoApplied', count(*) filter (where status = 'auto_applied'),
  'precision', (count(*) filter (where status = 'accepted'))::float8
    / nullif(count(*) filter (where status in ('accepted', 'rejected')), 0))`)
