import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useResource } from '../api/schema.ts'
import { useLabel } from '../messages/labels.ts'
import { SelectField } from '../ui/field.tsx'
import { propertyOf } from '../views/columns.tsx'
import { PropertyInput } from '../views/property-input.tsx'
import type { TaskSubject } from './task-data.ts'

export const subjectNames = ['contactId', 'companyId', 'dealId'] as const
type SubjectName = (typeof subjectNames)[number]

interface SubjectFieldProps {
  subject: TaskSubject
  errorOf(field: string): string | undefined
  onChange(subject: TaskSubject): void
}

/** The record that a task is about, if any. */
export function SubjectField({ subject, errorOf, onChange }: SubjectFieldProps) {
  const t = useTranslations('tasks')
  const labelOf = useLabel()
  const tasks = useResource('tasks')
  const [kind, setKind] = useState<SubjectName | ''>(subjectNames.find((name) => subject[name] !== undefined) ?? '')
  const properties = subjectNames.flatMap((name) => (tasks && propertyOf(tasks, name)) ?? [])
  const property = properties.find(({ field }) => field?.name === kind)
  // Only one of the fields can have a value, so the service's errors say which field they concern.
  const errors = subjectNames.map(errorOf)
  return (
    <>
      <SelectField
        label={t('about')}
        isOptional
        value={kind}
        options={[
          { value: '', label: t('aboutNothing') },
          ...properties.map(({ field, label }) => ({ value: field?.name ?? '', label: labelOf(label) })),
        ]}
        onChange={(event) => {
          setKind(subjectNames.find((name) => name === event.target.value) ?? '')
          onChange({})
        }}
      />
      {property && (
        <PropertyInput
          key={kind}
          property={property}
          value={kind === '' ? undefined : subject[kind]}
          error={errors.find((error) => error !== undefined)}
          onChange={(id) => onChange(kind !== '' && typeof id === 'string' ? { [kind]: id } : {})}
        />
      )}
    </>
  )
}
