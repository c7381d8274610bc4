import { useEffect, useRef } from 'react'
import { type RecordData, type ResourceSchema, titleOf, valueAt } from '../api/schema.ts'
import { usePropertyLabel } from '../messages/labels.ts'
import { Check } from '../ui/check.tsx'
import { changeProperty, type ChangeTexts, recordChanged } from './changes.ts'
import type { Property } from './property.ts'

interface ToggleProps {
  resource: ResourceSchema
  property: Property
  record: RecordData
  texts: ChangeTexts
}

/** A flag that one click toggles in a list, such as a task's `done`. */
export function Toggle({ resource, property, record, texts }: ToggleProps) {
  const labelOf = usePropertyLabel()
  const value = valueAt(record, property.name) === true
  const show = (changed: RecordData) => recordChanged(resource, changed)
  return (
    <Check
      label={`${labelOf(property)}: ${titleOf(resource, record)}`}
      isChecked={value}
      tabIndex={-1}
      onChange={() => void changeProperty(resource, record, { property, value: !value }, show, texts)}
    />
  )
}

interface ToggleKeyProps {
  value: boolean
  /** Was it opened with a key other than Enter? */
  isTyped: boolean
  onCommit(value: boolean): void
  onCancel(): void
}

/** Replaces the editor: Enter toggles the flag at once. */
export function ToggleKey({ value, isTyped, onCommit, onCancel }: ToggleKeyProps) {
  const isDone = useRef(false)
  useEffect(() => {
    if (isDone.current) return
    isDone.current = true
    if (isTyped) onCancel()
    else onCommit(!value)
  }, [isTyped, value, onCommit, onCancel])
  return <Check label="" isChecked={!value} tabIndex={-1} onChange={() => undefined} />
}
