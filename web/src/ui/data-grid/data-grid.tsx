import { useVirtualizer } from '@tanstack/react-virtual'
import { type CSSProperties, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { classes } from '../classes.ts'
import { returnFocus } from '../focus.ts'
import styles from './data-grid.module.css'
import {
  type ActiveCell,
  type EditMove,
  type GridColumn,
  type GridOrder,
  type GridSelection,
  selectRange,
  toggleRow,
} from './grid-model.ts'
import { type ColumnChanges, GridHead } from './grid-head.tsx'
import { GridRow, type RowActions } from './grid-row.tsx'
import { useIsPrinting } from '../use-printing.ts'
import { createGridKeys } from './use-grid-keys.ts'

const headHeight = 36
const selectWidth = 40

/** Scroll position and active cell; stored by the page, so that Back restores them. */
export interface GridPosition {
  offset: number
  active: ActiveCell | undefined
}

interface DataGridProps<Row extends { id: string }> {
  /** Its name for assistive technology. */
  label: string
  columns: readonly GridColumn<Row>[]
  /** In pixels. */
  rowHeight: number
  /** Not used for cards on phones. */
  isHeadHidden?: boolean
  rowCount: number
  /** Undefined while loading: a skeleton is shown. */
  rowAt(index: number): Row | undefined
  /** -1 if it is not loaded. */
  indexOf(id: string): number
  /** Called with the visible rows whenever they change. */
  onNeed(first: number, last: number): void
  /** The accessible name of a row. */
  titleOf(row: Row): string
  order: GridOrder
  /** Change with the displayed records and with their order; the grid then scrolls to the top. */
  recordsKey: string
  orderKey: string
  columnChanges: ColumnChanges
  selection: GridSelection
  onSelect(selection: GridSelection): void
  /** All loaded ids in order, for "select all". */
  loadedIds(): readonly string[]
  onOpen(id: string): void
  /** The row in the side panel. */
  peeked: string | undefined
  onPeek(id: string | undefined): void
  /** The position when these records were last shown. */
  startPosition(): GridPosition
  onMove(position: Partial<GridPosition>): void
  /** Shown below the head if there are no rows. */
  empty?: ReactNode
}

interface Active {
  index: number
  column: string
  /** Undefined until the row is loaded. */
  id: string | undefined
}

/**
 * A table of any length; only visible rows are in the document. There is one tab stop: unlike focus on a cell,
 * `aria-activedescendant` survives when a row leaves the document.
 */
export function DataGrid<Row extends { id: string }>(props: DataGridProps<Row>) {
  const { label, columns, rowHeight, rowCount, rowAt, indexOf, selection, onSelect, peeked, onPeek } = props
  const t = useTranslations('list')
  const scroller = useRef<HTMLDivElement>(null)
  const [start] = useState(props.startPosition)
  const [active, setActive] = useActive(props, start)
  const [editing, setEditing] = useState<{ cell: ActiveCell; typed: string | undefined }>()
  const virtualizer = useVirtualizer({
    count: rowCount,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 6,
    scrollPaddingEnd: headHeight,
    initialOffset: start.offset,
  })
  const isPrinting = useIsPrinting()
  const visible = virtualizer.getVirtualItems()
  const rows = isPrinting ? props.loadedIds().map((id) => ({ index: indexOf(id), start: 0 })) : visible
  const [first, last] = [visible[0]?.index ?? 0, visible.at(-1)?.index ?? 0]
  const { onNeed } = props
  useEffect(() => onNeed(first, last), [onNeed, first, last])

  const focusGrid = () => scroller.current?.focus({ preventScroll: true })
  const moveTo = (index: number, column: string) => {
    const id = rowAt(index)?.id
    setActive({ index, column, id })
    virtualizer.scrollToIndex(index)
    if (peeked !== undefined && id !== undefined) onPeek(id)
  }
  const edit = (cell: ActiveCell, typed?: string) => {
    const column = columns.find(({ name }) => name === cell.column)
    if (!column?.edit || indexOf(cell.id) === -1) return false
    setEditing({ cell, typed })
    return true
  }
  const endEdit = (move?: EditMove) => {
    // If the editor has already lost the focus, a click elsewhere ended it, and the focus belongs there.
    returnFocus(scroller.current, focusGrid)
    setEditing(undefined)
    if (!active || move === undefined) return
    const columnIndex = columns.findIndex(({ name }) => name === active.column)
    if (move === 'down') moveTo(Math.min(active.index + 1, rowCount - 1), active.column)
    else {
      const next = Math.min(Math.max(columnIndex + (move === 'left' ? -1 : 1), 0), columns.length - 1)
      moveTo(active.index, columns[next]?.name ?? active.column)
    }
  }
  const actions = useStableActions({
    activate(index, column) {
      const id = rowAt(index)?.id
      if (id === undefined) return
      setActive({ index, column, id })
      if (peeked !== undefined) onPeek(id)
    },
    edit(index, column) {
      const id = rowAt(index)?.id
      if (id !== undefined) edit({ id, column })
    },
    endEdit,
    selectAll: (isChecked) => onSelect({ ids: new Set(isChecked ? props.loadedIds() : []), anchor: undefined }),
    toggle: (id, isRange) =>
      onSelect(isRange ? selectRange(selection, props.loadedIds(), id) : toggleRow(selection, id)),
  })
  const onKeyDown = createGridKeys({
    columnNames: columns.map(({ name }) => name),
    rowCount,
    pageSize: Math.max(1, Math.floor(((scroller.current?.clientHeight ?? 400) - headHeight) / rowHeight) - 1),
    activeIndex: active?.index ?? -1,
    activeColumn: active?.column,
    idAt: (index) => rowAt(index)?.id,
    selection,
    select: onSelect,
    moveTo,
    edit,
    open: props.onOpen,
    peek: onPeek,
    isPeeking: peeked !== undefined,
    closePeek: () => onPeek(undefined),
  })
  // After Back, the arrow keys continue from the row that was active.
  useEffect(() => {
    const focused = document.activeElement
    if (start.active && (focused === document.body || focused?.id === 'main')) focusGrid()
    // Only on mount.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [])
  // Columns may be wider than the screen; a cell that becomes active must be visible, and not below the pinned ones.
  const activeKey = active && `${active.id ?? active.index} ${active.column}`
  useLayoutEffect(() => {
    document.getElementById(cellId(active))?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
    // Not on every render, because a person may scroll away from the active cell.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [activeKey])
  const activeIndex = active?.index
  const { recordsKey, orderKey } = props
  const shownBefore = useRef({ recordsKey, orderKey, activeIndex })
  useLayoutEffect(() => {
    const before = shownBefore.current
    shownBefore.current = { recordsKey, orderKey, activeIndex }
    const areOthers = before.recordsKey !== recordsKey
    const isVisible = before.activeIndex !== undefined && before.activeIndex >= first && before.activeIndex <= last
    const isHere = active?.id !== undefined && indexOf(active.id) !== -1
    const place = props.startPosition()
    if (areOthers && !isHere) {
      const restored = place.active
      setActive(restored && { ...restored, index: indexOf(restored.id) })
    }
    // A new order or a new row moves the active record; if it was visible, it stays visible.
    if (!areOthers && isVisible && isHere) {
      if (before.activeIndex !== activeIndex) virtualizer.scrollToIndex(activeIndex ?? 0)
    } else if (areOthers || before.orderKey !== orderKey) virtualizer.scrollToOffset(place.offset)
    // Scrolling alone must not bring the row back.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [recordsKey, orderKey, activeIndex])
  const width = props.isHeadHidden ? 0 : columns.reduce((sum, column) => sum + column.width, selectWidth)
  return (
    <div
      ref={scroller}
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={rowCount + 1}
      aria-colcount={columns.length + 1}
      aria-multiselectable
      aria-activedescendant={active && rowAt(active.index) ? cellId(active) : undefined}
      className={classes(
        styles.grid,
        selection.ids.size > 0 && styles.hasSelection,
        props.isHeadHidden && styles.hasCards,
      )}
      style={{ '--row': `${rowHeight}px` } as CSSProperties}
      onKeyDown={onKeyDown}
      onScroll={() => props.onMove({ offset: scroller.current?.scrollTop ?? 0 })}
    >
      {!props.isHeadHidden && (
        <GridHead
          columns={columns}
          order={props.order}
          changes={props.columnChanges}
          isAllSelected={selection.ids.size > 0 && selection.ids.size >= props.loadedIds().length}
          onSelectAll={actions.selectAll}
        />
      )}
      <div role="rowgroup" className={styles.body} style={{ height: virtualizer.getTotalSize(), minWidth: width }}>
        {rows.map(({ index, start }) => {
          const row = rowAt(index)
          return (
            <GridRow
              key={row?.id ?? `skeleton ${index}`}
              row={row}
              index={index}
              top={start}
              width={width}
              columns={columns}
              title={row ? props.titleOf(row) : t('loadingRow')}
              isSelected={row !== undefined && selection.ids.has(row.id)}
              isPeeked={row !== undefined && row.id === peeked}
              activeColumn={active?.index === index ? active.column : undefined}
              editing={editing && row?.id === editing.cell.id ? editing : undefined}
              actions={actions}
            />
          )
        })}
      </div>
      {Boolean(props.empty) && (
        <div role="row" className={styles.empty}>
          <div role="gridcell" className={styles.empty}>
            {props.empty}
          </div>
        </div>
      )}
    </div>
  )
}

const cellId = (active: Pick<Active, 'index' | 'column'> | undefined): string =>
  active ? `cell-${active.index}-${active.column}` : ''

/**
 * An object with a stable identity that always calls the latest render's functions, so that rows need not render again.
 */
function useStableActions(actions: RowActions): RowActions {
  const latest = useRef(actions)
  useLayoutEffect(() => {
    latest.current = actions
  })
  const [stable] = useState<RowActions>(() => ({
    activate: (index, column) => latest.current.activate(index, column),
    edit: (index, column) => latest.current.edit(index, column),
    endEdit: (move) => latest.current.endEdit(move),
    toggle: (id, isRange) => latest.current.toggle(id, isRange),
    selectAll: (isChecked) => latest.current.selectAll(isChecked),
  }))
  return stable
}

/** The active cell, which follows its record when rows are sorted, inserted or loaded. */
function useActive<Row extends { id: string }>(props: DataGridProps<Row>, start: GridPosition) {
  const { rowAt, indexOf, onMove } = props
  const [state, setState] = useState<Active | undefined>(() => {
    const restored = start.active
    return restored && { ...restored, index: indexOf(restored.id) }
  })
  const setActive = (next: Active | undefined) => {
    setState(next)
    onMove({ active: next?.id === undefined ? undefined : { id: next.id, column: next.column } })
  }
  if (!state) return [undefined, setActive] as const
  if (state.id === undefined) {
    const id = rowAt(state.index)?.id
    return [{ ...state, id }, setActive] as const
  }
  const index = indexOf(state.id)
  if (index !== -1) return [{ ...state, index }, setActive] as const
  // The row was deleted; the one that took its position is active.
  const id = rowAt(state.index)?.id
  return [{ ...state, id: id ?? state.id }, setActive] as const
}
