import { Link, Navigate, useParams } from '@tanstack/react-router'
import { ChevronRight, Lock } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { LaterMessages } from '../messages/later-messages.tsx'
import { NotFound } from '../ui/states.tsx'
import { useUndoShortcut } from '../ui/undo.ts'
import { classes } from '../ui/classes.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import navLink from '../ui/nav-link.module.css'
import { PageBar } from '../ui/page.tsx'
import { useIsNarrowPage } from '../ui/use-media.ts'
import { SectionBar } from './section-bar.tsx'
import { allSections, type Section, useSections } from './sections.ts'
import styles from './settings.module.css'

export function Settings() {
  return (
    <LaterMessages>
      <Sections />
    </LaterMessages>
  )
}

/** The list of sections on the left, and one section. On narrow screens, `/settings` shows only the list. */
function Sections() {
  const t = useTranslations('settings')
  const sections = useSections()
  useUndoShortcut()
  const { section: name } = useParams({ strict: false })
  const isNarrow = useIsNarrowPage()
  const section = sections.find((one) => one.name === name)
  if (name === undefined && !isNarrow) {
    return <Navigate to="/settings/$section" params={{ section: sections[0]?.name ?? '' }} replace />
  }
  if (name === undefined) {
    return (
      <>
        <PageBar title={t('title')} />
        <SectionList sections={sections} />
      </>
    )
  }
  return (
    <div className={styles.frame}>
      {!isNarrow && <SectionList sections={sections} />}
      <div className={styles.page}>{section ? <section.Page key={name} /> : <Absent name={name} />}</div>
    </div>
  )
}

/** A section that does not exist, or that this role cannot use. */
function Absent({ name }: { name: string }) {
  const t = useTranslations('settings')
  const common = useTranslations('common')
  const section = allSections.find((one) => one.name === name)
  if (!section) return <NotFound />
  return (
    <>
      <SectionBar title={t(`${section.messages}.title`)} />
      <EmptyState icon={Lock} title={common('noPermission')} text={common('noPermissionText')} />
    </>
  )
}

function SectionList({ sections }: { sections: readonly Section[] }) {
  const t = useTranslations('settings')
  return (
    <nav className={styles.sections} aria-label={t('title')}>
      <p className={styles.sectionsTitle} aria-hidden>
        {t('title')}
      </p>
      <ul>
        {sections.map(({ name, messages, icon: Icon }) => (
          <li key={name}>
            <Link
              to="/settings/$section"
              params={{ section: name }}
              search={{}}
              className={classes(navLink.link, styles.section)}
            >
              <Icon size={16} strokeWidth={1.75} aria-hidden />
              <span>{t(`${messages}.title`)}</span>
              <ChevronRight size={16} className={styles.chevron} aria-hidden />
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
