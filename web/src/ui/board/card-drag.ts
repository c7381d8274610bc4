import type { CardPosition } from './board-model.ts'

/** A card that follows the pointer. */
export interface Drag {
  id: string
  /** Its original position on the screen, in pixels. */
  left: number
  top: number
  width: number
  /** Where it would be dropped. */
  over: CardPosition
}

interface CardDragOptions {
  board: HTMLElement
  /** Number of other cards in a column. */
  countIn(columnId: string, withoutId: string): number
  rowHeight: number
  onChange(drag: Drag | undefined): void
  onDrop(id: string, to: CardPosition): void
}

/** Pixels after which a mouse press becomes a drag, and tolerance for a finger's movement. */
const mouseThreshold = 5
const touchTolerance = 10
/** Milliseconds of pressing after which a finger lifts the card; before, it scrolls. */
const longPress = 300
/** Pixels from an edge of the board at which it scrolls, and the distance per frame. */
const edge = 56
const scrollStep = 14

/**
 * Moves a card with a mouse, a pen or a finger. The card stays in the document while it follows the pointer, because
 * the browser sends a finger's movements to the element where the touch started.
 */
export class CardDrag {
  readonly #options: CardDragOptions
  readonly #card: HTMLElement
  readonly #start: { x: number; y: number; isTouch: boolean; pointerId: number }
  #pointer: { x: number; y: number }
  #drag: Drag | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #frame = 0
  readonly #ended = new AbortController()

  constructor(event: PointerEvent, card: HTMLElement, options: CardDragOptions) {
    const { clientX: x, clientY: y, pointerId } = event
    this.#options = options
    this.#card = card
    this.#start = { x, y, isTouch: event.pointerType !== 'mouse', pointerId }
    this.#pointer = { x, y }
    const { signal } = this.#ended
    document.addEventListener('pointermove', this.#onMove, { signal })
    document.addEventListener('pointerup', this.#onUp, { signal })
    document.addEventListener('pointercancel', () => this.cancel(), { signal })
    document.addEventListener('keydown', this.#onKeyDown, { signal, capture: true })
    window.addEventListener('blur', () => this.cancel(), { signal })
    // The browser scrolls with the finger unless the first movement is cancelled.
    options.board.addEventListener('touchmove', this.#onTouchMove, { signal, passive: false })
    options.board.addEventListener('contextmenu', (prevented) => prevented.preventDefault(), { signal })
    if (this.#start.isTouch) this.#timer = setTimeout(this.#lift, longPress)
  }

  /** Puts the card back. */
  cancel(): void {
    this.#end()
    this.#options.onChange(undefined)
  }

  readonly #onMove = ({ clientX, clientY, pointerId }: PointerEvent): void => {
    if (pointerId !== this.#start.pointerId) return
    this.#pointer = { x: clientX, y: clientY }
    const distance = Math.hypot(clientX - this.#start.x, clientY - this.#start.y)
    if (this.#drag) this.#follow()
    else if (this.#start.isTouch && distance > touchTolerance) this.cancel()
    else if (!this.#start.isTouch && distance > mouseThreshold) this.#lift()
  }

  readonly #onUp = ({ pointerId }: PointerEvent): void => {
    if (pointerId !== this.#start.pointerId) return
    const drag = this.#drag
    this.cancel()
    if (!drag) return
    // Prevent the link below the pointer from opening.
    const prevent = (click: MouseEvent) => (click.preventDefault(), click.stopPropagation())
    document.addEventListener('click', prevent, { capture: true, once: true })
    setTimeout(() => document.removeEventListener('click', prevent, { capture: true }))
    this.#options.onDrop(drag.id, drag.over)
  }

  readonly #onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !this.#drag) return
    event.preventDefault()
    event.stopPropagation()
    this.cancel()
  }

  readonly #onTouchMove = (event: TouchEvent): void => {
    if (this.#drag) event.preventDefault()
  }

  readonly #lift = (): void => {
    const { left, top, width } = this.#card.getBoundingClientRect()
    const id = this.#card.dataset.card ?? ''
    const over = this.#placeBelow({ left, top })
    if (!over) return this.cancel()
    this.#drag = { id, left, top, width, over }
    this.#options.onChange(this.#drag)
    this.#follow()
    this.#frame = requestAnimationFrame(this.#scroll)
  }

  #follow(): void {
    if (!this.#drag) return
    const [x, y] = [this.#pointer.x - this.#start.x, this.#pointer.y - this.#start.y]
    this.#card.style.setProperty('--drag-x', `${x}px`)
    this.#card.style.setProperty('--drag-y', `${y}px`)
    const over = this.#placeBelow({ left: this.#drag.left + x, top: this.#drag.top + y })
    const { over: before } = this.#drag
    if (!over || (over.columnId === before.columnId && over.index === before.index)) return
    this.#drag = { ...this.#drag, over }
    this.#options.onChange(this.#drag)
  }

  /** The position below the middle of the card, in the column nearest to the pointer. */
  #placeBelow({ top }: { left: number; top: number }): CardPosition | undefined {
    const { board, rowHeight, countIn } = this.#options
    const columns = [...board.querySelectorAll<HTMLElement>('[data-column]')].map((element) => ({
      id: element.dataset.column ?? '',
      box: element.getBoundingClientRect(),
    }))
    const { x } = this.#pointer
    const distance = ({ left, right }: DOMRect) => Math.max(left - x, x - right, 0)
    const [nearest] = columns.sort((one, other) => distance(one.box) - distance(other.box))
    if (!nearest) return undefined
    const row = Math.floor((top - nearest.box.top + rowHeight / 2) / rowHeight)
    const count = countIn(nearest.id, this.#card.dataset.card ?? '')
    return { columnId: nearest.id, index: Math.min(Math.max(row, 0), count) }
  }

  /** Scrolls the board while the pointer is near an edge. */
  readonly #scroll = (): void => {
    const { board } = this.#options
    const { left, right, top, bottom } = board.getBoundingClientRect()
    const { x, y } = this.#pointer
    const direction = (from: number, to: number, at: number) => (at < from + edge ? -1 : at > to - edge ? 1 : 0)
    const [across, along] = [direction(left, right, x), direction(top, bottom, y)]
    if (across !== 0 || along !== 0) {
      board.scrollBy(across * scrollStep, along * scrollStep)
      this.#follow()
    }
    this.#frame = requestAnimationFrame(this.#scroll)
  }

  #end(): void {
    this.#ended.abort()
    clearTimeout(this.#timer)
    cancelAnimationFrame(this.#frame)
    this.#drag = undefined
    this.#card.style.removeProperty('--drag-x')
    this.#card.style.removeProperty('--drag-y')
  }
}
