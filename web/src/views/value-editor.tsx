import { type FocusEvent, type KeyboardEvent, useRef, useState } from 'react'
import { useLocale, useTranslations } from 'use-intl'
import type { RecordData } from '../api/schema.ts'
import { useChoiceLabel } from './choices.ts'
import type { Property } from './columns.tsx'
import { countryCodes } from './countries.ts'
import { ReferenceEditor } from './reference-editor.tsx'
import { countryName, currencyName } from './value.tsx'
import styles from './value-editor.module.css'

export interface ValueEditorProps {
  property: Property
  /** The value to edit, as the API has it. */
  value: unknown
  /** The record that it belongs to: a deal can only be in a stage of its pipeline. */
  record?: Readonly<Record<string, unknown>>
  /** What was typed to begin, instead of the value. */
  typed?: string | undefined
  /** `shown`: the record behind a chosen reference. */
  onCommit(value: unknown, move: 'down' | 'right' | undefined, shown?: RecordData): void
  onCancel(): void
}

/** Edits one value in place: Enter saves and moves down, Tab saves and moves right, Escape leaves it as it was. */
export function ValueEditor(props: ValueEditorProps) {
  const { property } = props
  if (property.type === 'embedded' || property.type === 'reference') return <ReferenceEditor {...props} />
  if (isChosen(property)) return <ChoiceEditor {...props} />
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

interface FinishOptions extends Pick<ValueEditorProps, 'onCommit' | 'onCancel'> {
  valueOf(): unknown
  /** Does Enter belong to the text? */
  isLineBreak?(event: KeyboardEvent): boolean
}

/** The keys that end an editor. It ends once: it also loses the focus when it disappears. */
function useFinish({ valueOf, isLineBreak, onCommit, onCancel }: FinishOptions) {
  const isDone = useRef(false)
  const finish = (move: 'down' | 'right' | undefined) => {
    if (isDone.current) return
    isDone.current = true
    onCommit(valueOf(), move)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation()
    if (event.nativeEvent.isComposing) return
    if (event.key === 'Escape') {
      isDone.current = true
      onCancel()
    } else if (event.key === 'Enter' && !isLineBreak?.(event)) finish('down')
    else if (event.key === 'Tab') finish('right')
    else return
    event.preventDefault()
  }
  return { finish, onKeyDown }
}

function TextEditor({ property, value, typed, onCommit, onCancel }: ValueEditorProps) {
  const inputType = inputTypeOf(property)
  const before = textForInput(property, value)
  // The browser's inputs for days and times take no typed beginning.
  const [text, setText] = useState((inputType === 'text' ? typed : undefined) ?? before)
  const { finish, onKeyDown } = useFinish({
    // An instant can be more exact than its input.
    valueOf: () => (text === before ? value : valueOfText(property, text)),
    isLineBreak: (event) => property.type === 'longText' && event.shiftKey,
    onCommit,
    onCancel,
  })
  const attributes = {
    'aria-label': property.label,
    autoFocus: true,
    className: styles.input,
    value: text,
    spellCheck: property.type === 'longText',
    onKeyDown,
    onFocus: (event: FocusEvent<HTMLInputElement | HTMLTextAreaElement>) =>
      typed === undefined && event.target.select(),
    onBlur: () => finish(undefined),
  }
  return property.type === 'longText' ? (
    <textarea {...attributes} onChange={(event) => setText(event.target.value)} />
  ) : (
    <input {...attributes} type={inputType} onChange={(event) => setText(event.target.value)} />
  )
}

function ChoiceEditor({ property, value, onCommit, onCancel }: ValueEditorProps) {
  const options = useOptions(property)
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

/** The options of a choice, a flag, a country or a currency; the empty one first if the value can be empty. */
export function useOptions({ type, choices, field }: Property): { value: string; label: string }[] {
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
  return [...empty, ...(choices ?? []).map((choice) => ({ value: choice, label: choiceLabel(choice) }))]
}
