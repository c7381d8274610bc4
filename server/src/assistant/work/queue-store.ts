import type { Database } from '../../platform/database/database.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import { raw, type Sql, sql } from '../../platform/model/sql.ts'
import type { Queue } from '../../platform/queue/queue.ts'

export const isWaiting = raw('note.reasoning_queued_at is not null and note.deleted_at is null')

export const isFree = (organization: Sql): Sql => sql`not exists (select from note_leases lease
  where lease.organization_id = ${organization} and lease.note_id = note.id and lease.expires_at > now())`

/** Notes that wait for their analysis. A sweep also finds those that are leased. */
export const noteQueue: Queue = {
  kind: 'notes',
  hasWork: (organization) =>
    sql`exists (select from notes note where note.organization_id = ${organization} and ${isWaiting})`,
  findOrganization,
  secondsUntilDue,
}

async function findOrganization(database: Database, after: string): Promise<string | undefined> {
  const [found] = await database.crossTenantQuery<{ organizationId: string }>(
    'choose whose notes to analyse',
    sql`select note.organization_id as "organizationId" from notes note
      where ${isWaiting} and note.organization_id > ${after}::uuid and ${isFree(sql`note.organization_id`)}
      order by note.organization_id, note.reasoning_queued_at, note.id limit 1`,
  )
  return found?.organizationId
}

async function secondsUntilDue(database: Database, organizationId: string): Promise<number | undefined> {
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
