import type { Transaction } from '../platform/database/database.ts'
import { raw, type Sql, sql } from '../platform/model/sql.ts'
import type { EntryKind } from './kinds.ts'
import type { EntryResource } from './records.ts'

/** Milliseconds between two events that belong together: many records are assigned with a request for each. */
const maxGap = 10_000

/** What can be part of a group. */
export interface Groupable {
  /** A uuid, like the other ids. */
  id: string
  userId: string
  kind: EntryKind
  resource: EntryResource
  authorId: string | null
  /** When it happened, if it can be part of a group. */
  at: Date | null
  isListed: boolean
  isPushed: boolean
  isDigested: boolean
}

export interface Grouped {
  /** The entry that stands for the group; its own id for the first one, null without a group. */
  groupId: string | null
  /** Whether the notification of the group is shown again, with the new number of records. */
  isAnnouncedAgain: boolean
}

/** The first entry of a group, which others can join. */
interface OpenGroup extends Pick<Groupable, 'userId' | 'kind' | 'resource' | 'authorId' | 'isListed' | 'isDigested'> {
  id: string
  lastAt: Date
}

const keyOf = ({ userId, kind, resource, authorId }: Omit<OpenGroup, 'id' | 'lastAt' | 'isListed' | 'isDigested'>) =>
  [userId, kind, resource, authorId].join(' ')

/**
 * What the same author does at about the same time is one entry: the first one is listed, pushed and digested, and stands
 * for the others, which are stored for their keys. It must be unread, and must not be in a digest already. Only the
 * notifier adds such entries, for an organization in one transaction after the other.
 */
export async function joinGroups<Entry extends Groupable>(
  transaction: Transaction,
  entries: readonly Entry[],
): Promise<(Entry & Grouped)[]> {
  const times = entries.flatMap(({ at }) => at ?? []).map(Number)
  const open = new Map<string, OpenGroup>()
  if (times.length > 0) {
    const userIds = [...new Set(entries.map(({ userId }) => userId))]
    const since = new Date(Math.min(...times) - maxGap)
    for (const group of await findOpenGroups(transaction, userIds, since)) open.set(keyOf(group), group)
  }
  return entries.map((entry) => {
    const { id, at, isListed, isDigested } = entry
    if (at === null) return { ...entry, groupId: null, isAnnouncedAgain: false }
    const group = open.get(keyOf(entry))
    const isOpen =
      group !== undefined &&
      Number(at) - Number(group.lastAt) <= maxGap &&
      (group.isListed || !isListed) &&
      (group.isDigested || !isDigested)
    if (!isOpen) {
      open.set(keyOf(entry), { ...entry, lastAt: at })
      return { ...entry, groupId: id, isAnnouncedAgain: false }
    }
    group.lastAt = new Date(Math.max(Number(at), Number(group.lastAt)))
    const isAnnouncedAgain = entry.isPushed
    return { ...entry, groupId: group.id, isAnnouncedAgain, isListed: false, isPushed: false, isDigested: false }
  })
}

/** The groups of these people (uuids) that others can join, the oldest first. */
const findOpenGroups = (
  { organization, query }: Transaction,
  userIds: readonly string[],
  since: Date,
): Promise<OpenGroup[]> =>
  query<OpenGroup>(sql`
    select id, user_id as "userId", kind, resource, author_id as "authorId", is_listed as "isListed",
      digest_pending as "isDigested", grouped_at as "lastAt"
    from inbox_entries
    where organization_id = ${organization} and user_id = any(${userIds}::uuid[])
      and created_at > now() - interval '1 minute' and group_id = id and not read and grouped_at >= ${since}
    -- Read or mailed meanwhile, it would hide what joins it.
    order by grouped_at, id for no key update`)

/** Enough to find one that the person still sees. */
const maxNamed = 100

/** The first records (uuids) that the entry of this alias stands for. */
export const recordsOf = (organization: Sql, entry: Sql): Sql => sql`
  case when ${entry}.record_count = 1 then array[${entry}.record_id] else array(
    select member.record_id from inbox_entries member
    where member.organization_id = ${organization} and member.group_id = ${entry}.id
    order by member.id limit ${raw(String(maxNamed))}) end`

/** Counts the records of these groups (uuids) again. */
export async function countGroups({ organization, query }: Transaction, groupIds: readonly string[]): Promise<void> {
  if (groupIds.length === 0) return
  await query(sql`
    update inbox_entries entry set record_count = members.count, grouped_at = members.last_at, updated_at = now(),
      revision = entry.revision + 1
    from (
      select group_id, count(distinct record_id)::integer as count, max(grouped_at) as last_at from inbox_entries
      where organization_id = ${organization} and group_id = any(${groupIds}::uuid[]) group by group_id) members
    where entry.organization_id = ${organization} and entry.id = members.group_id`)
}

/** Sends the notifications of these groups (uuids) once more; browsers replace the earlier ones. */
export async function announceAgain({ organization, query }: Transaction, groupIds: readonly string[]): Promise<void> {
  if (groupIds.length === 0) return
  await query(sql`
    update inbox_entries set push_pending = true
    where organization_id = ${organization} and id = any(${groupIds}::uuid[]) and not push_pending`)
}

/**
 * Deletes entries of these records (uuids), and returns their people (uuids). An entry that stands for others continues
 * with one of them.
 */
export async function removeEntriesOf(transaction: Transaction, recordIds: readonly string[]): Promise<string[]> {
  const { organization, query } = transaction
  if (recordIds.length === 0) return []
  const moved = await query<{ groupId: string }>(sql`
    update inbox_entries entry set record_id = others.record_id
    from (
      select group_id, (array_agg(record_id order by id))[1] as record_id from inbox_entries
      where organization_id = ${organization} and not record_id = any(${recordIds}::uuid[]) and group_id = any(array(
        select id from inbox_entries
        where organization_id = ${organization} and record_id = any(${recordIds}::uuid[]) and group_id = id))
      group by group_id) others
    where entry.organization_id = ${organization} and entry.id = others.group_id returning entry.id as "groupId"`)
  const removed = await query<{ groupId: string | null; userId: string }>(sql`
    delete from inbox_entries where organization_id = ${organization} and record_id = any(${recordIds}::uuid[])
    returning group_id as "groupId", user_id as "userId"`)
  await countGroups(transaction, [...new Set([...moved, ...removed].flatMap(({ groupId }) => groupId ?? []))])
  return removed.map(({ userId }) => userId)
}
