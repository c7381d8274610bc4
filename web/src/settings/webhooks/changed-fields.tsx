import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { ResourceSchema } from '../../api/schema.ts'
import { usePropertyLabel } from '../../messages/labels.ts'
import { CheckField, FieldGroup } from '../../ui/field.tsx'
import { fieldProperty } from '../../views/columns.tsx'
import styles from '../scope-picker.module.css'

/** The label of a field, such as `customProperties.plan`. */
export function useFieldLabel(): (resource: ResourceSchema, name: string) => string {
  const labelOf = usePropertyLabel()
  return (resource, name) => {
    const field = resource.fields.find((one) => one.name === name)
    return field ? labelOf(fieldProperty(field)) : name
  }
}

interface ChangedFieldsProps {
  resource: ResourceSchema
  names: readonly string[]
  error: string | undefined
  onChange(names: readonly string[]): void
}

/** Selects fields of which an update must have changed one. */
export function ChangedFields({ resource, names, error, onChange }: ChangedFieldsProps) {
  const t = useTranslations('settings.webhooks')
  const labelOf = useFieldLabel()
  // Later choices do not fold them.
  const [wasChosen] = useState(names.length > 0)
  const own = resource.fields.filter(({ readOnly, type }) => !readOnly && type !== 'id').map(({ name }) => name)
  const offered = [...new Set([...own, ...names])]
  const toggle = (name: string, isOn: boolean) =>
    onChange(isOn ? [...names, name] : names.filter((one) => one !== name))
  return (
    <FieldGroup label={t('changedFields')} hint={t('changedFieldsHint')} error={error}>
      <details className={styles.group} open={wasChosen}>
        <summary className={styles.summary}>
          <span className={styles.resource}>{t('fields')}</span>
          <span className={styles.count}>{t('fieldCount', { count: names.length })}</span>
        </summary>
        <div className={styles.scopes}>
          {offered.map((name) => (
            <CheckField
              key={name}
              label={labelOf(resource, name)}
              checked={names.includes(name)}
              onChange={(event) => toggle(name, event.target.checked)}
            />
          ))}
        </div>
      </details>
    </FieldGroup>
  )
}
