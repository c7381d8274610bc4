import { useTranslations } from 'use-intl'
import { type Filter, takesList } from '../api/filter-tree.ts'
import { useOrganization } from '../api/me.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { type Property, textProperty } from './columns.tsx'
import { isMultiChoice } from './editing.ts'
import { countedOf, periods, relativeNames, units } from './filter-draft.ts'
import { isReference, isTime } from './filter-sentence.tsx'
import styles from './list.module.css'
import { PropertyInput } from './property-input.tsx'
import { isChosen, useOptions } from './value-editor.tsx'

/** References are chosen, not typed: only equality makes sense for people. */
export function operatorsOf(property: Property | undefined): readonly string[] {
  const operators = property?.operators ?? []
  if (isReference(property)) return operators.filter((operator) => operator === 'equals' || operator === 'not')
  return isTime(property) ? [...relativeNames, ...operators] : operators
}

export function emptyFilter(property: Property | undefined): Filter {
  const operators = property?.operators ?? []
  const isTyped = property?.type === 'text' || property?.type === 'email' || property?.type === 'longText'
  const operator = isTyped && operators.includes('contains') ? 'contains' : (operators[0] ?? 'equals')
  const value = property?.type === 'boolean' ? 'true' : ''
  return { field: property?.filterBy ?? '', operator, value }
}

/** The value after the operator has changed: some operators have values that others do not understand. */
export function valueFor(operator: string, { operator: before, value }: Filter): string {
  if (operator === 'isEmpty') return 'true'
  if (operator === 'period') return 'thisMonth'
  if (isCounted(operator)) return isCounted(before) ? value : '30 days'
  return before === 'isEmpty' || relativeNames.includes(before) ? '' : value
}

const isCounted = (operator: string): boolean => operator !== 'period' && relativeNames.includes(operator)

interface FilterValueProps {
  property: Property | undefined
  filter: Filter
  onChange(value: string): void
}

const singleValued = new Set(['equals', 'not'])

/** The input for the value of a condition, by the type of its property. */
export function FilterValue({ property, filter, onChange }: FilterValueProps) {
  const t = useTranslations('list')
  const common = useTranslations('common')
  const label = t('value')
  const choices = useOptions(property ?? textProperty('', ''))
  if (relativeNames.includes(filter.operator)) return <RelativeDate filter={filter} onChange={onChange} />
  if (filter.operator === 'isEmpty' || property?.type === 'boolean') {
    const options = [
      { value: 'true', label: common('yes') },
      { value: 'false', label: common('no') },
    ]
    return (
      <SelectField
        label={label}
        options={options}
        value={filter.value}
        onChange={(event) => onChange(event.target.value)}
      />
    )
  }
  if (property && isReference(property))
    return (
      <PropertyInput
        property={property}
        value={filter.value}
        error={undefined}
        onChange={(id) => onChange(String(id ?? 'null'))}
      />
    )
  const isOneOfSeveral = property && isMultiChoice(property) && filter.operator === 'has'
  if (isOneOfSeveral || (property && isChosen(property) && singleValued.has(filter.operator))) {
    const options = choices
      .filter(({ value }) => value !== '' || !isOneOfSeveral)
      .map((option) => (option.value === '' ? { value: 'null', label: common('none') } : option))
    return (
      <SelectField
        label={label}
        options={[{ value: '', label: '' }, ...options]}
        value={filter.value}
        onChange={(event) => onChange(event.target.value)}
      />
    )
  }
  const type = isTime(property) ? 'date' : 'text'
  return (
    <TextField
      label={label}
      type={type}
      value={type === 'date' ? filter.value.slice(0, 10) : filter.value}
      onChange={(event) => onChange(event.target.value)}
      {...((takesList(filter.operator) || filter.operator === 'has') && { hint: t('commaHint') })}
    />
  )
}

/** A number of days, weeks…, or a period of the calendar. */
function RelativeDate({ filter, onChange }: Omit<FilterValueProps, 'property'>) {
  const t = useTranslations('filters')
  const list = useTranslations('list')
  const { timeZone } = useOrganization()
  const zone = t('zone', { zone: timeZone })
  if (!isCounted(filter.operator))
    return (
      <SelectField
        label={list('value')}
        hint={zone}
        options={periods.map((period) => ({ value: period, label: t(`periods.${period}`) }))}
        value={filter.value}
        onChange={(event) => onChange(event.target.value)}
      />
    )
  const { count, unit } = countedOf(filter.value)
  return (
    <div className={styles.counted}>
      <TextField
        label={t('count')}
        type="number"
        min={1}
        max={1000}
        value={count}
        onChange={(event) => onChange(`${event.target.value} ${unit}`)}
      />
      <SelectField
        label={t('unit')}
        options={units.map((one) => ({ value: one, label: t(`units.${one}`) }))}
        value={unit}
        onChange={(event) => onChange(`${count} ${event.target.value}`)}
      />
      <p className={styles.hint}>{zone}</p>
    </div>
  )
}
