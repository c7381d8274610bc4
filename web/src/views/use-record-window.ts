import { useEffect, useState, useSyncExternalStore } from 'react'
import { whenForgetting } from '../api/query-client.ts'
import { RecordWindow } from '../api/record-window.ts'
import type { ResourceSchema } from '../api/schema.ts'
import { onRecordChanged } from './changes.ts'
import { type ListState, orderParameters, recordFilterOf, selectedFields } from './list-state.ts'

/** The most recent lists, so that Back finds the rows; the oldest is dropped. */
const recent = new Map<string, RecordWindow>()
const maxRecent = 6

const reloadListeners = new Set<(path: string) => void>()

/** Calls the listener when the lists of a path are reloaded. Returns a function that removes it. */
export function onListsReloaded(listener: (path: string) => void): () => void {
  reloadListeners.add(listener)
  return () => reloadListeners.delete(listener)
}

/** Reloads the rows of all lists, after records were created, deleted or restored. */
export function reloadLists(path: string): void {
  for (const listener of reloadListeners) listener(path)
  for (const [key, list] of recent) if (key.startsWith(`${path} `)) void list.reload()
}

/** Removes deleted records from all lists at once. */
export function removeFromLists(path: string, ids: ReadonlySet<string>): void {
  if (ids.size === 0) return
  for (const listener of reloadListeners) listener(path)
  for (const [key, list] of recent) if (key.startsWith(`${path} `)) list.remove(ids)
}

whenForgetting(() => recent.clear())

// Includes lists that are not on the screen: a person may return from the record, or from the board.
onRecordChanged(({ path }, record) => {
  for (const [key, list] of recent) if (key.startsWith(`${path} `)) list.put(record)
})

function windowFor(resource: ResourceSchema, state: ListState): RecordWindow {
  const [filter, order] = [recordFilterOf(resource, state), orderParameters(state)]
  const fields = selectedFields(resource, state.columns)
  const key = `${resource.path} ${filter.key} ${order} ${[...fields].sort()}`
  const found = recent.get(key)
  recent.delete(key)
  const list = found ?? new RecordWindow(resource.path, filter, order, fields)
  recent.set(key, list)
  const [oldest] = recent.keys()
  if (recent.size > maxRecent && oldest !== undefined) recent.delete(oldest)
  return list
}

/** The rows for a list state. While others load, the previous ones stay: `isStale`. */
export function useRecordWindow(resource: ResourceSchema, state: ListState): { list: RecordWindow; isStale: boolean } {
  const wanted = windowFor(resource, state)
  const [shown, setShown] = useState(wanted)
  useSyncExternalStore(wanted.subscribe, () => wanted.version)
  useSyncExternalStore(shown.subscribe, () => shown.version)
  useEffect(() => wanted.refresh(), [wanted])
  const isReady = wanted.isReady
  if (isReady && shown !== wanted) setShown(wanted)
  return { list: isReady ? wanted : shown, isStale: !isReady && shown !== wanted }
}
