import { type FocusEvent, useState } from 'react'
import { useLocale, useTranslations } from 'use-intl'
import { useChoiceLabel } from './choices.ts'
import type { Property } from './columns.tsx'
import { countryCodes } from './countries.ts'
import { isMultiChoice, useFinish, type ValueEditorProps } from './editing.ts'
import { MoneyEditor } from './money-editor.tsx'
import { MultiChoiceEditor } from './multi-choice-editor.tsx'
import { ReferenceEditor } from './reference-editor.tsx'
import { countryName, currencyName } from './value.tsx'
import styles from './value-editor.module.css'

/** Edits one value in place: Enter saves and moves down, Tab saves and moves right, Escape leaves it as it was. */
export function ValueEditor(props: ValueEditorProps) {
  const { property } = props
  if (property.type === 'embedded' || property.type === 'reference') return <ReferenceEditor {...props} />
  if (isChosen(property)) return <ChoiceEditor {...props} />
  if (isMultiChoice(property)) return <MultiChoiceEditor {...props} />
  if (property.type === 'money') return <MoneyEditor {...props} />
  return <TextEditor {...props} />
}

const chosenTypes: readonly string[] = ['choice', 'boolean', 'country', 'currency']

/** Is the value one of a list? */
export const isChosen = ({ type }: Property): boolean => chosenTypes.includes(type)

/** What is typed for a value, and the value for what was typed; empty text clears it. */
export function textOfValue(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ')
  return value === null || value === undefined ? '' : String(value)
}

/** The browser's input for a value: days and times have their own. */
export const inputTypeOf = ({ type }: Property): 'date' | 'datetime-local' | 'text' =>
  type === 'date' ? 'date' : type === 'timestamp' ? 'datetime-local' : 'text'

/** What is in the input for a value: for an instant, the day and the time of this browser's zone. */
export function textForInput(property: Property, value: unknown): string {
  const text = textOfValue(value)
  const time = inputTypeOf(property) === 'datetime-local' ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) return text
  const local = new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString()
  return local.slice(0, local.slice(17, 19) === '00' ? 16 : 19)
}

export function valueOfText({ type, field }: Property, text: string): unknown {
  const trimmed = text.trim()
  if (type === 'timestamp' && trimmed !== '') return new Date(trimmed).toISOString()
  if (type === 'list')
    return trimmed === ''
      ? []
      : trimmed
          .split(',')
          .map((part) => part.trim())
          .filter(Boolean)
  if (trimmed === '') return field?.clearable === false && type === 'text' ? '' : null
  if (type === 'integer' || type === 'number') {
    const number = Number(trimmed)
    return Number.isNaN(number) ? trimmed : number
  }
  return trimmed
}

function TextEditor({ property, value, typed, onCommit, onCancel }: ValueEditorProps) {
  const inputType = inputTypeOf(property)
  const before = textForInput(property, value)
  // The browser's inputs for days and times take no typed beginning.
  const [text, setText] = useState((inputType === 'text' ? typed : undefined) ?? before)
  // An input has one line: it would remove line breaks.
  const [isLong] = useState(property.type === 'longText' || text.includes('\n'))
  const { finish, onKeyDown } = useFinish({
    // An instant can be more exact than its input.
    valueOf: () => (text === before ? value : valueOfText(property, text)),
    isLineBreak: (event) => isLong && event.shiftKey,
    onCommit,
    onCancel,
  })
  const attributes = {
    'aria-label': property.label,
    autoFocus: true,
    className: styles.input,
    value: text,
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
 * The options of a choice, a flag, a country or a currency; the empty one first if the value can be empty. A current value
 * that cannot be newly chosen, such as an archived choice, is one of them.
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
