import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useOrganization } from '../api/me.ts'
import { useLabel, usePropertyLabel } from '../messages/labels.ts'
import { Unreadable } from '../ui/use-numbers.ts'
import { Field, FieldGroup, SelectField, TextAreaField, TextField } from '../ui/field.tsx'
import { isMultiChoice } from './editing.ts'
import { MoneyInput } from './money-editor.tsx'
import { ChoiceChecks, chosenOf } from './multi-choice-editor.tsx'
import { ReferenceInput } from './reference-input.tsx'
import { currencyOfAmount } from './money.ts'
import { inputTypeOf, isNumber, textOfValue, useTypedValues } from './typed-values.ts'
import { choiceValue, isChosen, useOptions } from './value-editor.tsx'
import type { Property } from './property.ts'

/** Descriptions of the product's fields that help people; the others are for developers. */
const hints: ReadonlySet<string> = new Set([
  'Any text that the organization chooses',
  'Full name; follows first and last name',
  'Legal name',
  'Brand name',
  'Only a lost deal has a reason; reopening the deal clears it',
])

interface PropertyInputProps {
  property: Property
  value: unknown
  /** The other values of the form. */
  record?: Readonly<Record<string, unknown>>
  error: string | undefined
  onChange(value: unknown): void
}

/** The form's input for a property, by its type. */
export function PropertyInput({ property, value, record, error, onChange }: PropertyInputProps) {
  const t = useTranslations('list')
  const labelOf = usePropertyLabel()
  const textOf = useLabel()
  const options = useOptions(property, textOfValue(value))
  const { defaultCurrency } = useOrganization()
  const { textOf: writtenAs, valueOf } = useTypedValues(property, currencyOfAmount(property, record, defaultCurrency))
  const [text, setText] = useState(writtenAs(value))
  const [problem, setProblem] = useState<string>()
  const { type, field: schema } = property
  const about = {
    label: labelOf(property),
    error,
    ...(schema?.required !== true && { isOptional: true }),
    ...(schema && 'declared' in schema && schema.description && { hint: schema.description }),
    ...(schema && hints.has(schema.description ?? '') && { hint: textOf(schema.description ?? '') }),
  }
  if (type === 'embedded' || type === 'reference')
    return <ReferenceField {...{ property, value, error, onChange }} {...(record && { record })} />
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
    return (
      <Field {...about} problem={problem}>
        {(input) => <MoneyInput input={input} value={value} onChange={onChange} onProblem={setProblem} />}
      </Field>
    )
  if (isMultiChoice(property))
    return (
      <FieldGroup {...about}>
        <ChoiceChecks property={property} chosen={chosenOf(value)} onChange={onChange} />
      </FieldGroup>
    )
  const change = (changed: string) => {
    setText(changed)
    const read = valueOf(changed)
    setProblem(read instanceof Unreadable ? read.problem : undefined)
    if (!(read instanceof Unreadable)) onChange(read)
  }
  if (type === 'longText')
    return <TextAreaField {...about} value={text} onChange={(event) => change(event.target.value)} />
  // The browser's own validation would refuse addresses that people type, such as `www.example.com`.
  const kind = { email: 'email', phone: 'tel' }[type as string] ?? inputTypeOf(property)
  const keyboard = type === 'url' ? 'url' : isNumber(property) ? 'decimal' : undefined
  const hint = type === 'list' ? { hint: t('commaHint') } : {}
  return (
    <TextField
      {...about}
      {...hint}
      type={kind}
      {...(keyboard && { inputMode: keyboard })}
      problem={problem}
      value={text}
      onChange={(event) => change(event.target.value)}
    />
  )
}

function ReferenceField({ property, value, record, error, onChange }: PropertyInputProps) {
  const t = useTranslations('list')
  const labelOf = usePropertyLabel()
  const common = useTranslations('common')
  const [isUnknown, setUnknown] = useState(false)
  const label = labelOf(property)
  return (
    <Field
      label={label}
      error={error}
      problem={isUnknown ? t('unknownName') : undefined}
      isOptional={property.field?.required !== true}
    >
      {(input) => (
        <ReferenceInput
          property={{ ...property, label }}
          value={value === 'null' ? '' : textOfValue(value)}
          owner={record}
          input={{ ...input, placeholder: value === 'null' ? common('none') : t('choose') }}
          onChange={onChange}
          onUnknown={setUnknown}
        />
      )}
    </Field>
  )
}
