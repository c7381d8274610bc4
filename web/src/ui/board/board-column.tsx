import { memo, type ReactNode, useEffect, useId } from 'react'
import { classes } from '../classes.ts'
import styles from './board.module.css'
import type { BoardColumn } from './board-model.ts'
import type { Drag } from './card-drag.ts'

/** The attributes of a card's link that make it reachable with the keyboard. */
export interface CardStop {
  'data-stop': string
  tabIndex: number
  'aria-describedby': string
  draggable: false
}

interface ColumnProps<Card> {
  column: BoardColumn<Card>
  rowHeight: number
  /** The visible rows. */
  first: number
  last: number
  drag: Drag | undefined
  /** The card that is being moved with the keyboard. */
  carriedId: string | undefined
  activeId: string | undefined
  hintId: string
  renderCard(card: Card, stop: CardStop): ReactNode
}

interface CardContentProps<Card> {
  card: Card
  isActive: boolean
  hintId: string
  renderCard(card: Card, stop: CardStop): ReactNode
}

/** Memoized per card, because a key press or a pointer movement affects few cards. */
const CardContent = memo(function CardContent<Card>({ card, isActive, hintId, renderCard }: CardContentProps<Card>) {
  return renderCard(card, {
    'data-stop': '',
    tabIndex: isActive ? 0 : -1,
    'aria-describedby': hintId,
    draggable: false,
  })
}) as <Card>(props: CardContentProps<Card>) => ReactNode

/** Load more when this many rows or fewer remain below. */
const margin = 8
const maxSkeletons = 3

/** A column of a board. Only visible cards are in the document, and the active card, which has the focus. */
export function Column<Card extends { id: string }>(props: ColumnProps<Card>) {
  const { column, rowHeight, first, last, drag, carriedId, activeId } = props
  const { cards, hasMore, onNeedMore } = column
  const id = useId()
  const needsMore = hasMore && last >= cards.length - margin
  const count = cards.length
  useEffect(() => {
    if (needsMore) onNeedMore()
  }, [needsMore, count, onNeedMore])
  const draggedIndex = drag ? cards.findIndex((card) => card.id === drag.id) : -1
  const gap = drag?.over.columnId === column.id ? drag.over.index : undefined
  const rowOf = (index: number) => {
    const row = draggedIndex !== -1 && index > draggedIndex ? index - 1 : index
    return gap !== undefined && row >= gap ? row + 1 : row
  }
  const shown = cards.flatMap((card, index) => {
    const isNear = index >= first - 1 && index <= last + 1
    return isNear || card.id === activeId || index === draggedIndex ? [{ card, index, row: rowOf(index) }] : []
  })
  const skeletons = hasMore ? maxSkeletons : 0
  const rows = cards.length + skeletons + (gap === undefined ? 0 : 1) - (draggedIndex === -1 ? 0 : 1)
  return (
    <section className={styles.column} aria-labelledby={id}>
      <div className={styles.head}>
        <h2 id={id} className="visually-hidden">
          {column.title}
        </h2>
        {column.head}
      </div>
      <ul
        className={styles.cards}
        data-column={column.id}
        aria-label={column.title}
        style={{ minHeight: rows * rowHeight }}
      >
        {shown.map(({ card, index, row }) => (
          <li
            key={card.id}
            data-card={card.id}
            aria-setsize={hasMore ? -1 : cards.length}
            aria-posinset={index + 1}
            className={classes(
              styles.card,
              index === draggedIndex && styles.dragged,
              card.id === carriedId && styles.carried,
            )}
            style={
              index === draggedIndex && drag
                ? { left: drag.left, top: drag.top, width: drag.width }
                : { transform: `translateY(${row * rowHeight}px)` }
            }
          >
            <CardContent
              card={card}
              isActive={card.id === activeId}
              hintId={props.hintId}
              renderCard={props.renderCard}
            />
          </li>
        ))}
        {gap !== undefined && (
          <li aria-hidden className={styles.gap} style={{ transform: `translateY(${gap * rowHeight}px)` }} />
        )}
        {Array.from({ length: skeletons }, (_, index) => (
          <li
            key={`skeleton ${index}`}
            aria-hidden
            className={styles.skeleton}
            style={{ transform: `translateY(${(rows - skeletons + index) * rowHeight}px)` }}
          />
        ))}
      </ul>
    </section>
  )
}
