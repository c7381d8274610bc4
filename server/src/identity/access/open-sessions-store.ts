import type { Database } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'

/** By session (uuid), the organizations (uuids) to which its person belongs; none for a session that has ended. */
export async function findOpenSessions(
  database: Database,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const rows = await database.crossTenantQuery<{ id: string; organizationIds: string[] }>(
    'show who is present',
    sql`select session.id, array_agg(member.organization_id) as "organizationIds"
      from sessions session join members member on member.user_id = session.user_id
      where session.id = any(${sessionIds}::uuid[]) and session.ended_at is null and session.expires_at > now()
      group by session.id`,
    'find open sessions',
  )
  return new Map(rows.map(({ id, organizationIds }) => [id, new Set(organizationIds)]))
}
