import { Check, Copy } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { IconButton } from './button.tsx'
import styles from './code-block.module.css'
import { useCopy } from './copy-field.tsx'

/** A text of several lines to read and to copy, such as a program or an answer. It scrolls instead of wrapping. */
export function CodeBlock({ label, text }: { label: string; text: string }) {
  const t = useTranslations('common')
  const { isCopied, copy } = useCopy(text)
  return (
    <div className={styles.box}>
      <pre className={styles.code} role="region" aria-label={label} tabIndex={0}>
        <code>{text}</code>
      </pre>
      <span className={styles.copy}>
        <IconButton
          icon={isCopied ? Check : Copy}
          label={isCopied ? t('copied') : t('copyName', { name: label })}
          onClick={copy}
        />
      </span>
      <span role="status" className="visually-hidden">
        {isCopied ? t('copied') : ''}
      </span>
    </div>
  )
}
