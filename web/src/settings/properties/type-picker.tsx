import { useTranslations } from 'use-intl'
import { TypeIcon } from './property-icon.tsx'
import { type PropertyType, propertyTypes } from './definitions.ts'
import styles from './properties.module.css'

interface TypePickerProps {
  type: PropertyType
  onChange(type: PropertyType): void
}

/** All types, each with a sentence that describes its values. */
export function TypePicker({ type, onChange }: TypePickerProps) {
  const t = useTranslations('properties')
  return (
    <fieldset className={styles.types}>
      <legend>{t('type')}</legend>
      {propertyTypes.map((value) => (
        <label key={value} className={styles.type}>
          <input type="radio" name="type" checked={value === type} onChange={() => onChange(value)} />
          <TypeIcon type={value} />
          <span>
            <strong>{t(`types.${value}`)}</strong>
            <span className={styles.typeText}>{t(`typeTexts.${value}`)}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}
