import { type MemberReader, readMembers } from '../identity/access/readers-store.ts'
import { queueMail } from '../identity/mails/store.ts'
import type { Transaction } from '../platform/database/database.ts'
import { encodeId, newId } from '../platform/model/ids.ts'
import { sql } from '../platform/model/sql.ts'
import { announceAgain, countGroups, type Groupable, type Grouped, joinGroups } from './groups-store.ts'
import { type EntryKind, isUrgent } from './kinds.ts'
import { entryRecords, type EntryResource } from './records.ts'
import { readWays } from './settings-store.ts'
import { readTitles } from './titles-store.ts'

/** Notifications of what happens to a person at once, such as of a thousand records that somebody assigns to them. */
const maxPushed = 5

/** Something that concerns a person; ids are uuids. */
export interface NewEntry {
  userId: string
  kind: EntryKind
  resource: EntryResource
  recordId: string
  /** Who has done it, who gets no entry themselves. */
  authorId: string | null
  /** What it reports, unique for a person: adding the same twice adds it once. */
  key: string
  /** When it happened, if it becomes one entry with what the same author does at about the same time. */
  at?: Date
}

interface Addition extends Omit<NewEntry, 'at'>, Groupable {
  mail: { email: string; title: string } | undefined
}

/**
 * Adds entries for members who see the record, in the ways that they have chosen, and queues the mails among those. Resolves
 * to how many were new. Mails are sent sooner if `services.mail.wake()` is called after the commit.
 */
export async function addEntries(transaction: Transaction, entries: readonly NewEntry[]): Promise<number> {
  const byOthers = entries.filter(({ userId, authorId }) => userId !== authorId)
  if (byOthers.length === 0) return 0
  const additions = limitPushes(await joinGroups(transaction, await prepare(transaction, byOthers)))
  const ids = new Set(await insert(transaction, additions))
  const added = additions.filter(({ id }) => ids.has(id))
  const joined = added.filter(isJoined)
  const groupsOf = (entries: typeof joined) => [...new Set(entries.flatMap(({ groupId }) => groupId ?? []))]
  await countGroups(transaction, groupsOf(joined))
  await announceAgain(transaction, groupsOf(joined.filter(({ isAnnouncedAgain }) => isAnnouncedAgain)))
  await countChange(
    transaction,
    [...added.filter(({ isListed }) => isListed), ...joined].map(({ userId }) => userId),
  )
  for (const addition of added) await queueMailOf(transaction, addition)
  return added.length
}

/** Whether another entry stands for it. */
const isJoined = ({ id, groupId }: Addition & Grouped): boolean => groupId !== null && groupId !== id

/** What is urgent is always pushed. */
function limitPushes<Entry extends Addition>(additions: readonly Entry[]): Entry[] {
  const pushed = new Map<string, number>()
  return additions.map((addition) => {
    const { userId, kind, isPushed } = addition
    if (!isPushed || isUrgent(kind)) return addition
    const count = (pushed.get(userId) ?? 0) + 1
    pushed.set(userId, count)
    return { ...addition, isPushed: count <= maxPushed }
  })
}

/** What is added for those who see the record and want to hear of it. */
async function prepare(transaction: Transaction, entries: readonly NewEntry[]): Promise<Addition[]> {
  const userIds = [...new Set(entries.map(({ userId }) => userId))]
  const members = await readMembers(transaction, userIds)
  const ways = await readWays(transaction, userIds)
  const additions: Addition[] = []
  for (const member of members) {
    const own = entries.filter(({ userId }) => userId === member.userId)
    const titles = await titlesFor(transaction, member, own)
    for (const entry of own) {
      const title = titles.get(entry.recordId)
      const chosen = ways(member.userId)[entry.kind]
      if (title === undefined || chosen.length === 0) continue
      additions.push({
        ...entry,
        id: newId(),
        at: entry.at ?? null,
        isListed: chosen.includes('inbox'),
        isPushed: chosen.includes('push'),
        isDigested: chosen.includes('digest'),
        mail: chosen.includes('mail') ? { email: member.email, title } : undefined,
      })
    }
  }
  return additions
}

const titlesFor = (transaction: Transaction, { reader, sees }: MemberReader, entries: readonly NewEntry[]) =>
  readTitles(transaction, { reader, sees: (resource) => sees(entryRecords[resource]) }, entries)

/** Resolves to the ids of the new ones. In the order of their keys, so that two transactions cannot wait for each other. */
async function insert(
  { organization, query }: Transaction,
  additions: readonly (Addition & Grouped)[],
): Promise<string[]> {
  if (additions.length === 0) return []
  const added = await query<{ id: string }>(sql`
    insert into inbox_entries (organization_id, id, user_id, kind, resource, record_id, author_id, key, is_listed,
      push_pending, digest_pending, group_id, grouped_at)
    select ${organization}, id, "userId", kind, resource, "recordId", "authorId", key, "isListed", "isPushed", "isDigested",
      "groupId", at
    from jsonb_to_recordset(${JSON.stringify(additions)}::jsonb) as given(
      id uuid, "userId" uuid, kind text, resource text, "recordId" uuid, "authorId" uuid, key text, "isListed" boolean,
      "isPushed" boolean, "isDigested" boolean, "groupId" uuid, at timestamptz)
    order by "userId", key
    on conflict (organization_id, user_id, key) do nothing returning id`)
  return added.map(({ id }) => id)
}

/** Lets the streams of these people (uuids) know that their entries have changed. */
export async function countChange({ organization, query }: Transaction, userIds: readonly string[]): Promise<void> {
  const changed = [...new Set(userIds)].sort()
  if (changed.length === 0) return
  await query(sql`
    insert into inbox_changes as change (organization_id, user_id)
    select ${organization}, user_id from unnest(${changed}::uuid[]) with ordinality as given (user_id, place) order by place
    on conflict (organization_id, user_id) do update set number = change.number + 1`)
}

async function queueMailOf(transaction: Transaction, { mail, userId, kind, resource, recordId }: Addition) {
  if (!mail) return
  const facts = {
    what: kind === 'taskDue' ? kind : 'reminder',
    title: mail.title,
    path: `/${resource}/${encodeId(entryRecords[resource].idPrefix, recordId)}`,
  } as const
  const { organizationId } = transaction
  await queueMail(transaction, { kind: 'reminder', organizationId, recipient: mail.email, userId, facts })
}
