import type { Database } from '../../platform/database/database.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import { sql } from '../../platform/model/sql.ts'
import type { SweptWork } from '../../platform/operations/wakeups/wakeups-store.ts'
import { isFree, isWaiting } from './claim-store.ts'

/** Notes that wait for their analysis, leased or not. */
export const analysisWork: SweptWork = {
  kind: 'notes',
  hasWork: (organization) =>
    sql`exists (select from notes note where note.organization_id = ${organization} and ${isWaiting})`,
}

/** Seconds until the next note of the organization is free: 0 if one is; undefined if none is waiting or leased. */
export async function secondsUntilFree(database: Database, organizationId: string): Promise<number | undefined> {
  const reader = database.reader(serviceActor('analysis', organizationId))
  const { organization } = reader
  const [next] = await reader.query<{ seconds: number | null }>(sql`
    select coalesce(
      (select 0::float8 from notes note
        where note.organization_id = ${organization} and ${isWaiting} and ${isFree(organization)} limit 1),
      (select extract(epoch from min(expires_at) - now())::float8 from note_leases
        where organization_id = ${organization} and expires_at > now())) as seconds`)
  return next?.seconds ?? undefined
}
