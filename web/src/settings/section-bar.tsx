import { Link } from '@tanstack/react-router'
import { ChevronLeft } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { PageBar } from '../ui/page.tsx'
import { useIsNarrowPage } from '../ui/use-media.ts'
import styles from './settings.module.css'

interface SectionBarProps {
  title: string
  note?: ReactNode
  /** The parent section, such as the list of teams for a team. */
  parent?: { section: string; title: string; search?: Readonly<Record<string, string>> }
  children?: ReactNode
}

/** The bar of a section. Links back to the parent or, on narrow screens, to the list of sections. */
export function SectionBar({ parent, ...bar }: SectionBarProps) {
  const t = useTranslations('settings')
  const isNarrow = useIsNarrowPage()
  const back = (label: string, section?: string, search: Readonly<Record<string, string>> = {}) => (
    <Link
      to={section === undefined ? '/settings' : '/settings/$section'}
      params={{ section }}
      search={search as never}
      aria-label={label}
      className={styles.back}
    >
      <ChevronLeft size={18} aria-hidden />
    </Link>
  )
  const leading = parent ? back(parent.title, parent.section, parent.search) : isNarrow ? back(t('title')) : undefined
  return <PageBar {...bar} leading={leading} />
}
