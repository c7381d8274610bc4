import { ArrowDown, ArrowUp, ArrowUpDown } from 'lucide-react'
import { useTranslations } from 'use-intl'
import type { ResourceSchema } from '../api/schema.ts'
import { usePropertyLabel } from '../messages/labels.ts'
import { Button } from '../ui/button.tsx'
import type { GridOrder } from '../ui/data-grid/grid-model.ts'
import { SelectField } from '../ui/field.tsx'
import { Popover } from '../ui/popover.tsx'
import { propertiesOf } from './columns.tsx'
import styles from './list.module.css'

interface SortMenuProps {
  resource: ResourceSchema
  order: GridOrder
  onSort(order: GridOrder): void
}

/** By which property, and in which direction. */
export function SortMenu({ resource, order, onSort }: SortMenuProps) {
  const t = useTranslations('list')
  const labelOf = usePropertyLabel()
  const options = propertiesOf(resource).flatMap((property) =>
    property.orderBy === undefined ? [] : [{ value: property.orderBy, label: labelOf(property) }],
  )
  const current = options.find(({ value }) => value === order.orderBy)?.label ?? order.orderBy
  const Direction = order.sort === 'asc' ? ArrowUp : ArrowDown
  return (
    <Popover
      label={t('sort')}
      align="end"
      trigger={
        <Button kind="quiet" icon={ArrowUpDown} aria-label={t('sortedBy', { name: current })}>
          <span className={styles.hideOnPhone}>{current}</span>
          <Direction size={13} strokeWidth={2} aria-hidden />
        </Button>
      }
    >
      <div className={styles.filterForm}>
        <SelectField
          label={t('sortBy')}
          options={options}
          value={order.orderBy}
          onChange={(event) => onSort({ ...order, orderBy: event.target.value })}
        />
        <SelectField
          label={t('direction')}
          options={[
            { value: 'asc', label: t('ascending') },
            { value: 'desc', label: t('descending') },
          ]}
          value={order.sort}
          onChange={(event) => onSort({ ...order, sort: event.target.value === 'asc' ? 'asc' : 'desc' })}
        />
      </div>
    </Popover>
  )
}
