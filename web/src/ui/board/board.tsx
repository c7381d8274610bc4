import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type CSSProperties,
  type ReactNode,
  type Ref,
  type RefObject,
  useEffect,
  useEffectEvent,
  useId,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { useTranslations } from 'use-intl'
import styles from './board.module.css'
import { type CardStop, Column } from './board-column.tsx'
import {
  type BoardColumn,
  cardByArrow,
  isSameCardPosition,
  type Lifted,
  type CardPosition,
  cardPositionByArrow,
  cardPositionOf,
  withMoved,
} from './board-model.ts'
import { useTop } from '../use-top.ts'
import { CardDrag, type Drag } from './card-drag.ts'

/** What a page can do with a board. */
export interface BoardHandle {
  focusCard(id: string): void
  /** Like Alt with an arrow key. */
  moveActive(key: string): void
  openMenu(): void
}

interface BoardProps<Card extends { id: string }> {
  /** Its name for assistive technology. */
  label: string
  columns: readonly BoardColumn<Card>[]
  /** Changes when other cards are shown; the columns then scroll to the top. */
  cardsKey: string
  /** Height of a card including the gap below it, in pixels. */
  rowHeight: number
  /** False if the board is read-only. */
  canMove: boolean
  titleOf(card: Card): string
  /** Renders a card with a link, which takes the attributes of `stop`, and a menu, whose button comes first. */
  renderCard(card: Card, stop: CardStop): ReactNode
  onMove(id: string, to: CardPosition): void
  ref?: Ref<BoardHandle>
}

const headHeight = 80
const boardPadding = 12

/**
 * Cards in columns. They can be moved with a mouse, a finger or the keyboard: Space picks a card up, arrows move it,
 * Space drops it, Escape puts it back. Alt with an arrow moves it at once. The link of the active card is the only tab
 * stop.
 */
