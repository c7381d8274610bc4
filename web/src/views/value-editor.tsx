import { lazyRouteComponent } from '@tanstack/react-router'
import { type FocusEvent, useState } from 'react'
import { useLocale, useTranslations } from 'use-intl'
import { useOrganization } from '../api/me.ts'
import { useChoiceLabel } from './choices.ts'
import { countryCodes } from './countries.ts'
import { isMultiChoice, useFinish, type ValueEditorProps } from './editing.ts'
import { MultiChoiceEditor } from './multi-choice-editor.tsx'
import { ReferenceEditor } from './reference-editor.tsx'
import { currencyOfAmount } from './money.ts'
import { inputTypeOf, isNumber, textOfValue, useTypedValues } from './typed-values.ts'
import { countryName, currencyName } from './value.tsx'
import styles from './value-editor.module.css'
import type { Property } from './property.ts'

const MoneyEditor = lazyRouteComponent(() => import('./money-editor.tsx'), 'MoneyEditor')

/** Loads what the editors of these properties need, so that they open at once. */
export function preloadEditors(properties: readonly Property[]): void {
  if (properties.some(({ type }) => type === 'money')) void MoneyEditor.preload?.()
}

/** Edits a value in place: Enter saves and moves down, Tab saves and moves right, Escape cancels. */
export function ValueEditor(props: ValueEditorProps) {
  const { property } = props
  if (property.type === 'embedded' || property.type === 'reference') return <ReferenceEditor {...props} />
  if (isChosen(property)) return <ChoiceEditor {...props} />
  if (isMultiChoice(property)) return <MultiChoiceEditor {...props} />
  if (property.type === 'money') return <MoneyEditor {...props} />
  return <TextEditor {...props} />
}

const chosenTypes: readonly string[] = ['choice', 'boolean', 'country', 'currency']

/** Is the value selected from options? */
export const isChosen = ({ type }: Property): boolean => chosenTypes.includes(type)

function TextEditor({ property, value, record, typed, onCommit, onCancel }: ValueEditorProps) {
  const inputType = inputTypeOf(property)
  const { defaultCurrency } = useOrganization()
  const { textOf, valueOf } = useTypedValues(property, currencyOfAmount(property, record, defaultCurrency))
  const before = textOf(value)
  // The browser's inputs for days and times cannot start with typed text.
  const [text, setText] = useState((inputType === 'text' ? typed : undefined) ?? before)
  // A single-line input would remove line breaks.
  const [isLong] = useState(property.type === 'longText' || text.includes('\n'))
  const { finish, onKeyDown } = useFinish({
    // An instant can be more precise than its input.
    valueOf: () => (text === before ? value : valueOf(text)),
    isLineBreak: (event) => isLong && event.shiftKey,
    onCommit,
    onCancel,
  })
  const attributes = {
    'aria-label': property.label,
    autoFocus: true,
    className: styles.input,
    value: text,
    ...(isNumber(property) && { inputMode: 'decimal' as const }),
    spellCheck: isLong,
    onKeyDown,
    onFocus: (event: FocusEvent<HTMLInputElement | HTMLTextAreaElement>) =>
      typed === undefined && event.target.select(),
    onBlur: () => finish(undefined),
  }
  return isLong ? (
    <textarea {...attributes} onChange={(event) => setText(event.target.value)} />
  ) : (
    <input {...attributes} type={inputType} onChange={(event) => setText(event.target.value)} />
  )
}

function ChoiceEditor({ property, value, onCommit, onCancel }: ValueEditorProps) {
  const options = useOptions(property, textOfValue(value))
  const [chosen, setChosen] = useState(textOfValue(value))
  const { finish, onKeyDown } = useFinish({ valueOf: () => choiceValue(property, chosen), onCommit, onCancel })
  return (
    <select
      autoFocus
      aria-label={property.label}
      className={styles.input}
      value={chosen}
      onChange={(event) => setChosen(event.target.value)}
      onKeyDown={onKeyDown}
      onBlur={() => finish(undefined)}
    >
      {options.map(({ value: option, label }) => (
        <option key={option} value={option}>
          {label}
        </option>
      ))}
    </select>
  )
}

/** The API's value for an option of a select. */
export function choiceValue({ type }: Property, option: string): unknown {
  if (option === '') return null
  return type === 'boolean' ? option === 'true' : option
}

/**
 * The options of a choice, a flag, a country or a currency; the empty option comes first if the value is optional.
 * Includes a current value that cannot be newly selected, such as an archived choice.
 */
export function useOptions(property: Property, current = ''): { value: string; label: string }[] {
  const { type, choices, field } = property
  const t = useTranslations('common')
  const locale = useLocale()
  const choiceLabel = useChoiceLabel()
  const empty = field?.clearable === false ? [] : [{ value: '', label: '' }]
  if (type === 'boolean') return [...empty, { value: 'true', label: t('yes') }, { value: 'false', label: t('no') }]
  if (type === 'country') {
    const named = countryCodes.map((code) => ({ value: code, label: countryName(code, locale) }))
    return [...empty, ...named.sort((one, other) => one.label.localeCompare(other.label, locale))]
  }
  if (type === 'currency') {
    const named = Intl.supportedValuesOf('currency').map((code) => ({ value: code, label: currencyName(code, locale) }))
    return [...empty, ...named.sort((one, other) => one.label.localeCompare(other.label, locale))]
  }
  const offered = choices ?? []
  const all = current === '' || offered.includes(current) ? offered : [...offered, current]
  return [...empty, ...all.map((choice) => ({ value: choice, label: choiceLabel(choice, property) }))]
}
