import type { Database, Transaction } from '../platform/database/database.ts'
import { serviceActor } from '../platform/model/caller.ts'
import { decodeId } from '../platform/model/ids.ts'
import { type Sql, sql } from '../platform/model/sql.ts'
import type { EventKind } from '../platform/records/declare/event-kinds.ts'
import type { Queue } from '../platform/queue/queue.ts'
import { placeEvents } from '../feed/positions-store.ts'
import { addEntries, countChange, type NewEntry } from './entries-store.ts'
import { removeEntriesOf } from './groups-store.ts'
import { mentionsIn } from './mentions.ts'
import type { EntryResource } from './records.ts'

/** Positions of the feed that one transaction looks at. */
const window = 2000

/** Adds entries for what happened next in the organization (uuid). Resolves to false if there was nothing to read. */
export async function notify(database: Database, organizationId: string): Promise<boolean> {
  await placeEvents(database, organizationId)
  return database.transaction(serviceActor('maintenance', organizationId), async (transaction) => {
    const range = await lockRange(transaction)
    if (!range) return false
    const events = await readEvents(transaction, range)
    const [owners, creators] = [await readOwners(transaction, events), await readCreators(transaction, events)]
    await addEntries(
      transaction,
      events.flatMap((event) => entriesOf(event, owners, creators)),
    )
    await removePurged(transaction, range)
    await transaction.query(sql`
      update inbox_positions set "position" = ${range.until}::bigint where organization_id = ${transaction.organization}`)
    return true
  })
}

/** Positions after the first number, up to the second one. */
interface Range {
  after: number
  until: number
}

/** Locks the position; undefined if another process has it, or if nothing has happened since. */
async function lockRange({ organization, query }: Transaction): Promise<Range | undefined> {
  const lock = () =>
    query<{ position: string }>(sql`
      select "position" from inbox_positions where organization_id = ${organization} for no key update skip locked`)
  let [found] = await lock()
  if (!found) {
    await query(sql`insert into inbox_positions (organization_id) values (${organization}) on conflict do nothing`)
    ;[found] = await lock()
  }
  // After the lock, so that it is not behind what the last process has read.
  const [feed] = await query<{ last: string }>(
    sql`select last_position as last from event_feeds where organization_id = ${organization}`,
  )
  if (!found || !feed) return undefined
  const [after, last] = [Number(found.position), Number(feed.last)]
  return after < last ? { after, until: Math.min(last, after + window) } : undefined
}

/** An event that may concern somebody; ids with a prefix are as callers see them. */
interface ConcerningEvent {
  id: string
  resource: 'task' | 'contact' | 'company' | 'deal' | 'note' | 'suggestion' | 'webhook'
  kind: EventKind
  recordId: string
  authorId: string | null
  at: Date
  /** The new owner or assignee (`usr_…`). */
  ownerId: string | null
  /** The text of a note, and the one before the change. */
  body: string | null
  bodyBefore: string | null
  /** The note and the record of a suggestion. */
  noteId: string | null
  parentId: string | null
}

const isIn = ({ after, until }: Range): Sql =>
  sql`event."position" > 0 and event."position" > ${after}::bigint and event."position" <= ${until}::bigint`

/** Those of the range that may concern somebody: the others are not worth the way. */
const readEvents = ({ organization, query }: Transaction, range: Range): Promise<ConcerningEvent[]> =>
  query<ConcerningEvent>(sql`
    select event.id, event.resource, event.kind, event.record_id as "recordId", event.author_id as "authorId",
      event.created_at as at,
      coalesce(event."values" ->> 'assigneeId', event."values" ->> 'ownerId') as "ownerId",
      event."values" ->> 'body' as body, (
        select change.value ->> 'before' from jsonb_array_elements(event.changes) change
        where change.value ->> 'field' = 'body') as "bodyBefore",
      event."values" ->> 'noteId' as "noteId",
      coalesce(event."values" ->> 'contactId', event."values" ->> 'companyId', event."values" ->> 'dealId') as "parentId"
    from events event
    where event.organization_id = ${organization} and ${isIn(range)}
      and event.kind in ('created', 'updated', 'moved') and case event.resource
        when 'task' then event."values" ->> 'assigneeId' is not null
        when 'contact' then event."values" ->> 'ownerId' is not null
        when 'company' then event."values" ->> 'ownerId' is not null
        when 'deal' then event."values" ->> 'ownerId' is not null
        -- Pushed notes are from anybody.
        when 'note' then event.source <> 'import' and strpos(event."values" ->> 'body', '](usr_') > 0
        when 'suggestion' then event.kind = 'created' and event."values" ->> 'status' = 'pending'
        when 'webhook' then event.kind = 'updated' and event."values" ->> 'status' = 'disabled'
        else false end
    order by event."position"`)

type Owners = ReadonlyMap<string, string>

