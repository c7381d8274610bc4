import type { ReactNode } from 'react'

/** A column of a board, from left to right. */
export interface BoardColumn<Card> {
  id: string
  title: string
  /** Shown above the cards, such as their number. */
  head: ReactNode
  /** The loaded cards, from the top. */
  cards: readonly Card[]
  /** Are there more cards below the loaded ones? */
  hasMore: boolean
  /** Called when the person scrolls near the end of the loaded cards. */
  onNeedMore(): void
}

/** The position of a card: its index among the other cards of the column. */
export interface CardPosition {
  columnId: string
  index: number
}

export interface Lifted {
  id: string
  to: CardPosition
}

/** The position of a card; undefined if it is not loaded. */
export function cardPositionOf<Card extends { id: string }>(
  columns: readonly BoardColumn<Card>[],
  id: string | undefined,
): CardPosition | undefined {
  for (const { id: columnId, cards } of columns) {
    const index = cards.findIndex((card) => card.id === id)
    if (index !== -1) return { columnId, index }
  }
  return undefined
}

export const isSameCardPosition = (one: CardPosition, other: CardPosition): boolean =>
  one.columnId === other.columnId && one.index === other.index

/** The columns after a card has moved. */
export function withMoved<Card extends { id: string }>(
  columns: readonly BoardColumn<Card>[],
  moved: Lifted | undefined,
): readonly BoardColumn<Card>[] {
  const card = columns.flatMap(({ cards }) => cards).find(({ id }) => id === moved?.id)
  if (!moved || !card) return columns
  return columns.map((column) => {
    const cards = column.cards.filter(({ id }) => id !== moved.id)
    return { ...column, cards: column.id === moved.to.columnId ? cards.toSpliced(moved.to.index, 0, card) : cards }
  })
}

const steps: Readonly<Record<string, readonly [columns: number, cards: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

/** The target of a card moved by an arrow key: in another column, its top or about the same height. */
export function cardPositionByArrow<Card extends { id: string }>(
  columns: readonly BoardColumn<Card>[],
  from: CardPosition,
  key: string,
  toTop: boolean,
): CardPosition | undefined {
  const step = steps[key]
  const at = columns.findIndex(({ id }) => id === from.columnId)
  if (!step || at === -1) return undefined
  const [across, along] = step
  const column = columns[at + across]
  if (!column) return undefined
  if (across !== 0) return { columnId: column.id, index: toTop ? 0 : Math.min(from.index, column.cards.length) }
  const index = from.index + along
  return index < 0 || index >= column.cards.length ? undefined : { columnId: column.id, index }
}

/** The card that an arrow key activates; empty columns are skipped. */
export function cardByArrow<Card extends { id: string }>(
  columns: readonly BoardColumn<Card>[],
  from: CardPosition,
  key: string,
): Card | undefined {
  const at = columns.findIndex(({ id }) => id === from.columnId)
  const cards = columns[at]?.cards ?? []
  if (key === 'Home') return cards[0]
  if (key === 'End') return cards.at(-1)
  const [across, along] = steps[key] ?? [0, 0]
  if (across === 0) return cards[from.index + along]
  for (let next = at + across; columns[next]; next += across) {
    const others = columns[next]?.cards ?? []
    if (others.length > 0) return others[Math.min(from.index, others.length - 1)]
  }
  return undefined
}
