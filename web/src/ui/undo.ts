import { useTranslations } from 'use-intl'
import { isStoring, whenStored } from '../api/edit.ts'
import { whenForgetting } from '../api/query-client.ts'
import { notify } from './toast.tsx'
import { useShortcuts } from './shortcuts.tsx'

/** The last changes, newest at the end: what Ctrl+Z takes back. */
const undoable: (() => void)[] = []
const maxUndoable = 50
whenForgetting(() => undoable.splice(0))

/** One after the other: each looks at what the one before has left. */
let lastUndo: Promise<unknown> = Promise.resolve()
let undosInProgress = 0
/** How often Ctrl+Z was pressed while a change is being stored. */
let presses = 0

/** Offers to take a change back, in a toast and with Ctrl+Z. Either works once: the toast is closed with both. */
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

/** Ctrl+Z on pages whose changes can be undone. */
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
  // Meant for a change that was refused, or that cannot be undone: it must not take back the one before it.
  if (isAboutNewer && undoable.at(-1) === before) presses--
  for (; presses > 0; presses--) undoable.at(-1)?.()
}
