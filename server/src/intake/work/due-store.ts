import type { Database } from '../../platform/database/database.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import { sql } from '../../platform/model/sql.ts'
import type { SweptWork } from '../../platform/operations/wakeups/wakeups-store.ts'
import { waiting } from '../imports/store.ts'

/** Rows whose time has come. */
export const importWork: SweptWork = {
  kind: 'imports',
  hasWork: (organization) =>
    sql`exists (select from import_rows where import_rows.organization_id = ${organization} and ${waiting} and run_at <= now())`,
}

/** Seconds until the next row of the organization is due or its lease ends; undefined if no row is waiting. */
export async function secondsUntilDue(database: Database, organizationId: string): Promise<number | undefined> {
  const reader = database.reader(serviceActor('work', organizationId))
  const [next] = await reader.query<{ seconds: number }>(
    sql`select extract(epoch from run_at - now())::float8 as seconds from import_rows
      where organization_id = ${reader.organization} and ${waiting} order by run_at limit 1`,
  )
  return next?.seconds
}
