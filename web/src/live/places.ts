import { useEffect } from 'react'

/** The records that a page or a browser has open. */
export interface Places {
  recordIds: readonly string[]
  /** Those of them that are being edited. */
  editedIds: readonly string[]
}

export const nowhere: Places = { recordIds: [], editedIds: [] }

/** Milliseconds in which a person who passes by does not count, such as along the rows of a list. */
const passing = 250
/** Milliseconds after which a tab in the background counts as left. */
const hiddenTime = 60_000

interface OpenRecord {
  id: string
  isEditing: boolean
}

const open = new Set<OpenRecord>()
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setTimeout> | undefined
let isAway = false

/** While the component is there, colleagues see that this person has the record open. */
export function useOpenRecord(id: string, isEditing = false): void {
  useEffect(() => {
    const record = { id, isEditing }
    open.add(record)
    change(passing)
    return () => {
      open.delete(record)
      change(passing)
    }
  }, [id, isEditing])
}

/** What this page has open. In the background, only what is being edited. */
export function ownPlaces(): Places {
  const edited = [...open].filter(({ isEditing }) => isEditing).map(({ id }) => id)
  return {
    recordIds: [...new Set(isAway ? edited : [...open].map(({ id }) => id))],
    editedIds: [...new Set(edited)],
  }
}

/** Calls the listener when the person has opened or left records. Returns a function that ends this. */
export function onPlacesChanged(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function change(delay: number): void {
  clearTimeout(timer)
  timer = setTimeout(() => {
    isAway = document.hidden && delay === hiddenTime
    for (const listener of listeners) listener()
  }, delay)
}

document.addEventListener('visibilitychange', () => change(document.hidden ? hiddenTime : 0))
