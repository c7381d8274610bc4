import { memo } from 'react'
import { useTranslations } from 'use-intl'
import { classes } from '../classes.ts'
import styles from './data-grid.module.css'
import type { ActiveCell, EditMove, GridColumn } from './grid-model.ts'
import { pinnedOffsets } from './grid-head.tsx'

interface GridRowProps<Row extends { id: string }> {
  /** Undefined while loading. */
  row: Row | undefined
  index: number
  /** Offset from the first row, in pixels. */
  top: number
  width: number
  columns: readonly GridColumn<Row>[]
  title: string
  isSelected: boolean
  isPeeked: boolean
  activeColumn: string | undefined
  editing: { cell: ActiveCell; typed: string | undefined } | undefined
  /** The same object on every render. */
  actions: RowActions
}

/** Actions on the rows of the grid. */
export interface RowActions {
  activate(index: number, column: string): void
  edit(index: number, column: string): void
  endEdit(move?: EditMove): void
  toggle(id: string, isRange: boolean): void
  selectAll(isChecked: boolean): void
}

/** Memoized per row, because a key press or a scroll affects few rows. */
export const GridRow = memo(GridRowContent) as typeof GridRowContent

function GridRowContent<Row extends { id: string }>(props: GridRowProps<Row>) {
  const { row, index, top, width, columns, title, isSelected, isPeeked, activeColumn, editing, actions } = props
  const t = useTranslations('list')
  const offsets = pinnedOffsets(columns)
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      aria-busy={row === undefined || undefined}
      data-open={isPeeked || undefined}
      className={styles.row}
      style={{ transform: `translateY(${top}px)`, width, minWidth: '100%' }}
    >
      <div role="gridcell" className={classes(styles.cell, styles.pinned, styles.select)} style={{ width: 40 }}>
        {row && (
          <label>
            <input
              type="checkbox"
              tabIndex={-1}
              checked={isSelected}
              aria-label={t('selectRow', { title })}
              onClick={(event) => actions.toggle(row.id, event.shiftKey)}
              onChange={() => undefined}
            />
          </label>
        )}
      </div>
      {columns.map((column) => {
        const isEditing = editing?.cell.column === column.name
        const left = offsets.get(column.name)
        return (
          <div
            key={column.name}
            id={`cell-${index}-${column.name}`}
            role="gridcell"
            tabIndex={-1}
            data-active={activeColumn === column.name || undefined}
            data-editing={isEditing || undefined}
            className={classes(styles.cell, left !== undefined && styles.pinned)}
            style={{ width: column.width, ...(left !== undefined && { left }) }}
            onMouseDown={(event) => {
              // Keep the focus on the grid, except in inputs and on links.
              if (!isEditing && !(event.target instanceof Element && event.target.closest('a, button, input'))) {
                event.preventDefault()
                event.currentTarget.closest<HTMLElement>('[role=grid]')?.focus({ preventScroll: true })
              }
              actions.activate(index, column.name)
            }}
            onDoubleClick={() => actions.edit(index, column.name)}
          >
            {row === undefined ? (
              <span className={styles.skeleton} />
            ) : isEditing && column.edit ? (
              column.edit(row, {
                typed: editing.typed,
                commit: (_value, move) => actions.endEdit(move),
                cancel: (move) => actions.endEdit(move),
              })
            ) : (
              column.render(row)
            )}
          </div>
        )
      })}
    </div>
  )
}