/** By id (uuid): the owners of the records of suggestions, and the authors of their notes. */
async function readOwners({ organization, query }: Transaction, events: readonly ConcerningEvent[]): Promise<Owners> {
  const shown = events.flatMap(({ resource, noteId, parentId }) =>
    resource === 'suggestion' ? [noteId, parentId].filter((id) => id !== null) : [],
  )
  if (shown.length === 0) return new Map()
  const idsOf = (prefix: string) => shown.flatMap((id) => decodeId(prefix, id) ?? [])
  const rows = await query<{ id: string; userId: string }>(sql`
    select id, owner_id as "userId" from contacts
    where organization_id = ${organization} and id = any(${idsOf('con')}::uuid[]) and owner_id is not null
    union all
    select id, owner_id from companies
    where organization_id = ${organization} and id = any(${idsOf('com')}::uuid[]) and owner_id is not null
    union all
    select id, owner_id from deals
    where organization_id = ${organization} and id = any(${idsOf('del')}::uuid[]) and owner_id is not null
    union all
    select id, author_id from notes
    where organization_id = ${organization} and id = any(${idsOf('not')}::uuid[]) and author_id is not null`)
  return new Map(rows.map(({ id, userId }) => [id, userId]))
}

/** Who created the webhooks that were disabled. */
async function readCreators({ organization, query }: Transaction, events: readonly ConcerningEvent[]): Promise<Owners> {
  const ids = events.flatMap(({ resource, recordId }) => (resource === 'webhook' ? [recordId] : []))
  if (ids.length === 0) return new Map()
  const rows = await query<{ id: string; userId: string }>(sql`
    select id, created_by as "userId" from webhooks
    where organization_id = ${organization} and id = any(${ids}::uuid[])`)
  return new Map(rows.map(({ id, userId }) => [id, userId]))
}

const owned: Readonly<Record<string, EntryResource>> = {
  task: 'tasks',
  contact: 'contacts',
  company: 'companies',
  deal: 'deals',
}

function entriesOf(event: ConcerningEvent, owners: Owners, creators: Owners): NewEntry[] {
  const { recordId, authorId, resource } = event
  const key = `event ${event.id}`
  const base = { recordId, authorId, key }
  if (resource === 'webhook') {
    const userId = creators.get(recordId)
    return userId === undefined ? [] : [{ ...base, kind: 'webhookDisabled', resource: 'webhooks', userId }]
  }
  if (resource === 'suggestion') {
    const ids = [event.noteId, event.parentId].flatMap((id) => (id === null ? [] : (uuidOf(id) ?? [])))
    const people = new Set(ids.flatMap((id) => owners.get(id) ?? []))
    return [...people].map((userId) => ({ ...base, kind: 'suggestion', resource: 'suggestions', userId }))
  }
  if (resource === 'note') {
    const before = new Set(mentionsIn(event.bodyBefore ?? ''))
    const mentioned = mentionsIn(event.body ?? '').filter((id) => !before.has(id))
    return mentioned.map((userId) => ({ ...base, kind: 'mentioned', resource: 'notes', userId }))
  }
  const [userId, ownResource] = [decodeId('usr', event.ownerId ?? ''), owned[resource]]
  if (userId === undefined || !ownResource) return []
  return [{ ...base, kind: 'assigned', resource: ownResource, userId, at: event.at }]
}

const uuidOf = (shown: string): string | undefined => decodeId(shown.slice(0, shown.indexOf('_')), shown)

/** Entries are purged with their records. */
async function removePurged(transaction: Transaction, range: Range): Promise<void> {
  const { organization, query } = transaction
  const purged = await query<{ id: string }>(sql`
    select event.record_id as id from events event
    where event.organization_id = ${organization} and ${isIn(range)} and event.kind in ('purged', 'erased')`)
  const ids = purged.map(({ id }) => id)
  await countChange(transaction, await removeEntriesOf(transaction, ids))
}

const isBehind = (organization: Sql): Sql => sql`(
  exists (select from events where events.organization_id = ${organization} and events."position" is null)
  or exists (select from event_feeds feed
    left join inbox_positions reached on reached.organization_id = feed.organization_id
    where feed.organization_id = ${organization} and feed.last_position > coalesce(reached."position", 0)))`

/** Feeds with events that the notifier has not read. */
export const inboxQueue: Queue = {
  kind: 'inbox',
  hasWork: isBehind,
  findOrganization: async (database, after) => {
    const [found] = await database.crossTenantQuery<{ organizationId: string | null }>(
      'follow the feed',
      sql`select least(
          (select organization_id from events
            where organization_id > ${after}::uuid and "position" is null order by organization_id limit 1),
          (select feed.organization_id from event_feeds feed
            left join inbox_positions reached on reached.organization_id = feed.organization_id
            where feed.organization_id > ${after}::uuid and feed.last_position > coalesce(reached."position", 0)
            order by feed.organization_id limit 1)) as "organizationId"`,
      'find feeds that the inbox is behind',
    )
    return found?.organizationId ?? undefined
  },
  secondsUntilDue: async (database, organizationId) => {
    const [found] = await database.crossTenantQuery<{ isBehind: boolean }>(
      'follow the feed',
      sql`select ${isBehind(sql`${organizationId}::uuid`)} as "isBehind"`,
      'ask for a feed that the inbox is behind',
    )
    return found?.isBehind ? 0 : undefined
  },
}
