import type { Query } from '@tanstack/react-query'
import { unanswered } from '../api/client.ts'
import { type Follows, queryClient } from '../api/query-client.ts'
import { onEvents, onEventsLost } from './events.ts'

/** Milliseconds between two refetches of a query, however much happens. */
const interval = 1000
const pause = 100

/** Shown queries that are out of date. */
const due = new Set<Query>()
const refetchedAt = new WeakMap<Query, number>()
let timer: ReturnType<typeof setTimeout> | undefined

/** Events of these resources, whatever the record. */
export const ofResources =
  (...resources: readonly string[]): Follows =>
  ({ resource }) =>
    resources.includes(resource)

/** Only what this page has not done itself, and therefore shows already. */
export const byOthers =
  (follows: Follows): Follows =>
  (event, mentions) =>
    !event.isOwn && follows(event, mentions)

/** Events of these resources that name an id, such as that of the parent, or whose record the query has read. */
export const about =
  (id: string, ...resources: readonly string[]): Follows =>
  ({ resource, ids, recordId }, mentions) =>
    resources.includes(resource) && (ids.includes(id) || mentions(recordId))

onEvents((events) => {
  for (const query of queryClient.getQueryCache().getAll()) {
    const follows = query.meta?.follows
    if (!follows) continue
    let text: string | undefined
    const mentions = (id: string) => (text ??= JSON.stringify(query.state.data) ?? '').includes(id)
    if (events.some((event) => follows(event, mentions))) outdate(query)
  }
  work()
})

onEventsLost(() => {
  for (const query of queryClient.getQueryCache().getAll()) if (query.meta?.follows) outdate(query)
  work()
})

/** Outdated queries are refetched when they are shown, and when the person comes back to this tab. */
function outdate(query: Query): void {
  if (query.isActive() && !document.hidden) due.add(query)
  else query.invalidate()
}

/** Refetches what is due, each query once its last response is there. */
function work(): void {
  clearTimeout(timer)
  for (const query of due) {
    const isWaiting = query.meta?.waits === true && unanswered.size > 0
    const isEarly = Date.now() - (refetchedAt.get(query) ?? 0) < interval
    if (query.isActive() && (isWaiting || isEarly || query.state.fetchStatus !== 'idle')) continue
    due.delete(query)
    refetchedAt.set(query, Date.now())
    void queryClient.invalidateQueries({ queryKey: query.queryKey, exact: true }, { cancelRefetch: false })
  }
  if (due.size > 0) timer = setTimeout(work, pause)
}
