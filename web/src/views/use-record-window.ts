import { useEffect, useState, useSyncExternalStore } from 'react'
import { type LiveEvent, whenForgetting } from '../api/query-client.ts'
import { RecordWindow } from '../api/record-window.ts'
import type { ResourceSchema } from '../api/schema.ts'
import { addsOrRemoves, Arrivals } from '../live/arrivals.ts'
import { mentionsAny, onEvents, onEventsLost } from '../live/events.ts'
import { onRecordChanged } from './changes.ts'
import { type ListState, orderParameters, recordFilterOf, selectedFields } from './list-state.ts'

interface FollowedList {
  list: RecordWindow
  arrivals: Arrivals
  idPrefix: string
}

/** The most recent lists, so that Back finds the rows; the oldest is dropped. */
const recent = new Map<string, FollowedList>()
const maxRecent = 6

const reloadListeners = new Set<(path: string) => void>()

/** Calls the listener when the lists of a path are reloaded. Returns a function that removes it. */
export function onListsReloaded(listener: (path: string) => void): () => void {
  reloadListeners.add(listener)
  return () => reloadListeners.delete(listener)
}

const recentOf = (path: string): RecordWindow[] =>
  [...recent].flatMap(([key, { list }]) => (key.startsWith(`${path} `) ? [list] : []))

/** Reloads the rows of all lists, after records were created, deleted or restored. */
export function reloadLists(path: string): void {
  for (const listener of reloadListeners) listener(path)
  for (const list of recentOf(path)) void list.reload()
}

/** Removes deleted records from all lists at once. */
export function removeFromLists(path: string, ids: ReadonlySet<string>): void {
  if (ids.size === 0) return
  for (const listener of reloadListeners) listener(path)
  for (const list of recentOf(path)) list.remove(ids)
}

whenForgetting(() => recent.clear())

// Includes lists that are not on the screen: a person may return from the record, or from the board.
onRecordChanged(({ path }, record) => {
  for (const list of recentOf(path)) list.put(record)
})

onEvents((events) => {
  for (const followed of recent.values()) followEvents(followed, events)
})
onEventsLost(() => {
  for (const { arrivals } of recent.values()) arrivals.followAll()
})

function followEvents({ list, arrivals, idPrefix }: FollowedList, events: readonly LiveEvent[]): void {
  const isOfList = ({ recordId }: LiveEvent) => recordId.startsWith(`${idPrefix}_`)
  // The list shows this page's own changes already, but not what these change in other records.
  const news = events.filter((event) => !event.isOwn || !isOfList(event))
  const named = new Set(news.flatMap(({ ids }) => ids))
  const changed = new Set(news.filter((event) => !isOfList(event)).map(({ recordId }) => recordId))
  const rows = list.loaded().filter((row) => named.has(row.id) || mentionsAny(row, changed))
  const moves = news.filter(isOfList).some((event) => addsOrRemoves(event) || !list.isPlain)
  if (rows.length > 0 || moves) {
    arrivals.follow(
      rows.map(({ id }) => id),
      moves || (rows.length > 0 && !list.isPlain),
    )
  }
}

function windowFor(resource: ResourceSchema, state: ListState): FollowedList {
  const [filter, order] = [recordFilterOf(resource, state), orderParameters(state)]
  const fields = selectedFields(resource, state.columns)
  const key = `${resource.path} ${filter.key} ${order} ${[...fields].sort()}`
  const found = recent.get(key)
  recent.delete(key)
  const followed = found ?? newList(resource, new RecordWindow(resource.path, filter, order, fields))
  recent.set(key, followed)
  const [oldest] = recent.keys()
  if (recent.size > maxRecent && oldest !== undefined) recent.delete(oldest)
  return followed
}

const newList = ({ idPrefix }: ResourceSchema, list: RecordWindow): FollowedList => ({
  list,
  arrivals: new Arrivals(list),
  idPrefix,
})

/** The rows for a list state. While others load, the previous ones stay: `isStale`. */
export function useRecordWindow(resource: ResourceSchema, state: ListState) {
  const { list: wanted, arrivals } = windowFor(resource, state)
  const [shown, setShown] = useState(wanted)
  useSyncExternalStore(wanted.subscribe, () => wanted.version)
  useSyncExternalStore(shown.subscribe, () => shown.version)
  useEffect(() => wanted.refresh(), [wanted])
  const isReady = wanted.isReady
  if (isReady && shown !== wanted) setShown(wanted)
  return { list: isReady ? wanted : shown, arrivals, isStale: !isReady && shown !== wanted }
}
