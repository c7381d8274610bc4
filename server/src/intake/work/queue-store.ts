import type { Database } from '../../platform/database/database.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import { sql } from '../../platform/model/sql.ts'
import type { Queue } from '../../platform/queue/queue.ts'
import { waiting } from '../imports/store.ts'

/** Rows that wait to be processed. */
export const importQueue: Queue = {
  kind: 'imports',
  hasWork: (organization) =>
    sql`exists (select from import_rows where import_rows.organization_id = ${organization} and ${waiting} and run_at <= now())`,
  findOrganization,
  secondsUntilDue,
}

/** Costs one index probe per organization that only has later rows. */
async function findOrganization(database: Database, after: string): Promise<string | undefined> {
  for (let last = after; ;) {
    const [next] = await database.crossTenantQuery<{ organizationId: string; isDue: boolean }>(
      'choose whose rows to work on',
      sql`select organization_id as "organizationId", run_at <= now() as "isDue" from import_rows
        where ${waiting} and organization_id > ${last}::uuid order by organization_id, run_at limit 1`,
    )
    if (!next || next.isDue) return next?.organizationId
    last = next.organizationId
  }
}

async function secondsUntilDue(database: Database, organizationId: string): Promise<number | undefined> {
  const reader = database.reader(serviceActor('work', organizationId))
  const [next] = await reader.query<{ seconds: number }>(
    sql`select extract(epoch from run_at - now())::float8 as seconds from import_rows
      where organization_id = ${reader.organization} and ${waiting} order by run_at limit 1`,
  )
  return next?.seconds
}
