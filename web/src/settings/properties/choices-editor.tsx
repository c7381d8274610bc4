import { Archive, ArchiveRestore, Plus, X } from 'lucide-react'
import { useRef } from 'react'
import { flushSync } from 'react-dom'
import { useTranslations } from 'use-intl'
import { Button, IconButton } from '../../ui/button.tsx'
import { classes } from '../../ui/classes.ts'
import field from '../../ui/field.module.css'
import { SortableList } from '../../ui/sortable-list.tsx'
import type { Choice } from './definitions.ts'
import { choiceValueOf } from './keys.ts'
import styles from './properties.module.css'

/** A choice while it is edited. */
export interface DraftChoice extends Choice {
  /** A stable key while the value changes. */
  id: string
  /** True if records may have the value, which therefore cannot change. */
  isStored: boolean
}

interface ChoicesEditorProps {
  choices: readonly DraftChoice[]
  errorOf(field: string): string | undefined
  onChange(choices: readonly DraftChoice[]): void
}

let lastId = 0
export const newChoice = (): DraftChoice => ({
  id: `new-${++lastId}`,
  value: '',
  label: '',
  archived: false,
  isStored: false,
})

/** Edits choices in order: the label that people read, and the value that records and programs use. */
export function ChoicesEditor({ choices, errorOf, onChange }: ChoicesEditorProps) {
  const t = useTranslations('properties')
  const box = useRef<HTMLFieldSetElement>(null)
  const error = errorOf('choices')
  const replace = (id: string, changes: Partial<DraftChoice>) =>
    onChange(choices.map((choice) => (choice.id === id ? { ...choice, ...changes } : choice)))
  const move = (id: string, index: number) => {
    const moved = choices.filter((choice) => choice.id === id)
    onChange(choices.filter((choice) => choice.id !== id).toSpliced(index, 0, ...moved))
  }
  const add = () => {
    // Synchronously, so that the next characters go into the new choice.
    flushSync(() => onChange([...choices, newChoice()]))
    const labels = box.current?.querySelectorAll<HTMLElement>('[data-label]') ?? []
    Array.from(labels).at(-1)?.focus()
  }
  return (
    <fieldset ref={box} className={styles.choices}>
      <legend>{t('choices')}</legend>
      <p className={field.hint}>{t('choicesHint')}</p>
      <SortableList
        label={t('choices')}
        items={choices}
        titleOf={({ label }) => label || t('newChoice')}
        onMove={choices.length > 1 ? move : undefined}
      >
        {(choice) => (
          <ChoiceRow
            choice={choice}
            error={choiceError(choices.indexOf(choice), errorOf)}
            onChange={(changes) => replace(choice.id, changes)}
            onRemove={() => onChange(choices.filter(({ id }) => id !== choice.id))}
            onEnter={add}
          />
        )}
      </SortableList>
      {error !== undefined && (
        <p className={field.error} aria-invalid tabIndex={-1}>
          {error}
        </p>
      )}
      <Button icon={Plus} onClick={add}>
        {t('addChoice')}
      </Button>
    </fieldset>
  )
}

const choiceError = (index: number, errorOf: (field: string) => string | undefined): string | undefined => {
  const [ofValue, ofLabel, ofChoice] = ['.value', '.label', ''].map((part) => errorOf(`choices.${index}${part}`))
  return ofValue ?? ofLabel ?? ofChoice
}

interface ChoiceRowProps {
  choice: DraftChoice
  error: string | undefined
  onChange(changes: Partial<DraftChoice>): void
  onRemove(): void
  onEnter(): void
}

function ChoiceRow({ choice, error, onChange, onRemove, onEnter }: ChoiceRowProps) {
  const t = useTranslations('properties')
  const { label, value, archived, isStored } = choice
  const name = label || t('newChoice')
  // The value follows the label until the person changes it.
  const rename = (changed: string) =>
    onChange({
      label: changed,
      ...(!isStored && value === choiceValueOf(label) && { value: choiceValueOf(changed) }),
    })
  return (
    <div className={classes(styles.choice, archived && styles.archived)}>
      <input
        data-label
        aria-label={t('choiceLabel', { name })}
        placeholder={t('label')}
        className={field.input}
        value={label}
        maxLength={200}
        aria-invalid={error === undefined ? undefined : true}
        onChange={(event) => rename(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return
          event.preventDefault()
          onEnter()
        }}
      />
      {isStored ? (
        <code className="truncate">{value}</code>
      ) : (
        <input
          aria-label={t('choiceValue', { name })}
          placeholder={t('value')}
          className={classes(field.input, styles.code)}
          value={value}
          maxLength={100}
          spellCheck={false}
          onChange={(event) => onChange({ value: event.target.value })}
        />
      )}
      {isStored && (
        <IconButton
          icon={archived ? ArchiveRestore : Archive}
          label={t(archived ? 'unarchiveNamed' : 'archiveNamed', { name })}
          onClick={() => onChange({ archived: !archived })}
        />
      )}
      <IconButton icon={X} label={t('removeChoice', { name })} onClick={onRemove} />
      {error !== undefined && <p className={classes(field.error, styles.choiceError)}>{error}</p>}
    </div>
  )
}
