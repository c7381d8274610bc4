import { useTranslations } from 'use-intl'
import { isStoring, whenStored } from '../api/edit.ts'
import { whenForgetting } from '../api/query-client.ts'
import { notify } from './toast.tsx'
import { useShortcuts } from './shortcuts.tsx'

/** The most recent changes, newest last, for Ctrl+Z. */
const undoable: (() => void)[] = []
const maxUndoable = 50
whenForgetting(() => undoable.splice(0))

/** Undos run one at a time: each checks the state that the previous one left. */
let lastUndo: Promise<unknown> = Promise.resolve()
let undosInProgress = 0
/** How often Ctrl+Z was pressed while a change was being stored. */
let presses = 0

/** Offers to undo a change, in a toast and with Ctrl+Z. Either one works once, and closes the toast. */
export function offerUndo(title: string, undo: () => unknown): void {
  const once = () => {
    const index = undoable.indexOf(once)
    if (index === -1) return
    undoable.splice(index, 1)
    closeToast()
    undosInProgress++
    lastUndo = lastUndo.then(undo, undo).finally(() => undosInProgress--)
  }
  const closeToast = notify(title, { undo: once })
  undoable.push(once)
  if (undoable.length > maxUndoable) undoable.shift()
}

/** Handles Ctrl+Z on pages with changes that can be undone. */
export function useUndoShortcut(): void {
  const t = useTranslations('list')
  useShortcuts([{ keys: 'Mod+Z', label: t('undoLast'), run: () => void undoLast() }])
}

async function undoLast(): Promise<void> {
  presses++
  if (presses > 1) return
  const before = undoable.at(-1)
  const isAboutNewer = isStoring() && undosInProgress === 0
  await whenStored()
  // The key press was meant for a change that was refused or cannot be undone, so it must not undo the previous one.
  if (isAboutNewer && undoable.at(-1) === before) presses--
  for (; presses > 0; presses--) undoable.at(-1)?.()
}
