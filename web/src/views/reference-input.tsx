import { type ComponentProps, type KeyboardEvent, useId, useState } from 'react'
import { type RecordData, titleOf, useResource } from '../api/schema.ts'
import field from '../ui/field.module.css'
import { useReferenceTitle } from './reference-title.tsx'
import { SuggestionList } from './suggestion-list.tsx'
import { isSameName, stepOf, useSuggestionChoice } from './suggestions.ts'
import type { Property } from './property.ts'

interface ReferenceInputProps {
  property: Property
  /** The id; empty for none. */
  value: string
  /** The other values of the form. */
  owner: Readonly<Record<string, unknown>> | undefined
  /** Attributes that link the input to its label and its error. */
  input: ComponentProps<'input'>
  onChange(id: string | null): void
  /** Called with true while the text matches no record. */
  onUnknown(isUnknown: boolean): void
}

/**
 * A form input for a reference: shows the record's name, and suggests records while the person types. It stays mounted,
 * so that Tab continues from it.
 */
export function ReferenceInput({ property, value, owner, input, onChange, onUnknown }: ReferenceInputProps) {
  const listId = useId()
  const [anchor, setAnchor] = useState<HTMLInputElement | null>(null)
  // The typed text; undefined while the input shows the selected record.
  const [typed, setTyped] = useState<string>()
  const [isOpen, setOpen] = useState(false)
  const [chosen, setChosen] = useState<RecordData>()
  const target = useResource(property.resource ?? '')
  const isKnown = chosen?.id === value && target !== undefined
  const readTitle = useReferenceTitle(property.resource, value === '' || isKnown ? undefined : value)
  const title = value === '' ? '' : isKnown ? titleOf(target, chosen) : (readTitle ?? '…')
  const show = (text: string | undefined) => {
    setTyped(text)
    setOpen(text !== undefined)
    choice.reset(text === undefined ? -1 : 0)
    if (text === undefined) onUnknown(false)
  }
  const choose = (record: RecordData | null) => {
    setChosen(record ?? undefined)
    show(undefined)
    onChange(record?.id ?? null)
  }
  const choice = useSuggestionChoice({ property, owner, text: typed ?? '', first: -1, onChoose: choose })
  const options = isOpen ? choice.options : []
  /** Text without a selection counts if it is the exact name of one record; otherwise, it is an error. */
  const leave = () => {
    setOpen(false)
    if (typed === undefined) return
    const exact = choice.options.filter((option) => option !== null && isSameName(option.title, typed))
    if (typed.trim() === '' && property.field?.clearable !== false) choose(null)
    else if (typed.trim() === '' || isSameName(typed, title)) show(undefined)
    else if (choice.isCurrent && exact.length === 1) choose(exact[0]?.record ?? null)
    else {
      onUnknown(true)
      // The pending suggestions may still contain one.
      if (!choice.isCurrent) choice.choose(undefined)
    }
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = stepOf(event.key)
    if (step !== undefined) {
      setOpen(true)
      choice.step(step)
    } else if (event.key === 'Escape' && (isOpen || typed !== undefined)) show(undefined)
    else if (event.key !== 'Enter' || !isOpen || !choice.choose('down')) {
      // The browser moves the focus itself.
      if (event.key === 'Tab' && isOpen && typed?.trim()) choice.choose(undefined)
      return
    }
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <>
      <input
        {...input}
        ref={setAnchor}
        type="text"
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={options.length > 0}
        aria-controls={listId}
        aria-activedescendant={options.length > 0 ? `${listId}-${choice.selected}` : undefined}
        autoComplete="off"
        spellCheck={false}
        className={field.input}
        value={typed ?? title}
        onChange={(event) => show(event.target.value)}
        onClick={() => setOpen(true)}
        onFocus={(event) => event.target.select()}
        onKeyDown={onKeyDown}
        onBlur={leave}
      />
      <SuggestionList
        id={listId}
        label={property.label}
        anchor={isOpen ? anchor : null}
        options={options}
        selected={choice.selected}
        isStale={!choice.isCurrent}
        onChoose={(option) => choose(option?.record ?? null)}
      />
    </>
  )
}
