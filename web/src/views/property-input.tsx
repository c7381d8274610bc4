import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useOrganization } from '../api/me.ts'
import { type RecordData, titleOf, useResource } from '../api/schema.ts'
import { useLabel, usePropertyLabel } from '../messages/labels.ts'
import { Button } from '../ui/button.tsx'
import { Field, FieldGroup, SelectField, TextAreaField, TextField } from '../ui/field.tsx'
import type { Property } from './columns.tsx'
import { isMultiChoice } from './editing.ts'
import { MoneyInput } from './money-editor.tsx'
import { ChoiceChecks, chosenOf } from './multi-choice-editor.tsx'
import { ReferenceEditor } from './reference-editor.tsx'
import { ReferenceTitle } from './reference-title.tsx'
import {
  choiceValue,
  inputTypeOf,
  isChosen,
  textForInput,
  textOfValue,
  useOptions,
  valueOfText,
} from './value-editor.tsx'
import field from '../ui/field.module.css'

interface PropertyInputProps {
  property: Property
  value: unknown
  /** The other values of the form. */
  record?: Readonly<Record<string, unknown>>
  error: string | undefined
  onChange(value: unknown): void
}

/** The input of a form for a property, by its type. */
export function PropertyInput({ property, value, record, error, onChange }: PropertyInputProps) {
  const t = useTranslations('list')
  const labelOf = usePropertyLabel()
  const textOf = useLabel()
  const options = useOptions(property, textOfValue(value))
  const { defaultCurrency } = useOrganization()
  const [text, setText] = useState(textForInput(property, value))
  const { type, field: schema } = property
  const about = {
    label: labelOf(property),
    error,
    ...(schema?.required !== true && { isOptional: true }),
    ...(schema?.description && { hint: 'declared' in schema ? schema.description : textOf(schema.description) }),
  }
  if (type === 'embedded' || type === 'reference')
    return <ReferenceInput {...{ property, value, error, onChange }} {...(record && { record })} />
  const initial = type === 'currency' ? defaultCurrency : schema?.initial
  if (isChosen(property))
    return (
      <SelectField
        {...about}
        options={options}
        value={textOfValue(value ?? initial)}
        onChange={(event) => onChange(choiceValue(property, event.target.value))}
      />
    )
  if (type === 'money')
    return <Field {...about}>{(input) => <MoneyInput input={input} value={value} onChange={onChange} />}</Field>
  if (isMultiChoice(property))
    return (
      <FieldGroup {...about}>
        <ChoiceChecks property={property} chosen={chosenOf(value)} onChange={onChange} />
      </FieldGroup>
    )
  const change = (changed: string) => {
    setText(changed)
    onChange(valueOfText(property, changed))
  }
  if (type === 'longText')
    return <TextAreaField {...about} value={text} onChange={(event) => change(event.target.value)} />
  const kind = { email: 'email', phone: 'tel', url: 'url' }[type as string] ?? inputTypeOf(property)
  const hint = type === 'list' ? { hint: t('commaHint') } : {}
  return <TextField {...about} {...hint} type={kind} value={text} onChange={(event) => change(event.target.value)} />
}

function ReferenceInput({ property, value, record, error, onChange }: PropertyInputProps) {
  const t = useTranslations('list')
  const labelOf = usePropertyLabel()
  const [isEditing, setEditing] = useState(false)
  const [chosen, setChosen] = useState<RecordData>()
  const target = useResource(property.resource ?? '')
  const id = textOfValue(value)
  const label = labelOf(property)
  return (
    <Field label={label} error={error} isOptional={property.field?.required !== true}>
      {(attributes) =>
        isEditing ? (
          <span className={field.input}>
            <ReferenceEditor
              property={{ ...property, label }}
              value={value}
              {...(record && { record })}
              onCancel={() => setEditing(false)}
              onCommit={(chosenId, _move, chosenRecord) => {
                setEditing(false)
                setChosen(chosenRecord)
                onChange(chosenId)
              }}
            />
          </span>
        ) : (
          <Button id={attributes.id} onClick={() => setEditing(true)}>
            {chosen && target && chosen.id === id ? (
              titleOf(target, chosen)
            ) : id === '' ? (
              t('choose')
            ) : (
              <ReferenceTitle resourceName={property.resource} id={id} />
            )}
          </Button>
        )
      }
    </Field>
  )
}
