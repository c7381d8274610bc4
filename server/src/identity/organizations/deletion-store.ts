import { recordEvent, type PersonEvent } from '../../platform/audit/store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { encodeId } from '../../platform/model/ids.ts'

/** Days between the request and the deletion, during which it can be undone. */
export const graceDays = 30

/** When the organization (uuid) will be deleted; null if it will not, undefined if it does not exist or was deleted. */
export async function lockDeletion(
  db: CrossTenantConnection,
  organizationId: string,
): Promise<{ name: string; deletesAt: Date | null } | undefined> {
  const [row] = await db.query<{ name: string; deletesAt: Date | null }>(sql`
    select name, deletes_at as "deletesAt" from organizations
    where id = ${organizationId}::uuid and (deletes_at is null or deletes_at > now()) for no key update`)
  return row
}

/** Whether the organization (uuid) requires a second factor that this session (uuid) was not begun with. */
export async function lacksSecondFactor(
  db: CrossTenantConnection,
  { organizationId, sessionId }: { organizationId: string; sessionId: string },
): Promise<boolean> {
  const rows = await db.query(sql`
    select from organizations, sessions
    where organizations.id = ${organizationId}::uuid and requires_second_factor
      and sessions.id = ${sessionId}::uuid and second_factor_at is null`)
  return rows.length > 0
}

/**
 * Schedules the deletion of the locked organization, and ends all access to it immediately, in every process. Its
 * sessions stay: their people may be in other organizations.
 */
export async function scheduleDeletion(
  db: CrossTenantConnection,
  organizationId: string,
  by: Pick<PersonEvent, 'actorKind' | 'actorId' | 'address' | 'requestId'>,
): Promise<Date> {
  const [row] = await db.query<{ deletesAt: Date }>(sql`
    update organizations set deletes_at = now() + make_interval(days => ${graceDays}), updated_at = now()
    where id = ${organizationId}::uuid returning deletes_at as "deletesAt"`)
  if (!row) throw new Error('the organization is locked, so it exists')
  // Processes read its keys again, and then refuse them.
  await db.query(sql`
    update api_keys set version = version + 1
    where organization_id = ${organizationId}::uuid and revoked_at is null`)
  await suspendImports(db, organizationId, true)
  const details = { deletesAt: row.deletesAt.toISOString() }
  await recordEvent(db, { ...eventOf(organizationId), ...by, action: 'organization.deletion-scheduled', details })
  return row.deletesAt
}

/** Undoes the deletion of the locked organization. */
export async function cancelDeletion(
  db: CrossTenantConnection,
  organizationId: string,
  by: Pick<PersonEvent, 'actorKind' | 'actorId' | 'address' | 'requestId'>,
): Promise<void> {
  await db.query(sql`
    update organizations set deletes_at = null, updated_at = now() where id = ${organizationId}::uuid`)
  await suspendImports(db, organizationId, false)
  await recordEvent(db, { ...eventOf(organizationId), ...by, action: 'organization.deletion-cancelled' })
}

const eventOf = (organizationId: string) => ({
  organizationId,
  recordType: 'organization',
  recordId: encodeId('org', organizationId),
})

async function suspendImports(db: CrossTenantConnection, organizationId: string, isSuspended: boolean): Promise<void> {
  await db.query(sql`
    update imports set is_suspended = ${isSuspended}::boolean where organization_id = ${organizationId}::uuid`)
}
