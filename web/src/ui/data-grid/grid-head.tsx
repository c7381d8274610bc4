import { ArrowDown, ArrowDownAZ, ArrowLeft, ArrowRight, ArrowUp, ArrowUpAZ, EyeOff, Pin, PinOff } from 'lucide-react'
import { type DragEvent, memo, type PointerEvent, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { classes } from '../classes.ts'
import { Menu, MenuItem, MenuSeparator } from '../menu.tsx'
import styles from './data-grid.module.css'
import { type GridColumn, type GridOrder, maxColumnWidth, minColumnWidth } from './grid-model.ts'

export interface ColumnChanges {
  sort(order: GridOrder): void
  resize(name: string, width: number): void
  /** The column before which to drop; undefined for the end. */
  move(name: string, before: string | undefined): void
  pin(name: string, isPinned: boolean): void
  hide(name: string): void
}

interface GridHeadProps<Row> {
  columns: readonly GridColumn<Row>[]
  order: GridOrder
  changes: ColumnChanges
  isAllSelected: boolean
  onSelectAll(isChecked: boolean): void
}

const selectWidth = 40

/** The left edge of each pinned column, in pixels. */
export function pinnedOffsets(
  columns: readonly { name: string; width: number; isPinned: boolean }[],
): Map<string, number> {
  const offsets = new Map<string, number>()
  let left = selectWidth
  for (const { name, width, isPinned } of columns) {
    if (!isPinned) continue
    offsets.set(name, left)
    left += width
  }
  return offsets
}

/** Memoized on columns, order and selection. */
export const GridHead = memo(GridHeadContent) as typeof GridHeadContent

function GridHeadContent<Row>({ columns, order, changes, isAllSelected, onSelectAll }: GridHeadProps<Row>) {
  const t = useTranslations('list')
  const offsets = pinnedOffsets(columns)
  return (
    <div role="rowgroup" className={styles.head}>
      <div role="row" aria-rowindex={1} className={styles.row}>
        <div
          role="columnheader"
          className={classes(styles.cell, styles.pinned, styles.select)}
          style={{ width: selectWidth }}
        >
          <label>
            <input
              type="checkbox"
              tabIndex={-1}
              checked={isAllSelected}
              aria-label={t('selectLoaded')}
              onChange={(event) => onSelectAll(event.target.checked)}
            />
          </label>
        </div>
        {columns.map((column, index) => (
          <HeadCell
            key={column.name}
            column={column}
            neighbours={{ previous: columns[index - 1]?.name, afterNext: columns[index + 2]?.name }}
            left={offsets.get(column.name)}
            order={order}
            changes={changes}
          />
        ))}
      </div>
    </div>
  )
}

interface HeadCellProps<Row> {
  column: GridColumn<Row>
  neighbours: { previous: string | undefined; afterNext: string | undefined }
  left: number | undefined
  order: GridOrder
  changes: ColumnChanges
}

function HeadCell<Row>({ column, neighbours, left, order, changes }: HeadCellProps<Row>) {
  const t = useTranslations('list')
  const { name, title, icon: Icon, isPinned, orderBy } = column
  const [isDropping, setDropping] = useState(false)
  const isOrder = order.orderBy === orderBy
  const SortIcon = order.sort === 'asc' ? ArrowUp : ArrowDown
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setDropping(false)
    changes.move(event.dataTransfer.getData(dragType), name)
  }
  return (
    <div
      role="columnheader"
      tabIndex={-1}
      aria-sort={isOrder ? (order.sort === 'asc' ? 'ascending' : 'descending') : undefined}
      className={classes(styles.cell, styles.headCell, left !== undefined && styles.pinned)}
      style={{ width: column.width, ...(left !== undefined && { left }) }}
      data-dropping={isDropping || undefined}
      draggable
      onDragStart={(event) => event.dataTransfer.setData(dragType, name)}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes(dragType)) return
        event.preventDefault()
        setDropping(true)
      }}
      onDragLeave={() => setDropping(false)}
      onDrop={drop}
    >
      <Menu
        trigger={
          <button type="button" tabIndex={-1} data-print className={styles.heading}>
            <Icon size={14} strokeWidth={1.75} aria-hidden />
            <span className="truncate">{title}</span>
            {isOrder && <SortIcon size={13} strokeWidth={2} aria-hidden />}
          </button>
        }
      >
        {orderBy !== undefined && (
          <>
            <MenuItem icon={ArrowUpAZ} onSelect={() => changes.sort({ orderBy, sort: 'asc' })}>
              {t('sortAscending')}
            </MenuItem>
            <MenuItem icon={ArrowDownAZ} onSelect={() => changes.sort({ orderBy, sort: 'desc' })}>
              {t('sortDescending')}
            </MenuItem>
            <MenuSeparator />
          </>
        )}
        <MenuItem
          icon={ArrowLeft}
          disabled={neighbours.previous === undefined}
          onSelect={() => changes.move(name, neighbours.previous)}
        >
          {t('moveLeft')}
        </MenuItem>
        <MenuItem icon={ArrowRight} onSelect={() => changes.move(name, neighbours.afterNext)}>
          {t('moveRight')}
        </MenuItem>
        <MenuItem icon={isPinned ? PinOff : Pin} onSelect={() => changes.pin(name, !isPinned)}>
          {t(isPinned ? 'unpin' : 'pin')}
        </MenuItem>
        <MenuItem icon={EyeOff} onSelect={() => changes.hide(name)}>
          {t('hideColumn')}
        </MenuItem>
      </Menu>
      <ResizeHandle width={column.width} onResize={(width) => changes.resize(name, width)} />
    </div>
  )
}

const dragType = 'application/x-rapport-column'

/** Resizes a column by its right edge. With the keyboard, use the columns menu of the toolbar. */
function ResizeHandle({ width, onResize }: { width: number; onResize(width: number): void }) {
  const drag = useRef<{ x: number; width: number }>(undefined)
  const begin = (event: PointerEvent<HTMLDivElement>) => {
    event.preventDefault()
    event.stopPropagation()
    event.currentTarget.setPointerCapture(event.pointerId)
    drag.current = { x: event.clientX, width }
  }
  const move = (event: PointerEvent) => {
    if (!drag.current) return
    const wanted = drag.current.width + event.clientX - drag.current.x
    onResize(Math.round(Math.min(Math.max(wanted, minColumnWidth), maxColumnWidth)))
  }
  return (
    <div
      aria-hidden
      className={styles.resize}
      draggable
      onDragStart={(event) => {
        event.preventDefault()
        event.stopPropagation()
      }}
      onPointerDown={begin}
      onPointerMove={move}
      onPointerUp={() => (drag.current = undefined)}
    />
  )
}
