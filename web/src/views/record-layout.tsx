import type { ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { useIsNarrow } from '../ui/use-media.ts'
import styles from './record.module.css'

interface RecordLayoutProps {
  /** Name and avatar of the record. */
  head: ReactNode
  properties: ReactNode
  /** Related records and history. */
  sections: readonly LayoutSection[]
}

interface LayoutSection {
  /** In a layout with two columns, shown below the properties. */
  isAside: boolean
  content: ReactNode
}

/**
 * Properties and related records in a side column. On narrow pages, properties are between head and sections, because
 * people look for the phone number first, and so that loading sections push nothing down.
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
