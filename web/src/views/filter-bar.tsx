import { ListFilter, X } from 'lucide-react'
import { type SubmitEvent, useRef, useState } from 'react'
import { useFormatter, useLocale, useTranslations } from 'use-intl'
import { type ResourceSchema, useSchema } from '../api/schema.ts'
import { useLabel } from '../messages/labels.ts'
import { useShortcuts } from '../shell/shortcuts.tsx'
import { Button, IconButton } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Popover } from '../ui/popover.tsx'
import { useChoiceLabel } from './choices.ts'
import { type Property, propertiesOf, propertyOf, textProperty } from './columns.tsx'
import type { Filter } from './list-state.ts'
import styles from './list.module.css'
import { PropertyInput } from './property-input.tsx'
import { ReferenceTitle } from './reference-title.tsx'
import { countryName, currencyName } from './value.tsx'
import { isChosen, useOptions } from './value-editor.tsx'

interface FilterBarProps {
  resource: ResourceSchema
  filters: readonly Filter[]
  onChange(filters: readonly Filter[]): void
}

/** One chip per filter, each a sentence, and a button for another one. Backspace on a chip removes it. */
export function FilterBar({ resource, filters, onChange }: FilterBarProps) {
  const t = useTranslations('list')
  const [openIndex, setOpenIndex] = useState<number>()
  const addButton = useRef<HTMLButtonElement>(null)
  useShortcuts([{ keys: 'f', label: t('addFilter'), run: () => setOpenIndex(filters.length) }])
  const remove = (index: number) => {
    onChange(filters.filter((_, other) => other !== index))
    addButton.current?.focus()
  }
  const popover = (index: number) => ({
    isOpen: openIndex === index,
    onOpenChange: (isOpen: boolean) => setOpenIndex(isOpen ? index : undefined),
  })
  return (
    <>
      {filters.map((filter, index) => (
        <span key={`${filter.field} ${filter.operator} ${filter.value}`} className={styles.chip}>
          <Popover
            label={t('editFilter')}
            {...popover(index)}
            trigger={
              <button
                type="button"
                className={styles.chipText}
                onKeyDown={(event) => {
                  if (event.key === 'Backspace' || event.key === 'Delete') remove(index)
                }}
              >
                <FilterSentence resource={resource} filter={filter} />
              </button>
            }
          >
            <FilterForm
              resource={resource}
              filter={filter}
              onApply={(changed) => {
                onChange(filters.map((one, other) => (other === index ? changed : one)))
                setOpenIndex(undefined)
              }}
            />
          </Popover>
          <IconButton icon={X} label={t('removeFilter')} onClick={() => remove(index)} />
        </span>
      ))}
      <Popover
        label={t('addFilter')}
        {...popover(filters.length)}
        trigger={
          <Button ref={addButton} kind="quiet" icon={ListFilter}>
            {t('filter')}
          </Button>
        }
      >
        <FilterForm
          resource={resource}
          filter={undefined}
          onApply={(added) => {
            onChange([...filters, added])
            setOpenIndex(undefined)
          }}
        />
      </Popover>
    </>
  )
}

/** `Status is active` */
function FilterSentence({ resource, filter }: { resource: ResourceSchema; filter: Filter }) {
  const labelOf = useLabel()
  const operatorLabel = useOperatorLabel()
  const valueLabel = useFilterValue()
  const property = propertyOf(resource, filter.field) ?? embeddedFor(resource, filter.field)
  // A filter by a linked record, such as a contact of a deal, has no property: its id says what it is.
  const linked = useSchema().find(({ idPrefix }) => !property && filter.value.startsWith(`${idPrefix}_`))
  const referenced = isReference(property) ? property?.resource : linked?.name
  return (
    <span className="truncate">
      {labelOf(property?.label ?? linked?.singularLabel ?? filter.field)} <em>{operatorLabel(filter.operator)}</em>{' '}
      <strong>
        {referenced !== undefined && filter.value.includes('_') ? (
          <ReferenceTitle resourceName={referenced} id={filter.value} />
        ) : (
          valueLabel(property, filter)
        )}
      </strong>
    </span>
  )
}

const isReference = (property: Property | undefined): boolean =>
  property?.type === 'embedded' || property?.type === 'reference'

/** A filter of a reference is about the record that the list shows in its place. */
const embeddedFor = (resource: ResourceSchema, field: string): Property | undefined =>
  propertiesOf(resource).find((property) => property.field?.name === field)

function useOperatorLabel(): (operator: string) => string {
  const t = useTranslations('operators')
  return (operator) => (t.has(operator as never) ? t(operator as never) : operator)
}

