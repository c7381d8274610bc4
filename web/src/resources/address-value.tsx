import { Check, Copy } from 'lucide-react'
import { useLocale, useTranslations } from 'use-intl'
import { useLabel } from '../messages/labels.ts'
import { IconButton } from '../ui/button.tsx'
import { useCopy } from '../ui/copy-field.tsx'
import type { ValueViewProps } from '../views/value-views.ts'
import { addressLine } from './address-line.ts'
import styles from './address-value.module.css'

/** A postal address in one line, with a button that copies it. */
export function AddressValue({ value, record }: ValueViewProps) {
  const t = useTranslations('common')
  const labelOf = useLabel()
  const line = addressLine(String(value), record.countryCode, useLocale())
  const { isCopied, copy } = useCopy(line)
  return (
    <span className={styles.address}>
      <span className={styles.line}>{line}</span>
      <span className={styles.copy}>
        <IconButton
          icon={isCopied ? Check : Copy}
          label={isCopied ? t('copied') : t('copyName', { name: labelOf('Address') })}
          onClick={copy}
        />
        <span role="status" className="visually-hidden">
          {isCopied ? t('copied') : ''}
        </span>
      </span>
    </span>
  )
}
