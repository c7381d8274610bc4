import { GripVertical } from 'lucide-react'
import { type KeyboardEvent, type PointerEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { classes } from './classes.ts'
import styles from './sortable-list.module.css'

interface SortableListProps<Item extends { id: string }> {
  /** Its name for assistive technology. */
  label: string
  items: readonly Item[]
  titleOf(item: Item): string
  /** Called with the new index among the other items. Undefined if the person may not reorder them. */
  onMove: ((id: string, index: number) => void) | undefined
  /** May the person move this item? By default, all of them. */
  canMove?(item: Item): boolean
  children(item: Item): ReactNode
}

interface Drag {
  id: string
  index: number
}

/** A list that people can reorder: each row has a handle to drag, and arrow keys on the handle move the row. */
export function SortableList<Item extends { id: string }>(props: SortableListProps<Item>) {
  const { label, items, titleOf, onMove, canMove = () => true, children } = props
  const t = useTranslations('board')
  const list = useRef<HTMLUListElement>(null)
  const [drag, setDrag] = useState<Drag>()
  const [announcement, setAnnouncement] = useState('')
  const focusOn = useRef<string>(undefined)
  useLayoutEffect(() => {
    const handle = focusOn.current && list.current?.querySelector<HTMLElement>(`[data-handle="${focusOn.current}"]`)
    if (!handle) return
    focusOn.current = undefined
    handle.focus()
  })
  const move = (id: string, index: number) => {
    const item = items.find((one) => one.id === id)
    if (!item || !onMove || index < 0 || index >= items.length || items[index]?.id === id) return
    focusOn.current = id
    setAnnouncement(t('position', { title: titleOf(item), position: index + 1, count: items.length }))
    onMove(id, index)
  }
  const onKeyDown = (event: KeyboardEvent, id: string) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key]
    if (event.key === 'Escape' && drag) return setDrag(undefined)
    if (step === undefined) return
    event.preventDefault()
    move(id, items.findIndex((item) => item.id === id) + step)
  }
  const indexAt = (y: number): number => {
    const rows = [...(list.current?.children ?? [])].map((row) => row.getBoundingClientRect())
    const below = rows.findIndex(({ bottom }) => y < bottom)
    return below === -1 ? items.length - 1 : below
  }
  const others = items.filter(({ id }) => id !== drag?.id)
  const dragged = items.find(({ id }) => id === drag?.id)
  const shown = drag && dragged ? others.toSpliced(drag.index, 0, dragged) : items
  const follow = (event: PointerEvent) => {
    const index = drag && indexAt(event.clientY)
    if (drag && index !== undefined && index !== drag.index) setDrag({ ...drag, index })
  }
  const drop = () => {
    if (drag) move(drag.id, drag.index)
    setDrag(undefined)
  }
  return (
    <>
      <ul ref={list} className={styles.list} aria-label={label}>
        {shown.map((item, index) => (
          <li key={item.id} className={classes(styles.row, item.id === drag?.id && styles.dragged)}>
            {onMove && canMove(item) && (
              <button
                type="button"
                data-handle={item.id}
                className={styles.handle}
                aria-label={t('handle', { title: titleOf(item) })}
                onKeyDown={(event) => onKeyDown(event, item.id)}
                onPointerDown={(event) => {
                  event.currentTarget.setPointerCapture(event.pointerId)
                  setDrag({ id: item.id, index })
                }}
                onPointerMove={follow}
                onPointerUp={drop}
                onPointerCancel={() => setDrag(undefined)}
              >
                <GripVertical size={15} strokeWidth={1.75} aria-hidden />
              </button>
            )}
            {children(item)}
          </li>
        ))}
      </ul>
      <p aria-live="assertive" className="visually-hidden">
        {announcement}
      </p>
    </>
  )
}
