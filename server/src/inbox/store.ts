import {
  anyOrganization,
  type Connection,
  type CrossTenantConnection,
  type Transaction,
} from '../platform/database/database.ts'
import { identifier, sql } from '../platform/model/sql.ts'
import { notFound } from '../platform/records/page/read.ts'
import { standardStore } from '../platform/records/write/store.ts'
import type { RetentionPolicy } from '../platform/operations/maintenance/retention-store.ts'
import { countChange } from './entries-store.ts'
import { removeEntriesOf } from './groups-store.ts'
import { inboxEntries } from './resource.ts'

/** Entries, as their person changes them. */
export const entryStore = standardStore(inboxEntries, {
  afterWrite: (transaction) => countChange(transaction, [transaction.actor.userId ?? '']),
})

/** A person counts no further than this. */
export const maxCounted = 100

/** The number of unread entries of the person (uuid). */
export async function countUnread({ organization, query }: Connection, userId: string): Promise<number> {
  const [row] = await query<{ count: number }>(sql`
    select count(*)::integer as count from (
      select from inbox_entries
      where organization_id = ${organization} and user_id = ${userId}::uuid and not read and is_listed
      limit ${maxCounted}) unread`)
  return row?.count ?? 0
}

/** Marks the entry (uuid) and all older ones of the person (uuid) as read. Error: 404. */
export async function readUntil(db: Transaction, userId: string, id: string): Promise<void> {
  const { organization } = db
  const [entry] = await db.query<{ createdAt: string }>(sql`
    select created_at::text as "createdAt" from inbox_entries
    where organization_id = ${organization} and user_id = ${userId}::uuid and id = ${id}::uuid and is_listed`)
  if (!entry) throw notFound(inboxEntries)
  const changed = await db.query(sql`
    update inbox_entries set read = true, revision = revision + 1, updated_at = now()
    where organization_id = ${organization} and user_id = ${userId}::uuid and not read and is_listed
      and (created_at, id) <= (${entry.createdAt}::timestamptz, ${id}::uuid) returning id`)
  if (changed.length > 0) await countChange(db, [userId])
}

/** A person (uuid) in an organization (uuid). */
interface Member {
  organizationId: string
  userId: string
}

/** Deletes what a person has in the inbox of an organization that they leave. */
export async function removeInbox(
  db: CrossTenantConnection | Transaction,
  { organizationId, userId }: Member,
): Promise<void> {
  for (const table of ['inbox_entries', 'inbox_settings', 'inbox_changes', 'inbox_digests'])
    await db.query(sql`
      delete from ${identifier(table)}
      where organization_id = ${organizationId}::uuid and user_id = ${userId}::uuid and ${anyOrganization(db)}`)
}

/** Deletes the entries about these records (uuids). */
export async function deleteEntriesAbout(transaction: Transaction, recordIds: readonly string[]): Promise<void> {
  await countChange(transaction, await removeEntriesOf(transaction, recordIds))
}

const days = 180

/** Entries that were added this many days ago. */
export const expiredEntries: RetentionPolicy = {
  name: 'inbox_entries',
  table: 'inbox_entries',
  key: { id: 'uuid' },
  since: 'created_at',
  ttlSeconds: days * 24 * 60 * 60,
}
