import type { KeyboardEvent } from 'react'
import { sequenceTimeout } from '../keys.tsx'
import { type ActiveCell, type GridSelection, nothingSelected, selectRange, toggleRow } from './grid-model.ts'

interface GridKeys {
  columnNames: readonly string[]
  rowCount: number
  /** Number of rows on a screen. */
  pageSize: number
  /** -1 if no row is active. */
  activeIndex: number
  activeColumn: string | undefined
  idAt(index: number): string | undefined
  selection: GridSelection
  select(selection: GridSelection): void
  /** Activates a cell; its row may not be loaded yet. */
  moveTo(index: number, column: string): void
  /** Starts to edit the active cell; false if it cannot be edited. */
  edit(active: ActiveCell, typed?: string): boolean
  open(id: string): void
  peek(id: string): void
  isPeeking: boolean
  closePeek(): void
}

/** The keys of the grid (WAI-ARIA grid pattern, plus `j`, `k`, `x` and Space as in other list applications). */
export function createGridKeys(grid: GridKeys): (event: KeyboardEvent) => void {
  const { columnNames, rowCount, pageSize, selection } = grid
  const row = Math.max(grid.activeIndex, 0)
  const column = Math.max(columnNames.indexOf(grid.activeColumn ?? ''), 0)
  const id = grid.activeIndex === -1 ? undefined : grid.idAt(grid.activeIndex)
  const goTo = (nextRow: number, nextColumn = column) => {
    const index = Math.min(Math.max(nextRow, 0), rowCount - 1)
    const name = columnNames[Math.min(Math.max(nextColumn, 0), columnNames.length - 1)]
    if (name !== undefined && rowCount > 0) grid.moveTo(index, name)
    return index
  }
  const extend = (nextRow: number) => {
    const index = goTo(nextRow)
    const to = grid.idAt(index)
    if (to === undefined || id === undefined) return
    const ids = idsBetween(grid.idAt, Math.min(row, index), Math.max(row, index))
    const from = selection.anchor === undefined ? { ...selection, anchor: id } : selection
    grid.select({ ...selectRange({ ...from, anchor: id }, ids, to), anchor: to })
  }
  const first = grid.activeIndex === -1
  const moves: Record<string, () => void> = {
    ArrowDown: () => void goTo(first ? 0 : row + 1),
    ArrowUp: () => void goTo(row - 1),
    ArrowLeft: () => void goTo(row, column - 1),
    ArrowRight: () => void goTo(row, column + 1),
    j: () => void goTo(first ? 0 : row + 1),
    k: () => void goTo(row - 1),
    Home: () => void goTo(row, 0),
    End: () => void goTo(row, columnNames.length - 1),
    PageDown: () => void goTo(row + pageSize),
    PageUp: () => void goTo(row - pageSize),
    'Mod+Home': () => void goTo(0, 0),
    'Mod+End': () => void goTo(rowCount - 1, columnNames.length - 1),
    'Shift+ArrowDown': () => extend(row + 1),
    'Shift+ArrowUp': () => extend(row - 1),
    x: () => id !== undefined && grid.select(toggleRow(selection, id)),
    ' ': () => id !== undefined && (grid.isPeeking ? grid.closePeek() : grid.peek(id)),
    Escape: () => (grid.isPeeking ? grid.closePeek() : grid.select(nothingSelected)),
    Enter: () => {
      if (id === undefined || grid.activeColumn === undefined) return
      if (grid.isPeeking || !grid.edit({ id, column: grid.activeColumn })) grid.open(id)
    },
  }
  return (event) => {
    if (event.target !== event.currentTarget || event.altKey || event.nativeEvent.isComposing) return
    const modifier = event.ctrlKey || event.metaKey ? 'Mod+' : event.shiftKey && event.key.length > 1 ? 'Shift+' : ''
    const move = moves[modifier + event.key]
    if (move) {
      event.preventDefault()
      move()
      return
    }
    const isText = event.key.length === 1 && modifier === '' && !isShortcut(event)
    if (!isText || id === undefined || grid.activeColumn === undefined) return
    if (grid.edit({ id, column: grid.activeColumn }, event.key)) event.preventDefault()
  }
}

/** Keys of the page's shortcuts, which do not start an edit. */
const shortcuts = new Set(['c', 'f', '?', '/'])
/** When `g` was last pressed: the next key selects the destination. */
let sequenceBegan = Number.NEGATIVE_INFINITY

function isShortcut({ key, timeStamp }: KeyboardEvent): boolean {
  const isSequence = timeStamp - sequenceBegan < sequenceTimeout
  sequenceBegan = key === 'g' ? timeStamp : Number.NEGATIVE_INFINITY
  return isSequence || key === 'g' || shortcuts.has(key)
}

const idsBetween = (idAt: (index: number) => string | undefined, from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, offset) => idAt(from + offset)).filter((id) => id !== undefined)
