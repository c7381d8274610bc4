import { raw, type Sql, sql } from '../../platform/model/sql.ts'

/** Statuses of rows that a worker has finished. */
const finished = ['PROCESSED', 'PARTIAL', 'DUPLICATE', 'INVALID', 'CONFLICT', 'DEAD']
const waiting = ['PENDING', 'RETRYING', 'PROCESSING']

const textArray = (values: readonly string[]): Sql => raw(`array['${values.join(`','`)}']`)

/** The stats of the import `record`: rows by status, finished rows per second and the oldest waiting row. */
export const importStats =
  (statuses: readonly string[]) =>
  (record: Sql, organization: Sql): Sql =>
    sql`(
    select json_build_object(
      'counts', json_object_agg(known.status, coalesce(changes.total, 0) order by known.place),
      'rowsPerSecond', round(
        coalesce(sum(changes.recent) filter (where known.status = any(${textArray(finished)})), 0) / 60.0, 2),
      'oldestPendingAt', (
        select to_char(min(oldest), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') from unnest(${textArray(waiting)}) waiting (status)
        cross join lateral (
          select created_at as oldest from import_rows
          where organization_id = ${organization} and import_id = ${record}.id and import_rows.status = waiting.status
          order by created_at, id limit 1) first))
    from unnest(${textArray(statuses)}) with ordinality known (status, place)
    left join (
      select status, sum(change) as total,
        sum(change) filter (where change > 0 and counted_at > now() - interval '1 minute') as recent
      from import_row_counts where organization_id = ${organization} and import_id = ${record}.id
      group by status) changes on changes.status = known.status)`

const timeText = (value: Sql): Sql => sql`to_char(${value}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** Senders that are shown. */
const maxSenders = raw('20')

/** The refused pushes to the import `record`, and the senders with at least this many in a row. */
export const importRefusals =
  (alarming: number) =>
  (record: Sql, organization: Sql): Sql => {
    const ofImport = sql`organization_id = ${organization} and import_id = ${record}.id`
    return sql`(
    select json_build_object(
      'count', coalesce((
        select sum(count) from refused_push_counts where ${ofImport} and counted_at > now() - interval '30 days'), 0),
      'lastAt', (select ${timeText(raw('max(created_at)'))} from refused_pushes where ${ofImport}),
      'senders', coalesce((
        select json_agg(json_build_object('sender', nullif(sender, ''), 'count', refused, 'since', ${timeText(raw('since'))},
          'lastAt', ${timeText(raw('last_at'))}, 'code', code, 'message', message) order by last_at desc, sender)
        from (
          select * from refused_senders where ${ofImport} and refused >= ${raw(String(alarming))}
          order by last_at desc, sender limit ${maxSenders}) alarming), '[]')))`
  }
