import { defaultRangeExtractor, type Range, useVirtualizer, type VirtualItem } from '@tanstack/react-virtual'
import {
  type CSSProperties,
  memo,
  type ReactNode,
  type Ref,
  useEffect,
  useEffectEvent,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { whenForgetting } from '../api/query-client.ts'
import { useIsPrinting } from './use-printing.ts'

/** The props that a rendered item passes to its `<li>`. */
export interface ItemFrame {
  ref: (element: HTMLElement | null) => void
  'data-index': number
}

export interface VirtualListHandle {
  /** Focuses the element that matches the selector in an item, which may not be in the document yet. */
  focus(index: number, selector: string): void
}

interface VirtualListProps<Item> {
  /** Its name for assistive technology. */
  label: string
  items: readonly Item[]
  keyOf(item: Item): string
  /** The text by which the browser's search finds an item that is not in the document. */
  textOf(item: Item): string
  /** Renders an `<li>` with the props of the frame. */
  renderItem(item: Item, frame: ItemFrame): ReactNode
  /** Height in pixels, until an item is measured. */
  estimatedHeight: number
  /** The key under which measured heights are stored, so that Back restores the position. */
  place: string
  className?: string | undefined
  ref?: Ref<VirtualListHandle>
}

/** Lists up to this length are in the document as a whole. */
const maxWhole = 80
const overscan = 12
/** Number of items whose text is searched together. */
const chunkSize = 20
/** The height of a large screen, which determines the number of items in the first render. */
const initialRect = { width: 0, height: 1200 }

const heights = new Map<string, readonly VirtualItem[]>()
whenForgetting(() => heights.clear())

/**
 * A list of items of any height within a scrolling page. Of a long list, only items near the visible part are in the
 * document, and those with the focus or unsaved text.
 */
export function VirtualList<Item>(props: VirtualListProps<Item>) {
  const { items, keyOf, textOf, place } = props
  const list = useRef<HTMLUListElement>(null)
  const scrollMargin = useScrollMargin(list)
  const isPrinting = useIsPrinting()
  const [measurements] = useState(() => [...(heights.get(place) ?? [])])
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scrollerOf(list.current),
    estimateSize: () => props.estimatedHeight,
    getItemKey: (index) => keyOf(items[index] as Item),
    rangeExtractor: (range) =>
      range.count <= maxWhole || isPrinting ? all(range.count) : withUsed(range, list.current),
    overscan,
    scrollMargin,
    initialRect,
    initialMeasurementsCache: measurements,
  })
  // Browsers keep the visible part in place; Safari does not.
  virtualizer.shouldAdjustScrollPositionOnItemSizeChange = CSS.supports('overflow-anchor: auto')
    ? () => false
    : undefined
  useEffect(
    () => () => {
      heights.set(place, virtualizer.takeSnapshot())
    },
    [place, virtualizer],
  )
  const wanted = useRef<string>(undefined)
  useImperativeHandle(props.ref, () => ({
    focus(index, selector) {
      wanted.current = `:scope > [data-index="${index}"] ${selector}`
      virtualizer.scrollToIndex(index, { align: 'center' })
    },
  }))
  useLayoutEffect(() => {
    const target = wanted.current === undefined ? null : list.current?.querySelector<HTMLElement>(wanted.current)
    if (!target) return
    wanted.current = undefined
    target.focus({ preventScroll: true })
    target.scrollIntoView({ block: 'nearest' })
  })
  const shown = virtualizer.getVirtualItems()
  const total = virtualizer.getTotalSize()
  const gap = (from: number, to: number) => {
    const start = from === 0 ? scrollMargin : (virtualizer.measurementsCache[from - 1]?.end ?? 0)
    const end = to === items.length ? scrollMargin + total : (virtualizer.measurementsCache[to]?.start ?? 0)
    return (
      to > from && (
        <Gap key={`before ${to === items.length ? 'the end' : keyOf(items[to] as Item)}`} height={end - start}>
          {chunksOf(from, to).map(([first, last]) => (
            <Unseen
              key={first}
              text={items.slice(first, last).map(textOf).join('\n')}
              onFound={() => virtualizer.scrollToIndex(first, { align: 'start' })}
            />
          ))}
        </Gap>
      )
    )
  }
  return (
    <ul ref={list} aria-label={props.label} className={props.className}>
      {shown.flatMap(({ index }, at) => [
        gap(at === 0 ? 0 : (shown[at - 1]?.index ?? 0) + 1, index),
        <ListItem
          key={keyOf(items[index] as Item)}
          item={items[index] as Item}
          index={index}
          measure={virtualizer.measureElement}
          render={props.renderItem}
        />,
      ])}
      {gap((shown.at(-1)?.index ?? -1) + 1, items.length)}
    </ul>
  )
}

