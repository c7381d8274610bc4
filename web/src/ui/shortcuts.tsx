import { createContext, type ReactNode, use, useEffectEvent, useLayoutEffect, useRef, useState } from 'react'
import { sequenceTimeout } from './keys.tsx'

/** A key such as `?`, a sequence such as `g c`, or a combination such as `Mod+K`. */
export interface Shortcut {
  keys: string
  label: string
  /** True for global shortcuts, which the help lists separately. */
  isGlobal?: boolean
  run(): void
}

interface Registry {
  add(shortcuts: () => readonly Shortcut[]): () => void
  all(): readonly Shortcut[]
}

const Context = createContext<Registry | undefined>(undefined)

/** A checkbox takes no text input, but has the focus after a click. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('input:not([type=checkbox], [type=radio]), textarea, select'))

const isInDialog = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('[role=dialog], [role=menu], [role=listbox]') !== null

function nameOf(event: KeyboardEvent): string {
  if (!event.metaKey && !event.ctrlKey) return event.key
  // Shift changes the meaning: redo instead of undo.
  return `Mod+${event.shiftKey ? 'Shift+' : ''}${event.key.toUpperCase()}`
}

/** Listens for the shortcuts of all mounted components; the most recently added one wins. */
export function ShortcutProvider({ children }: { children: ReactNode }) {
  const [registry] = useState(() => new ShortcutRegistry())
  const previous = useRef({ key: '', at: 0 })
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || event.altKey || event.isComposing) return
    const key = nameOf(event)
    // Keys without a modifier belong to the focused field, menu or dialog.
    if (!key.startsWith('Mod+') && (isTyping(event.target) || isInDialog(event.target))) return
    const { key: first, at } = previous.current
    const sequence = event.timeStamp - at < sequenceTimeout ? `${first} ${key}` : undefined
    previous.current = { key, at: event.timeStamp }
    const newestFirst = [...registry.all()].reverse()
    // Sequences come first: `g c` opens the contacts even on a page where `c` creates one.
    const found = newestFirst.find(({ keys }) => keys === sequence) ?? newestFirst.find(({ keys }) => keys === key)
    if (!found) return
    if (key === 'Mod+Z' && isTyping(event.target)) return
    event.preventDefault()
    found.run()
  })
  useLayoutEffect(() => {
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
  return <Context value={registry}>{children}</Context>
}

class ShortcutRegistry implements Registry {
  readonly #sources: (() => readonly Shortcut[])[] = []

  add(source: () => readonly Shortcut[]): () => void {
    this.#sources.push(source)
    return () => {
      this.#sources.splice(this.#sources.indexOf(source), 1)
    }
  }

  all(): readonly Shortcut[] {
    return this.#sources.flatMap((source) => source())
  }
}

/** Registers shortcuts while the component is mounted: before it is painted, so that no key is lost that follows. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const registry = use(Context)
  const latest = useRef(shortcuts)
  useLayoutEffect(() => {
    latest.current = shortcuts
  })
  useLayoutEffect(() => registry?.add(() => latest.current), [registry])
}

/** All current shortcuts, for the help and the palette. */
export function useShortcutList(): () => readonly Shortcut[] {
  const registry = use(Context)
  return () => registry?.all() ?? []
}
