import type { ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { useIsNarrow } from '../ui/use-media.ts'
import styles from './record.module.css'

interface RecordLayoutProps {
  /** Who or what it is. */
  head: ReactNode
  properties: ReactNode
  /** What else there is about it. */
  sections: readonly LayoutSection[]
}

interface LayoutSection {
  /** Below the properties, where there are two columns. */
  isAside: boolean
  content: ReactNode
}

/**
 * Properties and related records at the side. Where there is no room, properties are between head and sections: there, a
 * person first looks for the phone number, and sections push nothing down while they load.
 */
export function RecordLayout({ head, properties, sections }: RecordLayoutProps) {
  const t = useTranslations('record')
  const isNarrow = useIsNarrow()
  const parts = (wanted: readonly LayoutSection[]) => (
    <div className={styles.sections}>{wanted.map(({ content }) => content)}</div>
  )
  const aside = isNarrow ? [] : sections.filter(({ isAside }) => isAside)
  const side = (
    <div className={`${styles.column} ${styles.side}`}>
      <aside aria-label={t('properties')}>{properties}</aside>
      {aside.length > 0 && parts(aside)}
    </div>
  )
  return (
    <div className={styles.layout}>
      <div className={styles.column}>
        <div className={styles.head}>{head}</div>
        {!isNarrow && parts(sections.filter(({ isAside }) => !isAside))}
      </div>
      {side}
      {isNarrow && <div className={styles.column}>{parts(sections)}</div>}
    </div>
  )
}
