import type { Connection } from '../../platform/database/database.ts'
import { plannerVisible, raw, sql } from '../../platform/model/sql.ts'
import { readTimeZone } from '../../identity/organizations/store.ts'
import { type DayRange, daySpanSql, spanColumns } from '../../platform/records/filter/day-range.ts'
import { andWithinReach } from '../../platform/records/filter/scope.ts'
import { scopeOf } from '../../platform/records/page/read.ts'
import { contacts, type ContactSource } from './resource.ts'

export interface ContactStatistics {
  from: string
  to: string
  timeZone: string
  days: { date: string; counts: { source: ContactSource | null; importId: string | null; count: number }[] }[]
  countries: { countryCode: string | null; count: number }[]
}

/** New contacts by day and source, and the countries of all contacts. The index of the default order has all of it. */
export async function readContactStatistics(db: Connection, range: DayRange): Promise<ContactStatistics> {
  const reached = andWithinReach(contacts, scopeOf(db, undefined), raw('contacts'))
  const reachedContacts = sql`contacts
    where organization_id = ${plannerVisible(db.organization)} and deleted_at is null${reached}`
  const zone = range.timeZone ?? (await readTimeZone(db))
  const [row] = await db.query<ContactStatistics>(sql`
    with ${daySpanSql({ days: range.days, timeZone: zone })},
    by_day as (
      select day, json_agg(json_build_object('source', source,
        'importId', 'imp_' || replace(import_id::text, '-', ''), 'count', count)
        order by count desc, source, import_id) as counts
      from days, lateral (
        select source, import_id, count(*)::integer as count
        from ${reachedContacts} and created_at >= begins and created_at < ends
        group by 1, 2) created
      group by day),
    by_country as (select country_code, count(*)::integer as count from ${reachedContacts} group by 1)
    select ${spanColumns},
      (select json_agg(json_build_object('date', to_char(day, 'YYYY-MM-DD'), 'counts', coalesce(counts, '[]')) order by day)
        from days left join by_day using (day)) as days,
      (select coalesce(json_agg(json_build_object('countryCode', country_code, 'count', count)
        order by count desc, country_code), '[]') from by_country) as countries`)
  if (!row) throw new Error('the statistics returned no row')
  const { from, to, timeZone, days, countries } = row
  return { from, to, timeZone, days, countries }
}
