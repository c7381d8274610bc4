import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { type Filter, listOf, takesList, textOfList } from '../api/filter-tree.ts'
import { useOrganization } from '../api/me.ts'
import { SelectField, TextField } from '../ui/field.tsx'
import { NumberField } from '../ui/number-field.tsx'
import { Unreadable, useNumbers } from '../ui/use-numbers.ts'
import { textProperty } from './columns.tsx'
import { isMultiChoice } from './editing.ts'
import { countedOf, relativeNames, units } from './filter-draft.ts'
import { periods } from './filter-node.ts'
import { isReference, isTime } from './filter-sentence.tsx'
import styles from './list.module.css'
import { PropertyInput } from './property-input.tsx'
import { itemsOfText, textOfItems } from './lists-as-text.ts'
import { isNumber } from './typed-values.ts'
import { isChosen, useOptions } from './value-editor.tsx'
import type { Property } from './property.ts'

/** References are selected, not typed, so only equality makes sense. */
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

/** The value after a change of the operator: some operators do not accept the values of others. */
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
  if (isTime(property))
    return (
      <TextField
        label={label}
        type="date"
        value={filter.value.slice(0, 10)}
        onChange={(event) => onChange(event.target.value)}
      />
    )
  const about = { label, filter, onChange, ...(takesList(filter.operator) && { hint: t('commaHint') }) }
  const isNumeric = property !== undefined && (isNumber(property) || property.type === 'money')
  return isNumeric ? <NumberValue {...about} /> : <TextValue key={String(takesList(filter.operator))} {...about} />
}

interface TypedValueProps extends Omit<FilterValueProps, 'property'> {
  label: string
  hint?: string
}

/** One or several texts. As in a URL, commas separate them, and a backslash escapes a comma. */
function TextValue({ label, hint, filter, onChange }: TypedValueProps) {
  const isList = takesList(filter.operator)
  const [text, setText] = useState(isList ? textOfItems(listOf(filter.value)) : filter.value)
  const change = (changed: string) => {
    setText(changed)
    onChange(isList ? textOfList(itemsOfText(changed)) : changed)
  }
  return <TextField label={label} hint={hint} value={text} onChange={(event) => change(event.target.value)} />
}

/** One or several numbers in the format of the page's locale. */
function NumberValue({ label, filter, onChange }: TypedValueProps) {
  const t = useTranslations('list')
  const numbers = useNumbers()
  const isList = takesList(filter.operator)
  const [text, setText] = useState(() =>
    isList ? listOf(filter.value).map(numbers.write).join('; ') : numbers.write(filter.value),
  )
  const [problem, setProblem] = useState<string>()
  const change = (changed: string) => {
    setText(changed)
    const read = (isList ? numbersIn(changed) : [changed]).map((one) => readOne(one))
    const unreadable = read.find((one) => one instanceof Unreadable)
    setProblem(changed.trim() === '' ? undefined : unreadable?.problem)
    onChange(unreadable ? '' : read.join(','))
  }
  const readOne = (one: string) => {
    if (one.trim() === 'null') return 'null'
    const read = numbers.read(one)
    return read instanceof Unreadable ? read : read.decimal
  }
  return (
    <TextField
      label={label}
      inputMode="decimal"
      problem={problem}
      value={text}
      onChange={(event) => change(event.target.value)}
      {...(isList && { hint: t('numbersHint') })}
    />
  )
}

/** In some locales, a comma is the decimal sign: without a semicolon, numbers are separated by the space after it. */
const numbersIn = (text: string): string[] =>
  text.split(text.includes(';') ? ';' : /,\s+|\n/).filter((one) => one.trim() !== '')

/** A number of days, weeks…, or a calendar period. */
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
      <NumberField
        label={t('count')}
        rules={{ isWhole: true, minimum: 1, maximum: 1000 }}
        defaultValue={Number(count)}
        onNumber={(number) => onChange(`${number ?? ''} ${unit}`)}
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
