import { join, raw, type Sql, sql } from '../../platform/model/sql.ts'
import { rowBounds, seesEveryPush } from '../row-reach/store.ts'
import type { Reader } from '../../platform/model/caller.ts'
import type { Computation } from '../../platform/records/declare/field.ts'

/** Statuses of rows that a worker has finished. */
const finished = ['PROCESSED', 'PARTIAL', 'DUPLICATE', 'INVALID', 'CONFLICT', 'DEAD']
const waiting = ['PENDING', 'RETRYING', 'PROCESSING']

/** What belongs to no contact yet is only for those who see every push. */
export const seesAll = (reader: Reader | undefined): Sql => raw(String(reader === undefined || seesEveryPush(reader)))

const textArray = (values: readonly string[]): Sql => raw(`array['${values.join(`','`)}']`)

/** The stats of the import `record`: rows by status, finished rows per second and the oldest waiting row. */
export const importStats =
  (statuses: readonly string[]): Computation =>
  (record, organization, reader) => {
    const bounds = rowBounds(organization, reader)
    return bounds.length === 0
      ? statsOfAll(statuses, record, organization)
      : statsWithin(statuses, record, sql`organization_id = ${organization} and ${join(bounds, ' and ')}`)
  }

const statsOfAll = (statuses: readonly string[], record: Sql, organization: Sql): Sql =>
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

/** The same, counted among the rows that a person sees: a waiting row has no contact yet, so none of them waits. */
const statsWithin = (statuses: readonly string[], record: Sql, bounds: Sql): Sql =>
  sql`(
    select json_build_object(
      'counts', json_object_agg(known.status, coalesce(seen.total, 0) order by known.place),
      'rowsPerSecond', round(coalesce(sum(seen.recent), 0) / 60.0, 2),
      'oldestPendingAt', null)
    from unnest(${textArray(statuses)}) with ordinality known (status, place)
    left join (
      select status, count(*) as total, count(*) filter (where finished_at > now() - interval '1 minute') as recent
      from import_rows where ${bounds} and import_id = ${record}.id
      group by status) seen on seen.status = known.status)`

const timeText = (value: Sql): Sql => sql`to_char(${value}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/**
 * The opt-outs of the import `record` that wait because there were many, counted up to a maximum: not those of deleted
 * contacts and notes, which nobody can decide.
 */
export const importOptOuts =
  (max: number): Computation =>
  (record, organization, reader) =>
    sql`(
    select json_build_object('waiting', count(*), 'since', ${timeText(raw('min(created_at)'))})
    from (
      select created_at from suggestions
      where organization_id = ${organization} and import_id = ${record}.id and waiting_reason = 'many_opt_outs'
        and status = 'pending' and ${seesAll(reader)}
        and exists (select from contacts contact where contact.organization_id = suggestions.organization_id
          and contact.id = suggestions.contact_id and contact.deleted_at is null)
        and exists (select from notes note where note.organization_id = suggestions.organization_id
          and note.id = suggestions.note_id and note.deleted_at is null)
      order by created_at limit ${raw(String(max))}) waiting)`

/** Senders that are shown. */
const maxSenders = raw('20')

/** The refused pushes to the import `record`, and the senders with at least this many in a row. */
export const importRefusals =
  (alarming: number): Computation =>
  (record, organization, reader) => {
    const ofImport = sql`organization_id = ${organization} and import_id = ${record}.id and ${seesAll(reader)}`
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
