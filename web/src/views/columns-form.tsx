import { ArrowDown, ArrowUp, Minus, Pin, PinOff, Plus } from 'lucide-react'
import { useTranslations } from 'use-intl'
import type { ResourceSchema } from '../api/schema.ts'
import { usePropertyLabel } from '../messages/labels.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { maxColumnWidth, minColumnWidth, moveColumn } from '../ui/data-grid/grid-model.ts'
import { CheckField } from '../ui/field.tsx'
import { propertiesOf } from './columns.tsx'
import { type Column, columnFor, defaultColumns, pinnedFirst } from './list-state.ts'
import styles from './list.module.css'

const widthStep = 20

export interface ColumnsFormProps {
  resource: ResourceSchema
  columns: readonly Column[]
  /** Computes the new columns from the current ones, with earlier changes applied. */
  onChange(changed: (columns: readonly Column[]) => readonly Column[]): void
}

/** Selects, orders and resizes columns: everything that the mouse can do in the grid's head. */
export function ColumnsForm({ resource, columns, onChange }: ColumnsFormProps) {
  const t = useTranslations('list')
  const labelOf = usePropertyLabel()
  const properties = propertiesOf(resource)
  const labelFor = (name: string) => {
    const property = properties.find((one) => one.name === name)
    return property ? labelOf(property) : name
  }
  const hidden = properties.filter(({ name }) => !columns.some((column) => column.name === name))
  const replace = (name: string, changes: (column: Column) => Partial<Column>) =>
    onChange((before) =>
      pinnedFirst(before.map((column) => (column.name === name ? { ...column, ...changes(column) } : column))),
    )
  const hide = (name: string) =>
    onChange((before) => (before.length > 1 ? before.filter((column) => column.name !== name) : before))
  const add = (name: string) =>
    onChange((before) =>
      before.some((column) => column.name === name) ? before : [...before, columnFor(resource, name)],
    )
  const widen = (name: string, step: number) =>
    replace(name, ({ width }) => ({ width: Math.min(Math.max(width + step, minColumnWidth), maxColumnWidth) }))
  /** Moves a column by this many positions. */
  const move = (name: string, places: number) =>
    onChange((before) => {
      const index = before.findIndex((column) => column.name === name)
      return moveColumn(before, name, before[index + places]?.name)
    })
  return (
    <div className={styles.columns}>
      {columns.map(({ name, width, isPinned }, index) => {
        const label = labelFor(name)
        return (
          <div key={name} className={styles.columnRow}>
            <CheckField label={label} checked disabled={columns.length === 1} onChange={() => hide(name)} />
            <IconButton
              icon={Minus}
              label={t('narrower', { name: label })}
              disabled={width <= minColumnWidth}
              onClick={() => widen(name, -widthStep)}
            />
            <IconButton
              icon={Plus}
              label={t('wider', { name: label })}
              disabled={width >= maxColumnWidth}
              onClick={() => widen(name, widthStep)}
            />
            <IconButton
              icon={ArrowUp}
              label={t('moveUp', { name: label })}
              disabled={index === 0}
              onClick={() => move(name, -1)}
            />
            <IconButton
              icon={ArrowDown}
              label={t('moveDown', { name: label })}
              disabled={index === columns.length - 1}
              onClick={() => move(name, 2)}
            />
            <IconButton
              icon={isPinned ? PinOff : Pin}
              label={t(isPinned ? 'unpinNamed' : 'pinNamed', { name: label })}
              aria-pressed={isPinned}
              onClick={() => replace(name, (column) => ({ isPinned: !column.isPinned }))}
            />
          </div>
        )
      })}
      {hidden.map(({ name }) => (
        <CheckField key={name} label={labelFor(name)} checked={false} onChange={() => add(name)} />
      ))}
      <Button kind="quiet" onClick={() => onChange(() => defaultColumns(resource))}>
        {t('resetColumns')}
      </Button>
    </div>
  )
}
