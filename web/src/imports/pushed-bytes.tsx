import { TriangleAlert } from 'lucide-react'
import { useFormatter, useTranslations } from 'use-intl'
import type { Import } from './import-queries.ts'
import styles from './imports.module.css'

/** How much the import has received today, with a warning before it reaches its limit. */
export function PushedBytes({ one: { pushedToday } }: { one: Import }) {
  const t = useTranslations('imports')
  const sizeOf = useSizeOf()
  const { bytes, maxBytes, isNearLimit } = pushedToday
  if (bytes === 0) return null
  const received = maxBytes === null ? t('pushedToday', { size: sizeOf(bytes) }) : undefined
  const ofLimit = t('pushedOfLimit', { size: sizeOf(bytes), max: sizeOf(maxBytes ?? 0) })
  if (!isNearLimit) return <p className={styles.pushed}>{received ?? ofLimit}</p>
  return (
    <div className={styles.alarm} role="status">
      <TriangleAlert size={16} strokeWidth={1.75} aria-hidden />
      <p>
        <strong>{ofLimit}</strong> {t('nearLimitText')}
      </p>
    </div>
  )
}

const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const

/** Formats a number of bytes for people. */
function useSizeOf() {
  const format = useFormatter()
  return (bytes: number): string => {
    const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1)
    return format.number(bytes / 1000 ** step, {
      style: 'unit',
      unit: units[step] ?? 'byte',
      unitDisplay: step === 0 ? 'long' : 'short',
      maximumSignificantDigits: 3,
    })
  }
}
