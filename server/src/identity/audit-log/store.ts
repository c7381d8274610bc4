import { eventColumns, eventValues, type PersonEvent } from '../../platform/audit/store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { newId } from '../../platform/model/ids.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'

/** Records an event about a person (a login, a factor) in the log of each of their organizations. */
export async function recordPersonEvent(db: CrossTenantConnection, userId: string, event: PersonEvent): Promise<void> {
  const memberships = await db.query<{ id: string }>(
    sql`select organization_id as id from members where user_id = ${userId}::uuid order by 1`,
  )
  if (memberships.length === 0) return
  await db.query(
    insertEvents(
      memberships.map(({ id }) => id),
      event,
    ),
  )
}

/** Inserts the event into the logs of these organizations (uuids). */
export const insertEvents = (organizations: readonly string[], event: PersonEvent): Sql => sql`
  insert into audit_events (organization_id, id, ${eventColumns})
  select own.organization_id, own.id, ${eventValues(event)}
  from unnest(${organizations}::uuid[], ${organizations.map(newId)}::uuid[]) own (organization_id, id)`
