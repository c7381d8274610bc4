import type { Database, Transaction } from '../../platform/database/database.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'
import type { Queue } from '../../platform/queue/queue.ts'
import type { EntryKind } from '../kinds.ts'
import type { EntryResource } from '../records.ts'
import { recordsOf } from '../groups-store.ts'
import { type Announced, queueMessages } from './messages-store.ts'

/** Entries that one transaction passes on. */
const batchSize = 200

/** A group is announced when it has not grown for a moment, so that the message has the final number. */
const isComplete = (entry: Sql): Sql =>
  sql`(${entry}.grouped_at is null or ${entry}.updated_at < now() - interval '2 seconds')`

/** Organizations with entries that are still to be announced. */
export const pushQueue: Queue = {
  kind: 'push',
  hasWork: (organization) => sql`exists (
    select from inbox_entries where inbox_entries.organization_id = ${organization} and inbox_entries.push_pending)`,
  findOrganization: async (database, after) => {
    const [found] = await database.crossTenantQuery<{ organizationId: string }>(
      'send notifications',
      sql`select organization_id as "organizationId" from inbox_entries
        where organization_id > ${after}::uuid and push_pending and ${isComplete(sql`inbox_entries`)}
        order by organization_id limit 1`,
      'find notifications',
    )
    return found?.organizationId
  },
  secondsUntilDue: async (database, organizationId) => {
    const [found] = await database.crossTenantQuery<{ seconds: number | null }>(
      'send notifications',
      sql`select min(case when ${isComplete(sql`inbox_entries`)} then 0 else 2 end)::integer as seconds
        from inbox_entries where organization_id = ${organizationId}::uuid and push_pending`,
      'ask for notifications',
    )
    return found?.seconds ?? undefined
  },
}

/**
 * Passes entries of the organization (uuid) on to the browsers of their people, in one transaction: each of them once.
 * Resolves to false if there was nothing to do.
 */
export const passOn = (database: Database, organizationId: string): Promise<boolean> =>
  database.transaction(serviceActor('maintenance', organizationId), async (transaction) => {
    const { organization, query } = transaction
    const announced = await query<Announced>(sql`
      with pending as (
        select id from inbox_entries
        where organization_id = ${organization} and push_pending and ${isComplete(sql`inbox_entries`)}
        order by id limit ${batchSize} for update skip locked)
      update inbox_entries entry set push_pending = false from pending
      where entry.organization_id = ${organization} and entry.id = pending.id
      returning entry.id as "entryId", entry.user_id as "userId"`)
    await queueMessages(transaction, announced)
    return announced.length > 0
  })

export interface PushedEntry {
  kind: EntryKind
  resource: EntryResource
  recordId: string
  recordCount: number
  /** The first records of a group. */
  recordIds: string[]
}

/** The entry (uuid) of the person (uuid), unless they have read it meanwhile. */
export async function findUnread(
  { organization, query }: Transaction,
  { entryId, userId }: Announced,
): Promise<PushedEntry | undefined> {
  const [entry] = await query<PushedEntry>(sql`
    select kind, resource, record_id as "recordId", record_count as "recordCount",
      ${recordsOf(organization, sql`entry`)} as "recordIds"
    from inbox_entries entry
    where organization_id = ${organization} and id = ${entryId}::uuid and user_id = ${userId}::uuid and not read`)
  return entry
}