interface ListItemProps<Item> {
  item: Item
  index: number
  measure: ItemFrame['ref']
  render(item: Item, frame: ItemFrame): ReactNode
}

/** Memoized on the page that has the list, because scrolling only affects items that come and go. */
const ListItem = memo(function ListItem<Item>({ item, index, measure, render }: ListItemProps<Item>) {
  return render(item, { ref: measure, 'data-index': index })
}) as <Item>(props: ListItemProps<Item>) => ReactNode

const all = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

/** Includes items with the focus, with unsaved text, or with an open form. */
function withUsed(range: Range, list: HTMLElement | null): number[] {
  const used = [...(list?.querySelectorAll<HTMLElement>(':scope > :is(:focus-within, :has(textarea, form))') ?? [])]
  const indexes = used.map(({ dataset }) => Number(dataset.index)).filter((index) => index < range.count)
  return [...new Set([...defaultRangeExtractor(range), ...indexes])].sort((one, other) => one - other)
}

function chunksOf(from: number, to: number): readonly (readonly [number, number])[] {
  const first = Math.floor(from / chunkSize)
  return Array.from({ length: Math.ceil(to / chunkSize) - first }, (_, offset) => {
    const start = (first + offset) * chunkSize
    return [Math.max(from, start), Math.min(to, start + chunkSize)] as const
  })
}

/** Reserves the space of items that are not in the document. */
const Gap = ({ height, children }: { height: number; children: ReactNode }) => (
  <li aria-hidden style={{ height, overflow: 'hidden' } as CSSProperties}>
    {children}
  </li>
)

/**
 * The text of items that are not in the document, which the browser finds and then reveals (`hidden="until-found"`).
 */
function Unseen({ text, onFound }: { text: string; onFound(): void }) {
  const element = useRef<HTMLDivElement>(null)
  const found = useEffectEvent(onFound)
  useLayoutEffect(() => {
    const div = element.current
    div?.setAttribute('hidden', 'until-found')
    div?.addEventListener('beforematch', found)
    return () => div?.removeEventListener('beforematch', found)
  }, [])
  return (
    <div ref={element} hidden>
      {text}
    </div>
  )
}

/** The scrolling ancestor of an element. */
function scrollerOf(element: HTMLElement | null): HTMLElement | null {
  for (let parent = element?.parentElement ?? null; parent; parent = parent.parentElement)
    if (/auto|scroll/.test(getComputedStyle(parent).overflowY)) return parent
  return null
}

/** The distance of an element from the top of the page's content; what is above it can grow. */
function useScrollMargin(element: { readonly current: HTMLElement | null }): number {
  const [margin, setMargin] = useState(0)
  useLayoutEffect(() => {
    const scroller = scrollerOf(element.current)
    if (!scroller) return
    const measure = () => {
      const top = element.current?.getBoundingClientRect().top ?? 0
      setMargin(Math.round(top - scroller.getBoundingClientRect().top + scroller.scrollTop))
    }
    measure()
    const observer = new ResizeObserver(measure)
    for (let parent = element.current?.parentElement; parent && parent !== scroller; parent = parent.parentElement)
      observer.observe(parent)
    return () => observer.disconnect()
  }, [element])
  return margin
}
