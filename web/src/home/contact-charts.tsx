import { useQuery } from '@tanstack/react-query'
import { lazyRouteComponent, Link } from '@tanstack/react-router'
import { Globe, UserRound } from 'lucide-react'
import { Suspense } from 'react'
import { useFormatter, useLocale, useTranslations } from 'use-intl'
import type { ChartLink, ChartSeries } from '../ui/chart.tsx'
import { EmptyState, Failure } from '../ui/empty-state.tsx'
import { Panel, Table } from '../ui/page.tsx'
import { DayChart, useColumns } from './day-chart.tsx'
import { ChartPanel } from '../ui/chart-panel.tsx'
import { ChartPlaceholder } from './chart-place.tsx'
import styles from './home.module.css'
import { type ContactStatistics, contactStatisticsQuery, createdOn, type Day, type Period } from './statistics.ts'

// The country shapes are larger than everything else on this page, so they load at the same time as the figures.
const WorldMap = lazyRouteComponent(() => import('../ui/world-map.tsx'), 'WorldMap')
void WorldMap.preload?.()

/** New contacts by day and source, and all contacts by country. */
export function ContactCharts({ period }: { period: Period }) {
  const { data, error, refetch } = useQuery(contactStatisticsQuery(period))
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data) {
    // A placeholder for each panel, so that none moves another to a different column.
    return (
      <>
        <ChartPlaceholder />
        <ChartPlaceholder />
      </>
    )
  }
  return (
    <>
      <NewContacts statistics={data} period={period} />
      <Countries statistics={data} />
    </>
  )
}

/** `unknown` counts contacts that were created before sources were recorded. */
const sources = ['import', 'api_key', 'person', 'unknown'] as const
const colors = { import: 1, api_key: 2, person: 3, unknown: 4 } as const

function NewContacts({ statistics: { days, countries }, period }: { statistics: ContactStatistics; period: Period }) {
  const t = useTranslations('home')
  const valuesOf = new Map(days.map(({ date, counts }) => [date, bySource(counts)]))
  const columns = useColumns(period, (day) => valuesOf.get(day) ?? {})
  const isShown = (key: string) => key !== 'unknown' || columns.some(({ values }) => values[key])
  const series = sources
    .filter(isShown)
    .map((key): ChartSeries => ({ key, label: t(`sources.${key}`), color: colors[key] }))
  const linkOf = (day: Day, key: string | undefined): ChartLink => ({
    to: '/contacts',
    search: {
      ...createdOn(day),
      ...(key !== undefined && { 'filter.source.equals': key === 'unknown' ? 'null' : key }),
    },
  })
  const hasContacts = countries.length > 0
  return (
    <DayChart
      title={t('newContacts')}
      columns={columns}
      series={series}
      linkOf={linkOf}
      empty={
        <EmptyState
          icon={UserRound}
          title={t(hasContacts ? 'noNewContacts' : 'noContacts')}
          text={t(hasContacts ? 'longerPeriod' : 'noContactsText')}
        />
      }
    />
  )
}

function bySource(counts: ContactStatistics['days'][number]['counts']): Record<string, number> {
  const values: Record<string, number> = {}
  for (const { source, count } of counts) values[source ?? 'unknown'] = (values[source ?? 'unknown'] ?? 0) + count
  return values
}

function Countries({ statistics }: { statistics: ContactStatistics }) {
  const t = useTranslations('home')
  const format = useFormatter()
  const names = new Intl.DisplayNames([useLocale()], { type: 'region' })
  const countries = statistics.countries.toSorted((a, b) => b.count - a.count)
  const known = countries.flatMap(({ countryCode, count }) =>
    countryCode === null ? [] : [{ code: countryCode, count }],
  )
  const linkOf = (code: string | null): ChartLink => ({
    to: '/contacts',
    search: { 'filter.countryCode.equals': code ?? 'null' },
  })
  const title = t('countries')
  if (known.length === 0)
    return (
      <Panel title={title}>
        <EmptyState icon={Globe} title={t('noCountries')} text={t('noCountriesText')} />
      </Panel>
    )
  const table = (
    <Table
      label={t('tableOf', { title })}
      rows={countries}
      keyOf={({ countryCode }) => countryCode ?? 'none'}
      columns={[
        {
          title: t('country'),
          show: ({ countryCode }) => (countryCode === null ? t('noCountry') : names.of(countryCode)),
        },
        {
          title: t('contacts'),
          isNumber: true,
          show: ({ countryCode, count }) => (
            <Link {...linkOf(countryCode)} className={styles.number}>
              {format.number(count)}
            </Link>
          ),
        },
      ]}
    />
  )
  return (
    <ChartPanel title={title} table={table}>
      <Suspense fallback={<ChartPlaceholder />}>
        <WorldMap label={title} countries={known} linkOf={linkOf} />
      </Suspense>
    </ChartPanel>
  )
}
