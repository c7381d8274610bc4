import { Suspense, useContext } from 'react'
import { type RecordData, type ResourceSchema, valueAt } from '../api/schema.ts'
import { useSeen } from '../api/use-seen.ts'
import { useOpenRecord } from '../live/places.ts'
import { changeableValue, type ChangeTexts, forgetUnsaved, valueToEdit } from './changes.ts'
import type { Move } from './editing.ts'
import { saveValue } from './save-value.ts'
import { useChangedMeanwhile } from './use-changed-meanwhile.ts'
import { ValueEditor } from './value-editor.tsx'
import { ValueViewsContext } from './value-views.ts'
import type { Property } from './property.ts'

interface RecordValueEditorProps {
  resource: ResourceSchema
  record: RecordData
  property: Property
  label: string
  texts: ChangeTexts
  typed?: string | undefined
  onClose(value: unknown, move: Move): void
  onCancel(move?: Move): void
}

/** Edits a value of a record in place, and saves it. */
export function RecordValueEditor(props: RecordValueEditorProps) {
  const { resource, record, property, label, texts, typed, onClose, onCancel } = props
  const Editor = useContext(ValueViewsContext)[resource.name]?.[property.name]?.Editor ?? ValueEditor
  const seen = useSeen(record)
  useOpenRecord(record.id, true)
  // A reference is an id, which says nothing to people.
  const shownOf = (of: RecordData) =>
    property.type === 'embedded' ? valueAt(of, `${property.name}.name`) : changeableValue(property, of)
  useChangedMeanwhile(label, shownOf(seen), shownOf(record))
  return (
    <Suspense>
      <Editor
        property={{ ...property, label }}
        value={valueToEdit(property, seen)}
        record={seen}
        typed={typed}
        onCancel={(move) => {
          forgetUnsaved(property, seen)
          onCancel(move)
        }}
        onCommit={(value, move, shown) => {
          forgetUnsaved(property, seen)
          onClose(value, move)
          saveValue(resource, seen, { property, value, shown }, texts)
        }}
      />
    </Suspense>
  )
}
