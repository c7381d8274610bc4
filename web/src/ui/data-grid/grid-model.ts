import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

export interface GridColumn<Row> {
  name: string
  title: string
  icon: LucideIcon
  /** In pixels. */
  width: number
  isPinned: boolean
  /** The value of `orderBy` for this column; undefined if it cannot be sorted. */
  orderBy: string | undefined
  render(row: Row): ReactNode
  /** The input that replaces the cell during editing; undefined if the value cannot be edited. */
  edit?: (row: Row, editing: CellEditing) => ReactNode
}

/** The cell that becomes active after an editor: below, or to either side. */
export type EditMove = 'down' | 'right' | 'left' | undefined

interface CellEditing {
  /** The character that started the editing; undefined to edit the existing value. */
  typed: string | undefined
  /** Saves the value, and activates another cell or none. Unchanged values are not sent. */
  commit(value: unknown, move?: EditMove): void
  cancel(move?: EditMove): void
}

/** The active cell; by the record's id, so that it survives sorting and loading. */
export interface ActiveCell {
  id: string
  column: string
}

export interface GridSelection {
  ids: ReadonlySet<string>
  /** The start of a range: the row selected last. */
  anchor: string | undefined
}

export const nothingSelected: GridSelection = { ids: new Set(), anchor: undefined }

export interface GridOrder {
  orderBy: string
  sort: 'asc' | 'desc'
}

export const minColumnWidth = 80
export const maxColumnWidth = 600

/** Selects the rows between the anchor and this one. */
export function selectRange(selection: GridSelection, ids: readonly string[], to: string): GridSelection {
  const from = ids.indexOf(selection.anchor ?? to)
  const end = ids.indexOf(to)
  if (from === -1 || end === -1) return { ids: new Set([...selection.ids, to]), anchor: to }
  const range = ids.slice(Math.min(from, end), Math.max(from, end) + 1)
  return { ids: new Set([...selection.ids, ...range]), anchor: selection.anchor ?? to }
}

/** Selects or deselects one row. */
export function toggleRow(selection: GridSelection, id: string): GridSelection {
  const ids = new Set(selection.ids)
  if (!ids.delete(id)) ids.add(id)
  return { ids, anchor: id }
}

/** Moves a column before another one, or to the end. Pinned columns stay in front. */
export function moveColumn<C extends { name: string; isPinned: boolean }>(
  columns: readonly C[],
  name: string,
  before: string | undefined,
): C[] {
  const moved = columns.find((column) => column.name === name)
  if (!moved || name === before) return [...columns]
  const others = columns.filter((column) => column !== moved)
  const index = others.findIndex((column) => column.name === before)
  others.splice(index === -1 ? others.length : index, 0, moved)
  return [...others.filter(({ isPinned }) => isPinned), ...others.filter(({ isPinned }) => !isPinned)]
}
