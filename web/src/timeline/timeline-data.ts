import { infiniteQueryOptions, keepPreviousData, queryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { type Answer, readIfChanged, send } from '../api/client.ts'
import { readNames } from '../api/names.ts'
import { queryClient } from '../api/query-client.ts'
import {
  type Entry,
  type EntryKind,
  type Owner,
  readTimelinesAgain,
  timelineChanges,
  timelineKey,
  type TimelinePage,
} from '../api/timeline.ts'
import { ofResources } from '../live/refetch.ts'
import { loadNoteSuggestions, type TimedNote } from '../suggestions/suggestion-data.ts'
import { onRecordChanged } from '../views/changes.ts'

/** The kinds of entries by which a timeline can be filtered. Contacts have no stages. */
export const kindsOf = ({ resource }: Pick<Owner, 'resource'>): readonly EntryKind[] =>
  resource === 'contacts' ? ['note', 'task', 'change', 'import'] : ['note', 'task', 'change', 'stage_move', 'import']

/** The kinds in the URL; empty for all. */
export const kindsIn = (parameter: unknown, owner: Pick<Owner, 'resource'>): readonly EntryKind[] => {
  const named = typeof parameter === 'string' ? parameter.split(',') : []
  return kindsOf(owner).filter((kind) => named.includes(kind))
}

const pageSize = 25

/** Milliseconds until the newest entries are read again if it is unknown whether they are newer than those shown. */
const checkAfter = 1000

const pathOf = ({ resource, id }: Owner): string => `/v5/${resource}/${id}/timeline`

const queryFor = (kinds: readonly EntryKind[]): URLSearchParams =>
  new URLSearchParams({ limit: String(pageSize), ...(kinds.length > 0 && { 'filter.kind.in': kinds.join(',') }) })

/** The notes among some entries. */
export const notesOf = (entries: readonly Entry[]): TimedNote[] =>
  entries.flatMap(({ note, createdAt }) => (note ? [{ id: note.id, createdAt }] : []))

/** The entries of these kinds, newest first, with the names in them. */
const timelineQuery = (owner: Owner, kinds: readonly EntryKind[]) =>
  infiniteQueryOptions({
    queryKey: [...timelineKey, owner, kinds.join()],
    initialPageParam: '',
    queryFn: async ({ pageParam, signal }): Promise<TimelinePage> => {
      const query = queryFor(kinds)
      if (pageParam !== '') query.set('startingAfter', pageParam)
      return timelineChanges.during(async () => {
        const { body, etag } = await send<Entry[]>('GET', pathOf(owner), { query, signal })
        const [names] = await Promise.all([readNames(body), loadNoteSuggestions(notesOf(body).map(({ id }) => id))])
        return { entries: body, names, etag }
      })
    },
    getNextPageParam: ({ entries }) => (entries.length < pageSize ? undefined : entries.at(-1)?.id),
  })

/** Changes of these resources have entries in a timeline. */
const isEntry = ofResources('contact', 'company', 'deal', 'note', 'task', 'deal-contact', 'employment')

/** The newest entries after a change that may concern them; only their entity tag is compared. */
const newestQuery = (owner: Owner, kinds: readonly EntryKind[]) => {
  const queryKey = ['newest entries', owner, kinds.join()]
  return queryOptions({
    queryKey,
    queryFn: ({ signal }) =>
      readIfChanged<Entry[]>(
        pathOf(owner),
        queryFor(kinds),
        queryClient.getQueryData<Answer<Entry[]>>(queryKey),
        signal,
      ),
    meta: {
      // The timeline of a company has what happened with its contacts and deals, whose events do not name it.
      follows: (event, mentions) =>
        isEntry(event, mentions) &&
        (owner.resource === 'companies' || event.ids.includes(owner.id) || mentions(event.recordId)),
    },
  })
}

export const loadTimeline = (owner: Owner, kinds: unknown): Promise<void> =>
  queryClient.prefetchInfiniteQuery(timelineQuery(owner, kindsIn(kinds, owner)))

/** The loaded entries. New ones appear automatically; while others load, the previous ones stay. */
export function useTimeline(owner: Owner, kinds: readonly EntryKind[]) {
  const timeline = useInfiniteQuery({ ...timelineQuery(owner, kinds), placeholderData: keepPreviousData })
  const { data, dataUpdatedAt, refetch, isPlaceholderData, isFetching, fetchNextPage } = timeline
  const { data: newest, dataUpdatedAt: newestAt, refetch: checkAgain } = useQuery(newestQuery(owner, kinds))
  const shown = isPlaceholderData ? undefined : data?.pages[0]?.etag
  const isOutdated = shown !== undefined && newest?.etag !== undefined && newest.etag !== shown
  // Of two responses that differ, the later one may have been requested first: then it is unknown which one is newer.
  const requestedAt = useRef(0)
  useEffect(() => {
    if (isFetching || !isOutdated || newestAt === requestedAt.current) return undefined
    if (newestAt > dataUpdatedAt) {
      requestedAt.current = newestAt
      void refetch()
      return undefined
    }
    const timer = setTimeout(() => void checkAgain(), checkAfter)
    return () => clearTimeout(timer)
  }, [isOutdated, newestAt, dataUpdatedAt, isFetching, refetch, checkAgain])
  /** The entry that is the cursor of the next page may have been deleted; then everything is refetched. */
  const loadOlder = async () => {
    const { isFetchNextPageError } = await fetchNextPage({ cancelRefetch: false })
    if (isFetchNextPageError) await refetch()
  }
  return { ...timeline, loadOlder }
}

onRecordChanged(({ name }) => {
  if (name === 'notes' || name === 'tasks') void readTimelinesAgain()
})
