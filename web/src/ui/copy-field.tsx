import { Check, Copy } from 'lucide-react'
import { useEffect, useId, useState } from 'react'
import { useTranslations } from 'use-intl'
import { IconButton } from './button.tsx'
import styles from './copy-field.module.css'

/** A value to copy, such as a one-time secret, a URL or a command. One click copies exactly what is shown. */
export function CopyField({ label, value }: { label: string; value: string }) {
  const t = useTranslations('common')
  const id = useId()
  const { isCopied, copy } = useCopy(value)
  return (
    <div>
      <span id={id} className={styles.label}>
        {label}
      </span>
      <div className={styles.box} role="group" aria-labelledby={id}>
        <code className={styles.value}>{value}</code>
        <IconButton
          icon={isCopied ? Check : Copy}
          label={isCopied ? t('copied') : t('copyName', { name: label })}
          onClick={copy}
        />
      </div>
      <span role="status" className="visually-hidden">
        {isCopied ? t('copied') : ''}
      </span>
    </div>
  )
}

/** Copies a text, and says so for two seconds. */
export function useCopy(text: string) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return undefined
    const timer = setTimeout(() => setCopied(false), 2000)
    return () => clearTimeout(timer)
  }, [isCopied])
  return { isCopied, copy: () => void navigator.clipboard.writeText(text).then(() => setCopied(true)) }
}
