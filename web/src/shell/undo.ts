import { useTranslations } from 'use-intl'
import { whenStored } from '../api/edit.ts'
import { whenForgetting } from '../api/query-client.ts'
import { notify } from '../ui/toast.tsx'
import { useShortcuts } from './shortcuts.tsx'

/** The last changes, newest at the end: what Ctrl+Z takes back. */
const undoable: (() => void)[] = []
const maxUndoable = 50
whenForgetting(() => undoable.splice(0))

/** One after the other: each looks at what the one before has left. */
let lastUndo: Promise<unknown> = Promise.resolve()

/** Offers to take a change back, in a toast and with Ctrl+Z. Either works once: the toast is closed with both. */
export function offerUndo(title: string, undo: () => unknown): void {
  const once = () => {
    const index = undoable.indexOf(once)
    if (index === -1) return
    undoable.splice(index, 1)
    closeToast()
    lastUndo = lastUndo.then(undo, undo)
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
  // The last change may still be on its way to the service.
  await whenStored()
  undoable.at(-1)?.()
}
