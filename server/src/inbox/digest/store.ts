import type { Database, Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import type { EntryKind } from '../kinds.ts'
import type { EntryResource } from '../records.ts'
import { recordsOf } from '../groups-store.ts'
import type { Slot } from './slot.ts'

/** Organizations (uuids) with entries that wait for a digest. */
export async function findWaiting(database: Database): Promise<string[]> {
  const rows = await database.crossTenantQuery<{ organizationId: string }>(
    'send notifications',
    sql`select distinct organization_id as "organizationId" from inbox_entries where digest_pending`,
  )
  return rows.map(({ organizationId }) => organizationId)
}

/** A person (uuid) with waiting entries, and the time of the oldest. */
export interface Waiting {
  userId: string
  oldestAt: Date
  /** The day of their last digest, `YYYY-MM-DD`. */
  lastDay: string | null
}

/** The people of the organization with unread entries for a digest. */
export const findPeople = ({ organization, query }: Transaction): Promise<Waiting[]> =>
  query<Waiting>(sql`
    select waiting.user_id as "userId", waiting.oldest_at as "oldestAt", last_day::text as "lastDay"
    from (
      select user_id, min(created_at) as oldest_at from inbox_entries
      where organization_id = ${organization} and digest_pending and not read group by user_id) waiting
    left join inbox_digests on inbox_digests.organization_id = ${organization}
      and inbox_digests.user_id = waiting.user_id
    order by waiting.user_id`)

/** Resolves to false if the person (uuid) has had the digest of this day: another process may send it now. */
export async function claimDay({ organization, query }: Transaction, userId: string, { day }: Slot): Promise<boolean> {
  const claimed = await query(sql`
    insert into inbox_digests as digest (organization_id, user_id, last_day)
    values (${organization}, ${userId}::uuid, ${day}::date)
    on conflict (organization_id, user_id) do update set last_day = excluded.last_day
      where digest.last_day < excluded.last_day
    returning user_id`)
  return claimed.length > 0
}

export interface DigestEntry {
  kind: EntryKind
  resource: EntryResource
  recordId: string
  recordCount: number
  /** The first records of a group. */
  recordIds: string[]
}

/** Takes what waits for the digest of this slot; resolves to the unread ones, the newest first. */
export async function takeEntries(
  { organization, query }: Transaction,
  userId: string,
  { at }: Slot,
): Promise<DigestEntry[]> {
  return query<DigestEntry>(sql`
    with taken as (
      update inbox_entries set digest_pending = false
      where organization_id = ${organization} and user_id = ${userId}::uuid and digest_pending and created_at <= ${at}
      returning id, kind, resource, record_id, record_count, read)
    select kind, resource, record_id as "recordId", record_count as "recordCount", ${recordsOf(organization, sql`taken`)} as "recordIds"
    from taken where not read order by id desc`)
}
