import { Link, useSearch } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { useTranslations } from 'use-intl'
import { useResource } from '../api/schema.ts'
import { PageBar, PageContent } from '../ui/page.tsx'
import { Checklist } from './checklist.tsx'
import styles from './home.module.css'
import { type Period, periodOf, periods } from './statistics.ts'

// The charts load after the page, so that it appears at once.
const ContactCharts = lazy(async () => ({ default: (await import('./contact-charts.tsx')).ContactCharts }))
const ImportChart = lazy(async () => ({ default: (await import('./import-chart.tsx')).ImportChart }))

/** What has happened lately; first the steps to begin, until they are done. */
export function Home() {
  const t = useTranslations('home')
  const search: Record<string, unknown> = useSearch({ strict: false })
  const period = periodOf(search.days)
  const mayListContacts = useResource('contacts')?.permissions.list === true
  const mayListImports = useResource('imports')?.permissions.list === true
  return (
    <>
      <PageBar title={t('title')}>
        <PeriodLinks period={period} />
      </PageBar>
      <PageContent>
        <Checklist />
        <div className={styles.charts}>
          <Suspense fallback={<ChartPlaces />}>
            {mayListContacts && <ContactCharts period={period} />}
            {mayListImports && <ImportChart period={period} />}
          </Suspense>
        </div>
      </PageContent>
    </>
  )
}

function PeriodLinks({ period }: { period: Period }) {
  const t = useTranslations('home')
  return (
    <nav className={styles.periods} aria-label={t('period')}>
      {periods.map((days) => (
        <Link
          key={days}
          to="/"
          search={{ days: String(days) }}
          className={styles.period}
          aria-current={days === period ? 'true' : undefined}
          activeProps={{}}
          replace
          resetScroll={false}
        >
          {t('days', { count: days })}
        </Link>
      ))}
    </nav>
  )
}

/** Keeps the place of charts that are not there yet. */
export function ChartPlaces() {
  const t = useTranslations('common')
  return (
    <div className={styles.place} role="status">
      <span className="visually-hidden">{t('loading')}</span>
    </div>
  )
}
