import { type KeyboardEvent, useId, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { RecordData } from '../api/schema.ts'
import type { Move, ValueEditorProps } from './editing.ts'
import { SuggestionList } from './suggestion-list.tsx'
import { stepOf, useSuggestionChoice } from './suggestions.ts'
import styles from './value-editor.module.css'

/** Edits a reference in place: suggests records while the person types; an empty text clears the reference. */
export function ReferenceEditor({ property, record: owner, typed, onCommit, onCancel }: ValueEditorProps) {
  const t = useTranslations('list')
  const id = useId()
  const [anchor, setAnchor] = useState<HTMLInputElement | null>(null)
  const [text, setText] = useState(typed ?? '')
  const isDone = useRef(false)
  const commit = (record: RecordData | null, move?: Move) => {
    if (isDone.current) return
    isDone.current = true
    onCommit(record?.id ?? null, move, record ?? undefined)
  }
  const cancel = (move?: Move) => {
    if (isDone.current) return
    isDone.current = true
    onCancel(move)
  }
  const choice = useSuggestionChoice({ property, owner, text, onChoose: commit })
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation()
    const step = stepOf(event.key)
    const move = event.key === 'Tab' ? (event.shiftKey ? 'left' : 'right') : 'down'
    if (step !== undefined) choice.step(step)
    else if (event.key === 'Escape') cancel()
    else if (event.key === 'Enter') choice.choose(move)
    else if (event.key !== 'Tab') return
    else if (text === '' || !choice.choose(move)) cancel(move)
    event.preventDefault()
  }
  return (
    <>
      <input
        ref={setAnchor}
        autoFocus
        role="combobox"
        aria-label={property.label}
        aria-expanded={choice.options.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={choice.options.length > 0 ? `${id}-list-${choice.selected}` : undefined}
        placeholder={t('searchNamed', { name: property.label })}
        className={styles.input}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          choice.reset()
        }}
        onKeyDown={onKeyDown}
        onBlur={() => cancel()}
      />
      <SuggestionList
        id={`${id}-list`}
        label={property.label}
        anchor={anchor}
        options={choice.options}
        selected={choice.selected}
        isStale={!choice.isCurrent}
        onChoose={(option) => commit(option?.record ?? null)}
      />
    </>
  )
}
