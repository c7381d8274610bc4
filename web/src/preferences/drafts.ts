import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { readItem, removeItems, type StorageScope, storeItem } from './storage.ts'

// Unsaved input survives a reload and a log-in elsewhere. A new note is stored in the browser; all other drafts belong
// to their tab, so that two tabs do not share a form.

const prefix = 'rapport.draft.'
let organizationId = ''

/** Drafts belong to the organization that the page shows. The storage belongs to one person (`claimStorage`). */
export function setDraftOrganization(id: string | undefined): void {
  organizationId = id ?? ''
}

const keyOf = (name: string): string => `${prefix}${organizationId}.${name}`

export const readDraft = (name: string, scope: StorageScope = 'tab'): string | undefined => readItem(keyOf(name), scope)

/** Stores a draft; undefined removes it. */
export const storeDraft = (name: string, text: string | undefined, scope: StorageScope = 'tab'): void =>
  storeItem(keyOf(name), text, scope)

/** The person has lost access to the organization that the page shows. */
export function forgetOrganizationDrafts(): void {
  for (const scope of ['browser', 'tab'] as const) removeItems((key) => key.startsWith(keyOf('')), scope)
}

/** The stored value, if it is valid. */
export function readJsonDraft(name: string): unknown {
  const text = readDraft(name)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Like `useState` for input: the value survives a reload until it is saved or discarded. */
export function useDraft<T>(name: string, initial: () => T): readonly [T, (value: T) => void, isRestored: boolean] {
  const [stored] = useState(() => readJsonDraft(name))
  const [value, setValue] = useState<T>(() => (stored === undefined ? initial() : (stored as T)))
  useLayoutEffect(() => () => storeDraft(name, undefined), [name])
  const set = (next: T) => {
    setValue(next)
    storeDraft(name, JSON.stringify(next))
  }
  return [value, set, stored !== undefined]
}

export type UnsavedKind = 'note' | 'form' | 'edit'

const unsaved = new Map<object, UnsavedKind>()

/** Marks the page as having unsaved input. */
export function useUnsaved(kind: UnsavedKind, isUnsaved: boolean): void {
  const token = useRef({})
  useEffect(() => {
    const key = token.current
    if (!isUnsaved) return undefined
    unsaved.set(key, kind)
    return () => void unsaved.delete(key)
  }, [kind, isUnsaved])
}

/** The kinds of unsaved input right now. */
export const unsavedKinds = (): readonly UnsavedKind[] => [...new Set(unsaved.values())]

let saving = 0

/** While this runs, the person waits for something to be saved, even if it only reads. */
export async function whileSaving<T>(work: () => Promise<T>): Promise<T> {
  saving++
  try {
    return await work()
  } finally {
    saving--
  }
}

export const isSaving = (): boolean => saving > 0

let isLeaving = false

/** Leaves the page despite unsaved input, because it is stored as a draft or belongs to somebody else. */
export function leavePage(url: string): void {
  isLeaving = true
  if (url === location.href) location.reload()
  else location.assign(url)
}

export const mayLeave = (): boolean => isLeaving
