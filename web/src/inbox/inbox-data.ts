import { type InfiniteData, infiniteQueryOptions } from '@tanstack/react-query'
import { nextCursor, type Schemas, send } from '../api/client.ts'
import { unlessTroubled } from '../api/connection.ts'
import { type Names, readNames } from '../api/names.ts'
import { queryClient } from '../api/query-client.ts'
import { schemaQuery } from '../api/schema.ts'
import type { Search } from '../api/search.ts'
import { recordOf, type Suggestion } from '../suggestions/suggestion-data.ts'
import { loadInboxMessages } from './load-messages.ts'
import { followsInbox, inboxKey, unreadCountQuery } from './unread-count.ts'

/** Something that concerns the person. */
export type InboxEntry = Schemas['InboxEntry']
export type EntryKind = InboxEntry['kind']

export const entryKinds = [
  'assigned',
  'mentioned',
  'suggestion',
  'importFailed',
  'webhookDisabled',
  'reminder',
  'taskDue',
] as const satisfies readonly EntryKind[]

/** The record whose page shows a note or a suggestion. */
interface Place {
  resource: string
  id: string
}

export interface InboxPage {
  entries: readonly InboxEntry[]
  names: Names
  /** By id of a note or a suggestion. */
  places: Readonly<Record<string, Place>>
  next: string | undefined
}

const entriesKey = [...inboxKey, 'entries'] as const
const pageSize = 25

export const isUnreadOnly = (search: Search): boolean => search.show === 'unread'

/** The entries, newest first. */
export const entriesQuery = (unreadOnly: boolean) =>
  infiniteQueryOptions({
    queryKey: [...entriesKey, unreadOnly],
    initialPageParam: '',
    queryFn: async ({ pageParam, signal }): Promise<InboxPage> => {
      const query = new URLSearchParams({ limit: String(pageSize), ...(unreadOnly && { read: 'false' }) })
      if (pageParam !== '') query.set('startingAfter', pageParam)
      const { body: entries, link } = await send<InboxEntry[]>('GET', '/v5/inbox', { query, signal })
      const [names, places] = await Promise.all([
        readNames(entries.map(({ authorId }) => authorId)),
        readPlaces(entries, signal),
      ])
      return { entries, names, places, next: nextCursor(link) }
    },
    getNextPageParam: ({ next }) => next,
    meta: followsInbox,
  })

export const loadInbox = (search: Search): Promise<unknown> =>
  Promise.all([
    loadInboxMessages(),
    unlessTroubled(queryClient.prefetchInfiniteQuery(entriesQuery(isUnreadOnly(search)))),
  ])

async function readPlaces(entries: readonly InboxEntry[], signal: AbortSignal): Promise<InboxPage['places']> {
  const schema = await queryClient.ensureQueryData(schemaQuery)
  const read = (['notes', 'suggestions'] as const).map(async (name) => {
    const shown = entries.filter(({ resource, title }) => resource === name && title !== null)
    const ids = [...new Set(shown.map(({ recordId }) => recordId))].toSorted()
    const mayList = schema.some((resource) => resource.name === name && resource.permissions.list)
    if (ids.length === 0 || !mayList) return []
    const query = new URLSearchParams({ 'filter.id.in': ids.join(','), limit: '100' })
    const { body } = await send<(Suggestion | Schemas['Note'])[]>('GET', `/v5/${name}`, { query, signal })
    return body.map((record) => [record.id, recordOf(record)] as const)
  })
  return Object.fromEntries((await Promise.all(read)).flat())
}

const changeEntries = (change: (entry: InboxEntry) => InboxEntry): void =>
  void queryClient.setQueriesData<InfiniteData<InboxPage, string>>(
    { queryKey: entriesKey },
    (data) => data && { ...data, pages: data.pages.map((page) => ({ ...page, entries: page.entries.map(change) })) },
  )

/** Shows an entry as read or unread at once, and stores it. Rejects after showing it as it was. */
export async function markEntry({ id, read: before }: InboxEntry, read: boolean): Promise<void> {
  if (before === read) return
  const mark = (value: boolean) => {
    changeEntries((entry) => (entry.id === id ? { ...entry, read: value } : entry))
    const step = value ? -1 : 1
    queryClient.setQueryData(unreadCountQuery.queryKey, (count = 0) => Math.max(count + step, 0))
  }
  // A response to an earlier request would revert it on the screen.
  await queryClient.cancelQueries({ queryKey: inboxKey })
  mark(read)
  try {
    await send('PATCH', `/v5/inbox/${id}`, { body: { read } })
  } catch (error) {
    mark(before)
    void queryClient.invalidateQueries({ queryKey: inboxKey })
    throw error
  }
}

/** Marks an entry and all older ones as read: those that arrive meanwhile stay unread. */
export async function markAllRead(newest: InboxEntry): Promise<void> {
  await send('POST', '/v5/inbox/read', { body: { until: newest.id } })
  await queryClient.invalidateQueries({ queryKey: inboxKey })
}
