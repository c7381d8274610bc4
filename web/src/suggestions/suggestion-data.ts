import { type InfiniteData, infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { type Answer, readIfChanged, type Schemas, send, type Whole } from '../api/client.ts'
import { ApiError } from '../api/error.ts'
import { queryClient } from '../api/query-client.ts'
import { schemaQuery } from '../api/schema.ts'
import { scopesQuery } from '../api/permissions.ts'
import { type Names, readNames } from '../api/names.ts'
import { onEvents } from '../live/events.ts'
import { byOthers } from '../live/refetch.ts'
import { followsSuggestions, pending, pendingCountQuery, suggestionsKey } from './pending-count.ts'

export type Suggestion = Schemas['Suggestion']
export type SuggestionType = Suggestion['type']
type Note = Schemas['Note']
type Analysis = Whole<Schemas['NoteAnalysisSelection']>

/** Can a person still decide on it? */
export const isOpen = ({ status }: Pick<Suggestion, 'status'>): boolean =>
  status === 'pending' || status === 'auto_applied'

/** The contact, company or deal that the note of a suggestion is on. */
export function recordOf({ contactId, companyId, dealId }: Pick<Suggestion, 'contactId' | 'companyId' | 'dealId'>): {
  resource: string
  id: string
} {
  if (contactId !== null) return { resource: 'contacts', id: contactId }
  if (dealId !== null) return { resource: 'deals', id: dealId }
  return { resource: 'companies', id: companyId ?? '' }
}

/** The query key of the inbox; suggestions that were decided stay until the page is left. */
const inboxKey = ['suggestion inbox'] as const

export interface SuggestionList {
  suggestions: readonly Suggestion[]
  /** Names of records, people, and of what decisions created. */
  names: Names
  answer: Answer<Suggestion[]>
}

/** Milliseconds between looks at the analysis of a new note, which has no events. */
const interval = 1200

/** Also loads the permissions that a suggestion's buttons need. */
const mayRead = async (): Promise<boolean> => {
  const [schema] = await Promise.all([
    queryClient.ensureQueryData(schemaQuery),
    queryClient.ensureQueryData(scopesQuery),
  ])
  return schema.some(({ name, permissions }) => name === 'suggestions' && permissions.list)
}

/** The suggestions for a page of notes, without obsolete ones. */
export const noteSuggestionsQuery = (noteIds: readonly string[]) => {
  const queryKey = [...suggestionsKey, 'of notes', noteIds]
  return queryOptions({
    queryKey,
    queryFn: async ({ signal }): Promise<SuggestionList> => {
      const query = new URLSearchParams({
        'filter.noteId.in': noteIds.join(','),
        'filter.status.in': 'pending,accepted,rejected,auto_applied',
        limit: '100',
      })
      const before = queryClient.getQueryData<SuggestionList>(queryKey)
      const answer = await readIfChanged('/v5/suggestions', query, before?.answer, signal)
      // Not `before`, because the person may have decided meanwhile.
      const shown = queryClient.getQueryData<SuggestionList>(queryKey)
      if (shown && answer === before?.answer) return shown
      if (before) void queryClient.invalidateQueries({ queryKey: pendingCountQuery.queryKey })
      const suggestions = answer.body.toSorted((one, other) => (one.id < other.id ? -1 : 1))
      return { answer, suggestions, names: await readNames(answer.body) }
    },
    enabled: noteIds.length > 0,
    meta: {
      follows: byOthers(
        ({ resource, ids, recordId }, mentions) =>
          resource === 'suggestion' && (ids.some((id) => noteIds.includes(id)) || mentions(recordId)),
      ),
    },
  })
}

/** Loads the suggestions before their notes appear, so that they push nothing down. */
export async function loadNoteSuggestions(noteIds: readonly string[]): Promise<void> {
  if (noteIds.length > 0 && (await mayRead())) await queryClient.prefetchQuery(noteSuggestionsQuery(noteIds))
}

export interface TimedNote {
  id: string
  createdAt: string
}

/** Milliseconds after creation during which a note is probably still being analysed. */
export const newFor = 60_000

/** The intents of new notes, by note; polled until each note is analysed or probably never will be. */
export const intentsQuery = (notes: readonly TimedNote[]) => {
  const ids = notes.map(({ id }) => id)
  return queryOptions({
    queryKey: [...suggestionsKey, 'intents', ids],
    queryFn: async ({ signal }): Promise<Readonly<Record<string, Suggestion['intent']>>> => {
      const query = new URLSearchParams({
        'filter.noteId.in': ids.join(','),
        orderBy: 'createdAt',
        sort: 'asc',
        limit: '100',
      })
      const { body } = await send<Analysis[]>('GET', '/v5/note-analyses', { query, signal })
      return Object.fromEntries(body.map(({ noteId, intent }) => [noteId, intent]))
    },
    refetchInterval: ({ state }) => {
      const isAwaited = ({ id, createdAt }: TimedNote) =>
        state.data?.[id] === undefined && Date.now() - Date.parse(createdAt) < newFor
      return notes.some(isAwaited) ? interval : false
    },
  })
}

/** A suggestion with the text of its note. */
export interface InboxItem {
  suggestion: Suggestion
  note: string
}

export interface InboxPage {
  items: readonly InboxItem[]
  names: Names
}

const pageSize = 25
const newestFirst = { ...pending, orderBy: 'createdAt', sort: 'desc' } as const

/** The pending suggestions, newest first. */
export const inboxQuery = infiniteQueryOptions({
  queryKey: inboxKey,
  initialPageParam: '',
  queryFn: async ({ pageParam, signal }): Promise<InboxPage> => {
    const query = new URLSearchParams({ ...newestFirst, limit: String(pageSize) })
    if (pageParam !== '') query.set('startingAfter', pageParam)
    const { body: suggestions } = await send<Suggestion[]>('GET', '/v5/suggestions', { query, signal })
    if (suggestions.length === 0) return { items: [], names: {} }
    const ids = [...new Set(suggestions.map(({ noteId }) => noteId))]
    const ofNotes = new URLSearchParams({ 'filter.id.in': ids.join(','), limit: '100' })
    const [names, { body: notes }] = await Promise.all([
      readNames(suggestions),
      send<Note[]>('GET', '/v5/notes', { query: ofNotes, signal }),
    ])
    const texts = new Map(notes.map(({ id, body }) => [id, body]))
    return { names, items: suggestions.map((suggestion) => ({ suggestion, note: texts.get(suggestion.noteId) ?? '' })) }
  },
  getNextPageParam: ({ items }) => (items.length < pageSize ? undefined : items.at(-1)?.suggestion.id),
  staleTime: Number.POSITIVE_INFINITY,
})

export async function loadInbox(): Promise<void> {
  if (await mayRead()) await queryClient.prefetchInfiniteQuery({ ...inboxQuery, staleTime: 1000 })
}

/** The newest pending suggestion. */
export const newestQuery = queryOptions({
  queryKey: [...suggestionsKey, 'newest'],
  queryFn: async ({ signal }): Promise<Suggestion | null> => {
    const query = new URLSearchParams({ ...newestFirst, limit: '1' })
    return (await send<Suggestion[]>('GET', '/v5/suggestions', { query, signal })).body[0] ?? null
  },
  meta: followsSuggestions,
})

/** Updates a suggestion everywhere with the service's response. */
export function showSuggestion(suggestion: Suggestion): void {
  const { id } = suggestion
  queryClient.setQueriesData<SuggestionList>(
    { queryKey: [...suggestionsKey, 'of notes'] },
    (list) => list && { ...list, suggestions: list.suggestions.map((one) => (one.id === id ? suggestion : one)) },
  )
  changeInbox((item) => (item.suggestion.id === id ? { ...item, suggestion } : item))
}

/** Removes a suggestion that no longer exists from everything that shows it. */
export function hideSuggestion(id: string): void {
  changeInbox((item) => (item.suggestion.id === id ? undefined : item))
  void queryClient.invalidateQueries({ queryKey: suggestionsKey })
}

// In the inbox, what others decide changes in place, and what is new waits for a click.
onEvents((events) => {
  const isShown = (id: string) =>
    queryClient
      .getQueryData(inboxQuery.queryKey)
      ?.pages.some(({ items }) => items.some(({ suggestion }) => suggestion.id === id))
  const changed = events.filter(
    ({ resource, isOwn, recordId }) => resource === 'suggestion' && !isOwn && isShown(recordId),
  )
  for (const id of new Set(changed.map(({ recordId }) => recordId))) void readSuggestion(id)
})

/** Shows a suggestion as it is now: someone else may have decided, or the note may have changed. */
export async function readSuggestion(id: string): Promise<void> {
  try {
    showSuggestion((await send<Suggestion>('GET', `/v5/suggestions/${id}`)).body)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) hideSuggestion(id)
  }
}

const changeInbox = (change: (item: InboxItem) => InboxItem | undefined): void =>
  void queryClient.setQueryData<InfiniteData<InboxPage, string>>(
    inboxKey,
    (data) =>
      data && {
        ...data,
        pages: data.pages.map((page) => ({ ...page, items: page.items.flatMap((item) => change(item) ?? []) })),
      },
  )
