import { serviceActor } from '../../platform/model/caller.ts'
import type { Database } from '../../platform/database/database.ts'
import { join, raw, type Sql, sql } from '../../platform/model/sql.ts'

/** Relations with the `import_id` and `status` of changed rows, before and after the change. */
interface ChangedRows {
  before?: Sql
  after?: Sql
}

/** Appends the counts of changed rows. Part of the statement or the transaction that changes them. */
export function countSql(organization: Sql, { before, after }: ChangedRows): Sql {
  const sides = [
    ...(before ? [sql`select import_id, status, -1 as change from ${before} before`] : []),
    ...(after ? [sql`select import_id, status, 1 as change from ${after} after`] : []),
  ]
  return sql`insert into import_row_counts (organization_id, import_id, status, change)
    select ${organization}, import_id, status, sum(change) from (${join(sides, ' union all ')}) changes
    group by import_id, status having sum(change) <> 0`
}

/** Rows that `changed` returns and that were being processed before. */
export const countProcessed = (organization: Sql, changed: Sql): Sql => sql`
  with changed as (${changed})
  ${countSql(organization, { before: sql`(select import_id, 'PROCESSING' as status from changed)`, after: raw('changed') })}`

/** Compacts count entries of imports that are older than two minutes, so that reading them stays cheap. */
export async function sumCounts(database: Database): Promise<void> {
  const grown = await database.crossTenantQuery<{ organization_id: string; import_id: string }>(
    'sum up the counts of imports',
    sql`select organization_id, import_id from import_row_counts where counted_at < now() - interval '2 minutes'
      group by 1, 2 having count(*) > count(distinct status) order by count(*) desc limit 200`,
  )
  for (const { organization_id: organizationId, import_id: importId } of grown) {
    await database.transaction(serviceActor('work', organizationId), (transaction) =>
      transaction.query(sql`
        with old as (
          delete from import_row_counts where organization_id = ${transaction.organization}
            and import_id = ${importId}::uuid and counted_at < now() - interval '2 minutes' returning status, change)
        insert into import_row_counts (organization_id, import_id, status, change, counted_at)
        select ${transaction.organization}, ${importId}::uuid, status, sum(change), now() - interval '2 minutes'
        from old group by status having sum(change) <> 0`),
    )
  }
}
