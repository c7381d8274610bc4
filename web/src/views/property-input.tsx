import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { type RecordData, titleOf, useResource } from '../api/schema.ts'
import { useLabel } from '../messages/labels.ts'
import { Button } from '../ui/button.tsx'
import { Field, SelectField, TextAreaField, TextField } from '../ui/field.tsx'
import type { Property } from './columns.tsx'
import { ReferenceEditor } from './reference-editor.tsx'
import { choiceValue, textOfValue, useOptions, valueOfText } from './value-editor.tsx'
import field from '../ui/field.module.css'

interface PropertyInputProps {
  property: Property
  value: unknown
  error: string | undefined
  onChange(value: unknown): void
}

/** The input of a form for a property, by its type. */
export function PropertyInput({ property, value, error, onChange }: PropertyInputProps) {
  const t = useTranslations('list')
  const labelOf = useLabel()
  const options = useOptions(property)
  const [text, setText] = useState(textOfValue(value))
  const { type, field: schema } = property
  const about = {
    label: labelOf(property.label),
    error,
    ...(schema?.required !== true && { isOptional: true }),
    ...(schema?.description && { hint: labelOf(schema.description) }),
  }
  if (type === 'embedded' || type === 'reference') return <ReferenceInput {...{ property, value, error, onChange }} />
  if (type === 'choice' || type === 'boolean' || type === 'country')
    return (
      <SelectField
        {...about}
        options={options}
        value={textOfValue(value ?? schema?.initial)}
        onChange={(event) => onChange(choiceValue(property, event.target.value))}
      />
    )
  const change = (changed: string) => {
    setText(changed)
    onChange(valueOfText(property, changed))
  }
  if (type === 'longText')
    return <TextAreaField {...about} value={text} onChange={(event) => change(event.target.value)} />
  const kind = { email: 'email', phone: 'tel', url: 'url' }[type as string] ?? 'text'
  const hint = type === 'list' ? { hint: t('commaHint') } : {}
  return <TextField {...about} {...hint} type={kind} value={text} onChange={(event) => change(event.target.value)} />
}

function ReferenceInput({ property, value, error, onChange }: PropertyInputProps) {
  const t = useTranslations('list')
  const labelOf = useLabel()
  const [isEditing, setEditing] = useState(false)
  const [chosen, setChosen] = useState<RecordData>()
  const target = useResource(property.resource ?? '')
  const label = labelOf(property.label)
  const text = chosen && target ? titleOf(target, chosen) : textOfValue(value) || t('choose')
  return (
    <Field label={label} error={error} isOptional>
      {(attributes) =>
        isEditing ? (
          <span className={field.input}>
            <ReferenceEditor
              property={{ ...property, label }}
              value={value}
              onCancel={() => setEditing(false)}
              onCommit={(id, _move, record) => {
                setEditing(false)
                setChosen(record)
                onChange(id)
              }}
            />
          </span>
        ) : (
          <Button id={attributes.id} onClick={() => setEditing(true)}>
            {text}
          </Button>
        )
      }
    </Field>
  )
}
