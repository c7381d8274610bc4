import type { Connection } from '../../platform/database/database.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import { readTimeZone } from '../../identity/organizations/store.ts'
import { type DayRange, daySpanSql, spanColumns } from '../../platform/records/filter/day-range.ts'
import { andWithinReach, isRestricted } from '../../platform/records/filter/scope.ts'
import { scopeOf } from '../../platform/records/page/read.ts'
import { rowDetails } from '../rows/resource.ts'
import { type RowStatus, rowStatuses } from './resource.ts'

/** The refused pushes of a day, next to its rows by state. */
export const refusedKey = 'REFUSED'

export interface ImportStatistics {
  from: string
  to: string
  timeZone: string
  days: { date: string; counts: Partial<Record<RowStatus | typeof refusedKey, number>> }[]
}

/**
 * The pushes to all imports by day and state. For each import and state, an index has the rows in order; they are
 * assigned to days by number, because looking up each day would take longer with many imports.
 */
export async function readImportStatistics(db: Connection, range: DayRange): Promise<ImportStatistics> {
  const reached = andWithinReach(rowDetails, scopeOf(db, undefined), raw('import_rows'))
  const zone = range.timeZone ?? (await readTimeZone(db))
  const [row] = await db.query<ImportStatistics>(sql`
    with ${daySpanSql({ days: range.days, timeZone: zone })},
    by_day as (
      select day, json_object_agg(status, count order by status) as counts from (
        select first + number - 1 as day, status, sum(count)::integer as count
        from span, imports import, unnest(${[...rowStatuses]}::text[]) status, lateral (
          select width_bucket(created_at, (select array_agg(begins order by day) from days)) as number, count(*) as count
          from import_rows
          where organization_id = ${db.organization} and import_id = import.id and import_rows.status = status.status
            ${reached}
            and created_at >= (select min(begins) from days) and created_at < (select max(ends) from days)
          group by 1) pushed
        where import.organization_id = ${db.organization} and import.deleted_at is null
        group by 1, 2
        union all
        ${refusedByDay(db)}) counted
      group by day)
    select ${spanColumns},
      (select json_agg(json_build_object('date', to_char(day, 'YYYY-MM-DD'), 'counts', coalesce(counts, '{}')) order by day)
        from days left join by_day using (day)) as days`)
  if (!row) throw new Error('the statistics returned no row')
  const { from, to, timeZone, days } = row
  return { from, to, timeZone, days }
}

/** Refused pushes belong to no person whose records a reader may see. */
const refusedByDay = (db: Connection) => {
  const sees = isRestricted(rowDetails, scopeOf(db, undefined)) ? raw('false') : raw('true')
  return sql`
    select first + width_bucket(counted_at, (select array_agg(begins order by day) from days)) - 1 as day,
      ${refusedKey}::text as status, sum(refused.count)::integer as count
    from span, refused_push_counts refused join imports on imports.organization_id = refused.organization_id
      and imports.id = refused.import_id and imports.deleted_at is null
    where refused.organization_id = ${db.organization} and ${sees}
      and counted_at >= (select min(begins) from days) and counted_at < (select max(ends) from days)
    group by 1`
}
