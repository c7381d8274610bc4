import type { Connection } from '../../platform/database/database.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'
import { matchingRecords } from '../../platform/records/page/page.ts'
import type { Filters } from '../../platform/records/page/parse.ts'
import { scopeOf } from '../../platform/records/page/read.ts'
import { readTimeZone } from '../../identity/organizations/store.ts'
import { deals } from './resource.ts'

/** Sums are decimals in strings, like amounts; a deal without an amount counts as zero. */
const sumSql = (which: Sql): Sql => sql`coalesce(sum(record.amount) filter (where ${which}), 0)::text`

/** The share of each amount that its stage's probability makes likely; exact, without trailing zeros. */
const weightedSql = (which: Sql): Sql =>
  sql`trim_scale(coalesce(sum(record.amount * weight.probability) filter (where ${which}), 0) * 0.01)::text`

const weights = (db: Connection): Sql => sql`
  join stages weight on weight.organization_id = ${db.organization} and weight.id = record.stage_id`

/** The deals that match the filters, by stage and currency, in the order of pipelines and stages. */
export function readSummary(db: Connection, filters: Filters): Promise<string> {
  const all = sql`true`
  return readJson(
    db,
    sql`
    select 'stg_' || replace(weight.id::text, '-', '') || '-' || record.currency as id, 'pip_' || replace(weight.pipeline_id::text, '-', '') as "pipelineId",
      'stg_' || replace(weight.id::text, '-', '') as "stageId", record.currency,
      count(*)::integer as count, ${sumSql(all)} as sum, ${weightedSql(all)} as "weightedSum"
    from ${matchingRecords(deals, filters, scopeOf(db, undefined), weights(db))}
    group by weight.pipeline_id, weight.position, weight.id, record.currency
    order by weight.pipeline_id, weight.position, record.currency`,
  )
}

/**
 * The deals that match the filters, by month and currency: open ones in the month in which they are expected to close,
 * won ones in the month in which they were won, in the time zone of the organization. Lost ones are left out.
 */
export async function readForecast(db: Connection, filters: Filters): Promise<string> {
  const zone = await readTimeZone(db)
  const isOpen = sql`record.status = 'open'`
  const isWon = sql`record.status = 'won'`
  const month = sql`case when ${isWon} then to_char(record.closed_at at time zone ${zone}, 'YYYY-MM')
    else to_char(record.expected_close_date, 'YYYY-MM') end`
  return readJson(
    db,
    sql`
    select coalesce(month, 'none') || '-' || currency as id, months.* from (select ${month} as month, record.currency,
      json_build_object('count', (count(*) filter (where ${isOpen}))::integer,
        'sum', ${sumSql(isOpen)}, 'weightedSum', ${weightedSql(isOpen)}) as open,
      json_build_object('count', (count(*) filter (where ${isWon}))::integer, 'sum', ${sumSql(isWon)}) as won
    from ${matchingRecords(deals, filters, scopeOf(db, undefined), weights(db))} and record.status <> 'lost'
    group by 1, 2) months order by month nulls last, currency`,
  )
}

async function readJson(db: Connection, rows: Sql): Promise<string> {
  const [result] = await db.query<{ text: string }>(
    sql`select coalesce(json_agg(sums), '[]')::text as text from (${rows}) sums`,
  )
  return result?.text ?? '[]'
}
