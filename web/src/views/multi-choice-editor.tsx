import { type KeyboardEvent, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { CheckField } from '../ui/field.tsx'
import { Popover } from '../ui/popover.tsx'
import { useChoiceLabel } from './choices.ts'
import { useFinish, type ValueEditorProps } from './editing.ts'
import styles from './value-editor.module.css'
import type { Property } from './property.ts'

/** Edits several choices in place, as checkboxes below the cell. */
export function MultiChoiceEditor({ property, value, onCommit, onCancel }: ValueEditorProps) {
  const t = useTranslations('list')
  const [anchor, setAnchor] = useState<HTMLSpanElement | null>(null)
  const [chosen, setChosen] = useState(chosenOf(value))
  const choiceLabel = useChoiceLabel()
  const { finish, onKeyDown } = useFinish({ valueOf: () => chosen, onCommit, onCancel })
  return (
    <>
      <span ref={setAnchor} className={styles.summary}>
        {chosen.map((choice) => choiceLabel(choice, property)).join(', ') || t('choose')}
      </span>
      <Popover
        label={property.label}
        anchor={anchor}
        isOpen={anchor !== null}
        onOpenChange={(isOpen) => isOpen || finish(undefined)}
      >
        <ChoiceChecks property={property} chosen={chosen} onChange={setChosen} onKeyDown={onKeyDown} />
      </Popover>
    </>
  )
}

interface ChoiceChecksProps {
  property: Property
  chosen: readonly string[]
  onChange(chosen: readonly string[]): void
  onKeyDown?(event: KeyboardEvent): void
}

/** A checkbox per choice; arrow keys move between them. */
export function ChoiceChecks({ property, chosen, onChange, onKeyDown }: ChoiceChecksProps) {
  const choiceLabel = useChoiceLabel()
  const box = useRef<HTMLDivElement>(null)
  const offered = property.choices ?? []
  // Archived choices can be removed, but not selected again.
  const [stored] = useState(chosen.filter((choice) => !offered.includes(choice)))
  const order = [...offered, ...stored]
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined) return onKeyDown?.(event)
    const inputs = [...(box.current?.querySelectorAll('input') ?? [])]
    const index = inputs.findIndex((input) => input === document.activeElement)
    inputs[(index + step + inputs.length) % inputs.length]?.focus()
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div ref={box} className={styles.checks} onKeyDown={move} role="presentation">
      {order.map((choice) => (
        <CheckField
          key={choice}
          label={choiceLabel(choice, property)}
          checked={chosen.includes(choice)}
          onChange={(event) =>
            onChange(order.filter((one) => (one === choice ? event.target.checked : chosen.includes(one))))
          }
        />
      ))}
    </div>
  )
}

export const chosenOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [])
