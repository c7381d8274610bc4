import { X } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useSchema } from '../../api/schema.ts'
import { Button } from '../../ui/button.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import styles from '../audit-log.module.css'
import { DateField } from '../date-field.tsx'
import { endOfDay, startOfDay, toDateInput } from '../dates.ts'
import type { useSectionSearch } from '../location.ts'
import { deliveryStatuses, type Webhook } from './data.ts'
import { everything, namedBy, typesOf, useEventLabel } from './event-types.ts'

/** Values by the names of the API's parameters. */
export type Filters = Readonly<Record<string, string>>

const status = 'filter.status.equals'
const type = 'filter.type.equals'
const record = 'filter.recordId.equals'
const from = 'filter.createdAt.gte'
const until = 'filter.createdAt.lte'
const names: readonly string[] = [status, type, record, from, until]

export const filtersOf = (search: ReturnType<typeof useSectionSearch>): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = search[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )

interface DeliveryFiltersProps {
  webhook: Webhook
  filters: Filters
  onChange(filters: Record<string, string>): void
}

/** Filters by status, type, record and time. */
export function DeliveryFilters({ webhook: { events }, filters, onChange }: DeliveryFiltersProps) {
  const t = useTranslations('settings.webhooks')
  const audit = useTranslations('settings.audit')
  const common = useTranslations('common')
  const labelOf = useEventLabel()
  const schema = useSchema()
  const resources = events.includes(everything) ? schema : namedBy(events, schema)
  const types = new Set([...resources.flatMap(typesOf), ...(filters[type] === undefined ? [] : [filters[type]])])
  const set = (name: string, value: string | undefined) => {
    const { [name]: _, ...others } = filters
    onChange({ ...others, ...(value && { [name]: value }) })
  }
  return (
    <search aria-label={t('filters')}>
      <div className={styles.filters}>
        <SelectField
          label={t('deliveryStatusLabel')}
          value={filters[status] ?? ''}
          onChange={(event) => set(status, event.target.value)}
          options={[
            { value: '', label: t('anyStatus') },
            ...deliveryStatuses.map((value) => ({ value, label: t(`deliveryStatus.${value}`) })),
          ]}
        />
        <SelectField
          label={t('eventType')}
          value={filters[type] ?? ''}
          onChange={(event) => set(type, event.target.value)}
          options={[
            { value: '', label: t('anyType') },
            ...[...types].map((value) => ({ value, label: labelOf(value) })),
          ]}
        />
        <RecordField
          key={filters[record]}
          label={t('recordId')}
          value={filters[record] ?? ''}
          onChange={(id) => set(record, id)}
        />
        <DateField
          label={audit('from')}
          value={toDateInput(filters[from]) ?? ''}
          onChange={(day) => set(from, startOfDay(day))}
        />
        <DateField
          label={audit('until')}
          value={toDateInput(filters[until]) ?? ''}
          onChange={(day) => set(until, endOfDay(day))}
        />
      </div>
      {Object.keys(filters).length > 0 && (
        <div className={styles.recordFilter}>
          <Button kind="quiet" icon={X} onClick={() => onChange({})}>
            {common('clearFilters')}
          </Button>
        </div>
      )}
    </search>
  )
}

/** An id that is usually pasted. It filters when it is complete: with Enter, or when the input is left. */
function RecordField({ label, value, onChange }: { label: string; value: string; onChange(id: string): void }) {
  const [text, setText] = useState(value)
  const apply = () => {
    if (text.trim() !== value) onChange(text.trim())
  }
  return (
    <TextField
      label={label}
      value={text}
      placeholder="con_…"
      onChange={(event) => setText(event.target.value)}
      onBlur={apply}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && !event.nativeEvent.isComposing) apply()
      }}
    />
  )
}