export function Board<Card extends { id: string }>(props: BoardProps<Card>) {
  const { label, columns, rowHeight, canMove, titleOf, onMove } = props
  const t = useTranslations('board')
  const hintId = useId()
  const root = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState<Lifted>()
  const [drag, setDrag] = useState<Drag>()
  const [carried, setCarried] = useState<Lifted>()
  const [announcement, setAnnouncement] = useState('')
  const wantsFocus = useRef(false)
  const hadFocus = useRef(false)
  const shown = withMoved(columns, carried)
  const rowCount = Math.max(1, ...shown.map(({ cards }) => cards.length + 3))
  const virtualizer = useVirtualizer({
    count: rowCount,
    getScrollElement: () => root.current,
    estimateSize: () => rowHeight,
    overscan: 1,
    paddingStart: headHeight + boardPadding,
  })
  useTop(root, props.cardsKey)
  const rows = virtualizer.getVirtualItems()
  const activeId = activeCard(shown, active)?.id

  const focus = (id: string) => {
    wantsFocus.current = true
    setActive({ id, to: cardPositionOf(shown, id) ?? nowhere })
  }
  // The link of the active card may appear with this rendering, in another column or farther down.
  useLayoutEffect(() => {
    const isLost = hadFocus.current && document.activeElement === document.body
    if ((!wantsFocus.current && !isLost) || activeId === undefined) return
    const card = root.current?.querySelector(`[data-card="${activeId}"]`)
    const link = card?.querySelector<HTMLElement>('[data-stop]')
    if (!link) return
    wantsFocus.current = false
    link.focus({ preventScroll: true })
    card?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  })

  const announce = (key: 'pickedUp' | 'over' | 'dropped' | 'putBack', id: string, at: CardPosition) => {
    const column = shown.find((one) => one.id === at.columnId)
    const card = columns.flatMap(({ cards }) => cards).find((one) => one.id === id)
    if (column && card) setAnnouncement(t(key, { title: titleOf(card), column: column.title, position: at.index + 1 }))
  }
  const move = (id: string, to: CardPosition) => {
    setCarried(undefined)
    wantsFocus.current = true
    setActive({ id, to })
    const from = cardPositionOf(columns, id)
    if (!from || isSameCardPosition(from, to)) return announce('putBack', id, from ?? to)
    announce('dropped', id, to)
    onMove(id, to)
  }
  const moveBy = (id: string, key: string) => {
    const from = cardPositionOf(columns, id)
    const to = from && cardPositionByArrow(columns, from, key, true)
    if (to && canMove) move(id, to)
  }
  const openMenu = (id: string | undefined) =>
    root.current?.querySelector<HTMLElement>(`[data-card="${id}"] button`)?.click()
  useImperativeHandle(props.ref, () => ({
    focusCard: focus,
    moveActive: (key) => void (activeId !== undefined && moveBy(activeId, key)),
    openMenu: () => openMenu(activeId),
  }))

  const carry = (id: string, key: string) => {
    const from = cardPositionOf(shown, id)
    const to = from && cardPositionByArrow(shown, from, key, false)
    if (!to) return
    wantsFocus.current = true
    setCarried({ id, to })
    announce('over', id, to)
  }
  const putBack = (id: string) => {
    const from = cardPositionOf(columns, id)
    setCarried(undefined)
    focus(id)
    if (from) announce('putBack', id, from)
  }
  const keys = (event: KeyboardEvent, id: string): (() => void) | undefined => {
    const { key, altKey, ctrlKey, metaKey } = event
    const isArrow = key.startsWith('Arrow')
    if (ctrlKey || metaKey) return undefined
    if (altKey) return isArrow && canMove ? () => moveBy(id, key) : undefined
    const at = cardPositionOf(shown, id)
    if (!at) return undefined
    if (carried) {
      if (isArrow) return () => carry(id, key)
      if (key === ' ' || key === 'Enter') return () => move(id, carried.to)
      return key === 'Escape' ? () => putBack(id) : undefined
    }
    if (key === ' ' && canMove) return () => (setCarried({ id, to: at }), announce('pickedUp', id, at))
    if (key === 'm' || key === 'ContextMenu') return () => openMenu(id)
    const step = { j: 'ArrowDown', k: 'ArrowUp' }[key] ?? key
    if (!step.startsWith('Arrow') && step !== 'Home' && step !== 'End') return undefined
    return () => {
      const next = cardByArrow(shown, at, step)
      if (next) focus(next.id)
    }
  }
  useListeners(root, {
    keydown(event) {
      const id = cardIdAt(event.target, true)
      const act = id === undefined ? undefined : keys(event, id)
      if (!act) return
      event.preventDefault()
      act()
    },
    pointerdown(event) {
      const target = event.target instanceof Element ? event.target : undefined
      const card = target?.closest<HTMLElement>('[data-card]')
      const isControl = target?.closest('button') !== null
      if (
        !card ||
        !root.current ||
        isControl ||
        !canMove ||
        !event.isPrimary ||
        event.button !== 0 ||
        event.ctrlKey ||
        event.metaKey
      )
        return
      setCarried(undefined)
      const countIn = (columnId: string, id: string) =>
        columns.find((column) => column.id === columnId)?.cards.filter((one) => one.id !== id).length ?? 0
      return void new CardDrag(event, card, {
        board: root.current,
        countIn,
        rowHeight,
        onChange: setDrag,
        onDrop: move,
      })
    },
    // Prevents the browser from dragging the link; the card is dragged instead.
    dragstart: (event) => event.preventDefault(),
    focusin({ target }) {
      const id = cardIdAt(target, false)
      hadFocus.current = id !== undefined
      if (id !== undefined && id !== activeId) setActive({ id, to: cardPositionOf(shown, id) ?? nowhere })
    },
    focusout({ relatedTarget }) {
      if (relatedTarget) hadFocus.current = false
      if (carried && relatedTarget instanceof Node && !root.current?.contains(relatedTarget)) setCarried(undefined)
    },
  })
  return (
    <div
      ref={root}
      role="group"
      aria-label={label}
      className={styles.board}
      data-dragging={drag !== undefined || undefined}
      data-carrying={carried !== undefined || undefined}
      style={{ '--row': `${rowHeight}px`, '--head': `${headHeight}px` } as CSSProperties}
    >
      <div className={styles.columns}>
        {shown.map((column) => (
          <Column
            key={column.id}
            column={column}
            rowHeight={rowHeight}
            first={rows[0]?.index ?? 0}
            last={rows.at(-1)?.index ?? 0}
            drag={drag}
            carriedId={carried?.id}
            activeId={activeId}
            hintId={hintId}
            renderCard={props.renderCard}
          />
        ))}
      </div>
      <p id={hintId} hidden>
        {canMove ? t('hint') : t('hintReadOnly')}
      </p>
      <p aria-live="assertive" className="visually-hidden">
        {announcement}
      </p>
    </div>
  )
}

const nowhere: CardPosition = { columnId: '', index: 0 }

type Listeners = {
  readonly [Name in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Name]) => void
}

/** Adds a native listener. React's events would also arrive from menus that are elsewhere in the document. */
function useListeners(element: RefObject<HTMLElement | null>, listeners: Listeners): void {
  const call = useEffectEvent((event: Event) => {
    const listener = listeners[event.type as keyof Listeners] as ((event: Event) => void) | undefined
    listener?.(event)
  })
  const names = Object.keys(listeners).join(' ')
  useEffect(() => {
    const stop = new AbortController()
    for (const name of names.split(' ')) element.current?.addEventListener(name, call, { signal: stop.signal })
    return () => stop.abort()
  }, [element, names])
}

/** The card of an element; with `isStop`, only if the element is the card's link. */
function cardIdAt(target: EventTarget | null, isStop: boolean): string | undefined {
  if (!(target instanceof Element) || (isStop && !target.matches('[data-stop]'))) return undefined
  return target.closest<HTMLElement>('[data-card]')?.dataset.card
}

/** The active card; if it was removed, the one that took its position; initially, the first one. */
function activeCard<Card extends { id: string }>(columns: readonly BoardColumn<Card>[], active: Lifted | undefined) {
  const cards = columns.flatMap((column) => column.cards)
  const column = columns.find(({ id }) => id === active?.to.columnId)?.cards ?? []
  const replacement = active && column[Math.min(active.to.index, column.length - 1)]
  return cards.find(({ id }) => id === active?.id) ?? replacement ?? cards[0]
}
