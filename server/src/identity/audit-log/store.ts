import { eventColumns, eventValues, type PersonEvent } from '../../platform/audit/store.ts'
import type { CrossTenantConnection, Database } from '../../platform/database/database.ts'
import { newId } from '../../platform/model/ids.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'

/** Read by the trigger that protects the audit log from everything else; it ends with the transaction. */
export const deletesAuditEventsSql = sql`set_config('rapport.deletes_audit_events', 'on', true)`

/**
 * Records an event about a person (a login, a factor) in the log of each of their organizations. It is stored with the
 * person first, so that a login changes no organization's tables; `storePendingEvents` moves it to the logs.
 */
export async function recordPersonEvent(db: CrossTenantConnection, userId: string, event: PersonEvent): Promise<void> {
  const memberships = await db.query<{ id: string }>(
    sql`select organization_id as id from members where user_id = ${userId}::uuid order by 1`,
  )
  if (memberships.length === 0) return
  await db.query(
    insertPendingEvents(
      memberships.map(({ id }) => id),
      event,
    ),
  )
}

/** Inserts the event for the logs of these organizations (uuids). */
export const insertPendingEvents = (organizations: readonly string[], event: PersonEvent): Sql => sql`
  insert into pending_events (organization_id, id, ${eventColumns})
  select own.organization_id, own.id, ${eventValues(event)}
  from unnest(${organizations}::uuid[], ${organizations.map(newId)}::uuid[]) own (organization_id, id)`

/** Events that are moved at once. */
const batchSize = 500

/** Moves the pending events of these organizations (uuids), by default of all that have any, to their logs. */
export async function storePendingEvents(
  database: Database,
  organizationIds?: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  for (const organizationId of organizationIds ?? (await findWithPendingEvents(database))) {
    while (!signal?.aborted && (await moveEvents(database, organizationId)) === batchSize);
  }
}

async function findWithPendingEvents(database: Database): Promise<string[]> {
  const rows = await database.crossTenantQuery<{ id: string }>(
    'write the audit log',
    sql`select distinct organization_id as id from pending_events`,
  )
  return rows.map(({ id }) => id)
}

/** Stored first and deleted afterwards: if this is interrupted, the next one stores the same events, which are there. */
async function moveEvents(database: Database, organizationId: string): Promise<number> {
  const organization = sql`${organizationId}::uuid`
  const events = await database.crossTenantQuery<{ id: string }>(
    'write the audit log',
    sql`select id, ${eventColumns}, created_at from pending_events where organization_id = ${organization}
      order by id limit ${batchSize}`,
  )
  if (events.length === 0) return 0
  await database.crossTenantQuery(
    'write the audit log',
    sql`insert into audit_events (organization_id, id, ${eventColumns}, created_at)
      select ${organization}, id, ${eventColumns}, created_at
      from jsonb_to_recordset(${JSON.stringify(events)}::jsonb) as pending (id uuid, action text, actor_kind text,
        actor_id text, record_type text, record_id text, address text, request_id text, details jsonb,
        created_at timestamptz)
      on conflict (organization_id, id) do nothing`,
  )
  await database.crossTenantQuery(
    'write the audit log',
    sql`delete from pending_events where organization_id = ${organization}
      and id = any(${events.map(({ id }) => id)}::uuid[])`,
  )
  return events.length
}