function useFilterValue(): (property: Property | undefined, filter: Filter) => string {
  const t = useTranslations('common')
  const format = useFormatter()
  const locale = useLocale()
  const choiceLabel = useChoiceLabel()
  return (property, { value }) => {
    if (value === 'null') return t('none')
    if (value === 'true') return t('yes')
    if (value === 'false') return t('no')
    if (property?.type === 'choice') return value.split(',').map(choiceLabel).join(', ')
    if (property?.type === 'country')
      return value
        .split(',')
        .map((code) => countryName(code, locale))
        .join(', ')
    if (property?.type === 'currency')
      return value
        .split(',')
        .map((code) => currencyName(code, locale))
        .join(', ')
    const isTime = property?.type === 'timestamp' || property?.type === 'date'
    if (isTime && !Number.isNaN(Date.parse(value)))
      return format.dateTime(new Date(value), {
        dateStyle: 'medium',
        ...(value.includes('T') ? {} : { timeZone: 'UTC' }),
      })
    return value
  }
}

interface FilterFormProps {
  resource: ResourceSchema
  filter: Filter | undefined
  onApply(filter: Filter): void
}

/** Field, operator and value; works by keyboard only. */
function FilterForm({ resource, filter, onApply }: FilterFormProps) {
  const t = useTranslations('list')
  const labelOf = useLabel()
  const operatorLabel = useOperatorLabel()
  const properties = propertiesOf(resource).filter(({ operators }) => operators.length > 0)
  const [draft, setDraft] = useState<Filter>(() => filter ?? emptyFilter(properties[0]))
  const property = properties.find((one) => filterName(one) === draft.field)
  const setProperty = (name: string) => setDraft(emptyFilter(properties.find((one) => filterName(one) === name)))
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (draft.value.trim() !== '') onApply({ ...draft, value: draft.value.trim() })
  }
  return (
    <form className={styles.filterForm} onSubmit={submit}>
      <SelectField
        label={t('property')}
        value={draft.field}
        options={properties.map((one) => ({ value: filterName(one), label: labelOf(one.label) }))}
        onChange={(event) => setProperty(event.target.value)}
      />
      <SelectField
        label={t('condition')}
        value={draft.operator}
        options={operatorsOf(property).map((operator) => ({ value: operator, label: operatorLabel(operator) }))}
        onChange={(event) =>
          setDraft({ ...draft, operator: event.target.value, value: valueFor(event.target.value, draft) })
        }
      />
      <FilterValue property={property} filter={draft} onChange={(value) => setDraft({ ...draft, value })} />
      <Button type="submit" kind="primary" disabled={draft.value.trim() === ''}>
        {t('apply')}
      </Button>
    </form>
  )
}

/** `isEmpty` has a yes-or-no value, others have none of it. */
const valueFor = (operator: string, { operator: before, value }: Filter): string =>
  operator === 'isEmpty' ? 'true' : before === 'isEmpty' ? '' : value

/** The parameter's field: for an embedded record, the reference's. */
const filterName = ({ name, type, field }: Property): string => (type === 'embedded' ? (field?.name ?? name) : name)

/** References are chosen, not typed: only equality makes sense for people. */
const operatorsOf = (property: Property | undefined): readonly string[] => {
  const operators = property?.operators ?? []
  return isReference(property) ? operators.filter((operator) => operator === 'equals' || operator === 'not') : operators
}

function emptyFilter(property: Property | undefined): Filter {
  const operators = operatorsOf(property)
  const isTyped = property?.type === 'text' || property?.type === 'email' || property?.type === 'longText'
  const operator = isTyped && operators.includes('contains') ? 'contains' : (operators[0] ?? 'equals')
  const value = property?.type === 'boolean' ? 'true' : ''
  return { field: property ? filterName(property) : '', operator, value }
}

interface FilterValueProps {
  property: Property | undefined
  filter: Filter
  onChange(value: string): void
}

const singleValued = new Set(['equals', 'not'])

function FilterValue({ property, filter, onChange }: FilterValueProps) {
  const t = useTranslations('list')
  const common = useTranslations('common')
  const label = t('value')
  const choices = useOptions(property ?? textProperty('', ''))
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
  if (property && isChosen(property) && singleValued.has(filter.operator)) {
    const options = choices.map((option) => (option.value === '' ? { value: 'null', label: common('none') } : option))
    return (
      <SelectField
        label={label}
        options={[{ value: '', label: '' }, ...options]}
        value={filter.value}
        onChange={(event) => onChange(event.target.value)}
      />
    )
  }
  const type = property?.type === 'timestamp' || property?.type === 'date' ? 'date' : 'text'
  return (
    <TextField
      label={label}
      type={type}
      value={type === 'date' ? filter.value.slice(0, 10) : filter.value}
      onChange={(event) => onChange(event.target.value)}
      {...((filter.operator === 'in' || filter.operator === 'notIn' || filter.operator.startsWith('has')) && {
        hint: t('commaHint'),
      })}
    />
  )
}
