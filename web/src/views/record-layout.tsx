import type { ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { useIsNarrow } from '../ui/use-media.ts'
import styles from './record.module.css'

interface RecordLayoutProps {
  /** Who or what it is. */
  head: ReactNode
  properties: ReactNode
  /** What happened with it; it loads later than the rest. */
  sections: ReactNode
}

/**
 * Properties at the side or, where there is no room, between head and sections: there, a person first looks for the
 * phone number, and sections push nothing down while they load.
 */
export function RecordLayout({ head, properties, sections }: RecordLayoutProps) {
  const t = useTranslations('record')
  const isNarrow = useIsNarrow()
  const side = (
    <aside className={`${styles.column} ${styles.side}`} aria-label={t('properties')}>
      {properties}
    </aside>
  )
  return (
    <div className={styles.layout}>
      <div className={styles.column}>
        <div className={styles.head}>{head}</div>
        {!isNarrow && <div className={styles.sections}>{sections}</div>}
      </div>
      {side}
      {isNarrow && <div className={`${styles.column} ${styles.sections}`}>{sections}</div>}
    </div>
  )
}
