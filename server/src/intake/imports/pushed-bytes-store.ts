import type { Database } from '../../platform/database/database.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import { seesAll } from './stats-store.ts'
import type { Computation } from '../../platform/records/declare/field.ts'

const today = raw(`date_trunc('day', now(), 'UTC')`)

/** The bytes that the import `record` has received today (UTC), and how many it may receive. */
export const importPushedBytes =
  (alarmingShare: number): Computation =>
  (record, organization, reader) => {
    const ofImport = sql`organization_id = ${organization} and import_id = ${record}.id and ${seesAll(reader)}`
    return sql`(
    select json_build_object('bytes', bytes, 'maxBytes', max_bytes,
      'isNearLimit', coalesce(bytes >= ${raw(String(alarmingShare))} * max_bytes, false))
    from (select
      coalesce((select sum(bytes) from import_pushed_bytes where ${ofImport} and counted_on = ${today}), 0) as bytes,
      (select max_bytes from import_pushed_bytes where ${ofImport} order by counted_on desc, changed_at desc limit 1)) pushed)`
  }

/** Number of imports that have received most of the bytes of today. */
export async function countImportsNearLimit(database: Database, alarmingShare: number): Promise<number> {
  const [row] = await database.crossTenantQuery<{ count: number }>(
    'count imports near their limit',
    sql`select count(*)::int as count from (
      select from import_pushed_bytes where counted_on = ${today} group by organization_id, import_id
      having sum(bytes) >= ${raw(String(alarmingShare))} * max(max_bytes)) near`,
  )
  return row?.count ?? 0
}
